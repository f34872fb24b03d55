"""Krawczyk's test: the only solution of a square system near a point, proved in balls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import flint

System: TypeAlias = "Callable[[list[flint.arb]], tuple[list[flint.arb], flint.arb_mat]]"
"""Unknowns (balls) -> residuals (balls) and Jacobian (ball matrix)."""
MOST_UNKNOWNS = 300


def krawczyk(system: System, start: Sequence[float]) -> list[flint.arb] | None:
    """Balls with the only solution of a square system near a float start, proved; None where the test fails."""
    import flint

    size = len(start)
    if size > MOST_UNKNOWNS or not np.all(np.isfinite(np.asarray(start, dtype=float))):
        return None
    middle = [flint.arb(float(v)) for v in start]
    inverse = flint.arb_mat(size, size)
    for _ in range(30):
        residual, J = system(middle)
        try:
            inverse = J.mid().inv().mid()
        except ZeroDivisionError:
            return None
        step = inverse * flint.arb_mat(size, 1, residual).mid()
        moved = max((float(abs(step[i, 0])) for i in range(size)), default=0.0)
        if not moved < 1e3 * (1 + max(abs(float(v)) for v in start)):
            return None
        middle = [(v - step[i, 0]).mid() for i, v in enumerate(middle)]
        if moved < 2.0 ** (-0.85 * flint.ctx.prec):
            break
    return _included(system, middle, inverse)


def _included(system: System, middle: list[flint.arb], inverse: flint.arb_mat) -> list[flint.arb] | None:
    """Balls around the middle that the Krawczyk operator maps into themselves; None where none is found."""
    import flint

    size = len(middle)
    residual, _ = system(middle)
    newton = inverse * flint.arb_mat(size, 1, residual)
    tiny = flint.arb(2) ** (-flint.ctx.prec + 16)
    radii = [abs(newton[i, 0]).upper() * 4 + tiny * (1 + abs(v)) for i, v in enumerate(middle)]
    unit = flint.arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    for _ in range(10):
        box = [v + flint.arb(0, r) for v, r in zip(middle, radii)]
        gap = unit - inverse * system(box)[1]
        spread = gap * flint.arb_mat(size, 1, [flint.arb(0, r) for r in radii])
        image = [abs(spread[i, 0] - newton[i, 0]).upper() for i in range(size)]
        if all(a < b for a, b in zip(image, radii)):
            return [v + flint.arb(0, r) for v, r in zip(middle, image)]
        radii = [(r * 64).upper() for r in radii]
    return None
