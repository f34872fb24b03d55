"""Truth: the answers with error bars, recomputed independently of any solver."""

from bilevel_verify.truth.enclosure import RANK, Certainty, Enclosure, weakest
from bilevel_verify.truth.truth import Truth, truth

__all__ = ["RANK", "Certainty", "Enclosure", "Truth", "truth", "weakest"]
