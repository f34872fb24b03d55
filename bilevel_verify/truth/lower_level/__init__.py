"""y*(x) and what follows from it at points: solved in floats, proved in intervals and balls."""
