"""The module that generated functions claim as theirs, the same in every process; it stays empty."""
