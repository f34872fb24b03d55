"""The commands, one module a group, loaded when they are called."""
