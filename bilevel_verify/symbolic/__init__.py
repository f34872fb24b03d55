"""What follows from a problem: derivatives, hypergradient, penalty, and the straight-line programs behind everything."""
