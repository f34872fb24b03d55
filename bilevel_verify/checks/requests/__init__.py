"""What is to be verified: statements, tolerances, starts, the built-in job."""
