"""What a formula is made of, before anything is bounded: ridges, pieces, sums over data, its domain."""
