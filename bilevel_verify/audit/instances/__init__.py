"""Claims about instances, attacked: a counterexample as a problem file, or how much of a bound was used up."""
