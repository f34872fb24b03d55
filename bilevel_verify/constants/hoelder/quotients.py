"""Sampled Hoelder quotients: how much of a constant is really reached (never a certificate)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.constants.calculus.forms import Form, defined
from bilevel_verify.constants.formula.model import Pieces
from bilevel_verify.constants.formula.smoothness import kinks
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.search.sampling import sample_points
from bilevel_verify.intervals.batch import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sampled_quotient(parts: list[Part], form: str, nu: float, count: int = 240) -> float:
    """Largest sampled ``|D^k h(z) - D^k h(z')| / |z - z'|^nu``: random pairs, and pairs around the kinks of ridges."""
    best = 0.0
    for part in parts:
        if part.only_specials:
            continue
        rng = np.random.default_rng(31)
        first = sample_points(part.domain, part.n, count)
        count = len(first)
        direction = rng.normal(size=first.shape)
        first, direction = _around_kinks(part, first, direction, rng)
        length = 10.0 ** rng.uniform(-3, 0.5, size=(count, 1))
        direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
        back = np.where(rng.random((count, 1)) < 0.5, length, 0.0)
        left = np.clip(first - back * direction, part.domain.lo, part.domain.hi)
        right = np.clip(first + length * direction, part.domain.lo, part.domain.hi)
        distance = np.sqrt(((left - right) ** 2).sum(axis=1))
        pieces = [part.model.evaluate(len(form), points, points) for points in (left, right)]
        ridges = pieces[0].ridges.centre() - pieces[1].ridges.centre()
        entries = pieces[0].entries.centre() - pieces[1].entries.centre()
        difference = Pieces(len(form), Interval(ridges, ridges), Interval(entries, entries))
        known = defined(pieces[0]) & defined(pieces[1]) & (distance > 1e-9)
        values = Form(part.model, form).lower(difference) / np.where(known, distance, 1.0) ** nu
        best = max(best, float(values[known].max(initial=0.0)))
    return best


def _around_kinks(
    part: Part, points: NDArray[np.float64], direction: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Half of the points moved onto a kink of some ridge, with the direction along its row."""
    model = part.model
    for number, ridge in enumerate(model.structure.ridges):
        places = kinks(ridge.function)[1]
        if places == []:
            continue
        row = model.row_centres[number]
        chosen = rng.random(len(points)) < 0.5
        target = rng.choice(places) if places else 2.0 * rng.integers(-2, 3, size=len(points)) + rng.integers(0, 2)
        gap = points @ row + model.shifts.centre()[number] - target
        points = np.where(chosen[:, None], points - np.outer(gap, row) / (row @ row), points)
        direction = np.where(chosen[:, None], row[None, :], direction)
    return points, direction
