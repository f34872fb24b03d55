"""The smallest value of phi and its stationary points: certified lower bounds, attained upper bounds."""
