"""Named methods of the first-order, hypergradient and minimax family: cells of the table and their letters."""

from bilevel_verify.methods.papers import hypergradient, minimax, one_level, penalty  # noqa: F401
