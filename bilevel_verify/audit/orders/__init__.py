"""Orders: how monomials grow along the directions of a regime, and derivations between rates."""
