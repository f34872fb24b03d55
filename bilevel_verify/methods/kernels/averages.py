"""The average on the fly: a sum of points up to the smallest step of the second half (Li & Lin, Algorithm 7).

The state of a scheme that averages has the fields ``total`` (the sum) and ``tail`` (points since then).
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.state import FINISHED, Progress
from bilevel_verify.methods.kernels.steps import next_epoch
from bilevel_verify.methods.kernels.vectors import add_to, set_zero
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.jit import loop


@loop
def average_on_the_fly(at: Progress, s: Any, point: Vector, k: int, first: int) -> None:
    """Algorithm 7 of Li & Lin: the sum of the points up to K_0 = argmin over k >= first of ||x[k+1] - x[k]||.

    Ties go to the smallest index; with ``last_tie`` to the largest, as Algorithm 7 is printed.
    """
    total, tail, moved = s.total, s.tail, at.moved
    better = moved < at.best or (at.last_tie == 1 and moved == at.best)
    if k > first and not better:
        add_to(tail, point)
        return
    for i in range(len(total)):
        total[i] = total[i] + tail[i] + point[i]
        tail[i] = 0.0
    at.best_step = k
    at.best = moved


@loop
def restart(at: Progress, s: Any) -> None:
    """The next epoch, with empty sums."""
    next_epoch(at)
    set_zero(s.total)
    set_zero(s.tail)


@loop
def finish_with_average(s: Any, terms: int) -> int:
    """Output: the sum divided by the number of its terms."""
    for i in range(len(s.output)):
        s.output[i] = s.total[i] / terms
    return FINISHED
