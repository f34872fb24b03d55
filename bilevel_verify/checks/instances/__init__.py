"""One instance of a statement: the problem's functions, constants and truth, and its hypotheses."""
