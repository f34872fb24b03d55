"""Letters with numbers: what a run gets and what a check may know."""
