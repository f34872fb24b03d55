"""What the words of a paper say beside its formulas: which relation a step uses, which constant a function has."""
