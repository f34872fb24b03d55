"""The grammar: items to trees by recursive descent, with the names of a notation."""
