"""What follows from a problem: derivatives, hypergradient, penalty, and the straight-line programs behind it all."""

from bilevel_verify.symbolic.derivation import Derivation, derive

__all__ = ["Derivation", "derive"]
