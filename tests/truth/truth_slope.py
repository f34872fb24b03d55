"""A function with enclosures that notes what it is asked, for tests of branch and bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.minimum.minimum import Search


@dataclass
class Slope:
    """``sum of x_i^4 / 4 - x_i`` (each least at 1: -3/4), enclosures wide by ``room``; notes what it is asked."""

    dx: int = 1
    room: float = 0.0
    smooth: bool = True
    cost: int = 10
    far: float = 1e150
    floor: float = -1e3
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def float_values(self, X: Any) -> Any:
        with np.errstate(all="ignore"):
            return (X**4 / 4 - X).sum(axis=1)

    def floats(self, X: Any) -> Any:
        bend = np.zeros((len(X), self.dx, self.dx))
        bend[:, range(self.dx), range(self.dx)] = 3 * X**2
        return self.float_values(X), X**3 - 1, bend

    def at(self, X: Any) -> Any:
        self.asked.append(("at", X.copy()))
        value, slope = self.float_values(X), X**3 - 1
        r = self.room
        return SimpleNamespace(
            value=Interval(value - r, value + r),
            gradient=Interval(slope[:, :, None] - r, slope[:, :, None] + r),
        )

    def over(self, low: Any, high: Any, centre: Any) -> Any:
        self.asked.append(("over", (low.copy(), high.copy(), centre.copy())))
        with np.errstate(all="ignore"):
            near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
            value = np.maximum((near**2 / 4 - high).sum(axis=1), self.floor)
        bend = np.zeros((len(low), self.dx, self.dx))
        bend[:, range(self.dx), range(self.dx)] = 3 * near
        return SimpleNamespace(value=Interval(value - self.room, value + 1e9), hessian=Interval(bend, bend + 1e9))

    def waves(self) -> list[Any]:
        return [boxes for what, boxes in self.asked if what == "over"]


def state(objective: Any, low: Any, high: Any, bounds: Any, **changes: Any) -> Search:
    found = Search(objective, np.array(changes.pop("best", [3.0] * objective.dx)), changes.pop("upper", 18.0), 1e-3)
    found.low, found.high = np.atleast_2d(np.array(low, dtype=float)), np.atleast_2d(np.array(high, dtype=float))
    found.bounds, found.count = np.array(bounds, dtype=float), len(bounds)
    for name, value in changes.items():
        setattr(found, name, value)
    return found
