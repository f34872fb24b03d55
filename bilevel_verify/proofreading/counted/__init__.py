"""Numbers of steps and cases: counts against their proofs and tables, inductions, cases that are used elsewhere."""
