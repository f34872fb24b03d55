"""Examples on which the printed claims of a theorem are nearly tight, found by search."""

from __future__ import annotations

from fractions import Fraction

from bilevel_verify.testing.instances.blocks import Block
from bilevel_verify.testing.instances.families import Instance

_BITING: tuple[tuple[str, str, str, str, tuple[float, ...]], ...] = (
    ("3/10000", "1/30 1 1/300", "logcosh cos bump", "3/400 1/15 1/200", (0.5, 0.5, 2.0)),
    ("3/100000", "1/30 1", "logcosh logcosh", "1/10 1/400", (1.0, -1.0)),
    ("1/10000", "1/4", "cos", "3/400", (2.0,)),
    ("3/10000", "1/30 1/4 1/30 1/30 1", "cos cos bump cos cos", "1/400 1/200 1/100 1/400 3/400", (1, 2, 1, 2, 2)),
    ("3/10000", "1/4 1/4 1/4 1", "bump cos cos logcosh", "3/100 1/100 1/10 3/100", (2.0, -1.0, 2.0, 0.5)),
    ("3/100000", "1/300 1/30", "bump cos", "1/200 1/400", (0.5, 0.5)),
    ("3/10000", "1/4 1/300 1", "bump cos logcosh", "3/100 1/15 1/400", (2.0, 1.0, -1.0)),
    ("1/10000", "1/30 1 1", "bump bump bump", "1/50 1/400 3/400", (2.0, 1.0, 2.0)),
)
"""Found by a search for the largest ratios of a claim's two sides: tolerance, curvatures, ridges, weights, start."""


def biting(number: int) -> Instance:
    """An example (of eight) on which the printed claims of restarted methods are nearly tight, with its start and eps.

    Curvatures of several scales and weak ridges: theta is 0.08 to 0.2, there are 7 to 37 epochs of up to 15 steps, and
    the last one ends by itself. For restarted AGD with its theorem's letters the step claims (11), (5b), (5c), (6a) and
    the drift come within 13 % of their bounds on one of them, (6b), (17), (18) to a half.
    """
    eps, spectrum, atoms, weights, start = _BITING[number % len(_BITING)]
    n = len(start)
    curvatures, sizes = (tuple(Fraction(entry) for entry in text.split()) for text in (spectrum, weights))
    p = Block(curvatures, tuple(atoms.split()), sizes, (0,) * n, (0,) * n)
    return Instance("single_level", p, start=tuple(map(float, start)), eps=float(Fraction(eps)))
