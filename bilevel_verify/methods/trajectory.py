"""What a solver of your own hands back when it restarts, or when it moves more than one sequence of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AUXILIARY = ("w", "y", "z", "v", "u", "ghat", "wbar")
"""Sequences beside x, with the names that cards have for them."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Iterates of a solver, epoch by epoch.

    ``epochs[t][k]`` is x[t, k] as the paper indexes it: every epoch begins with its own start (k = 0) and ends with
    its last iterate; the first point of the first epoch is the ``x0`` that was handed to the solver. A method without
    restarts has one epoch.

    Attributes
    ----------
    epochs : a list of epochs, each a list of points of shape (dx,) (numbers, if dx is 1).
    output : what the solver returns; its last iterate if left out.
    restarts : for every epoch whether the restart test ended it; by default every one but the last.
    w, y, z, v, u, ghat, wbar : sequences that the paper names so, nested as ``epochs`` is; an epoch may have fewer
        entries than x has, and None where there is no entry.
    before : sequence -> one point for every epoch: entries at k = -1.
    """

    epochs: Sequence[Sequence[Any]]
    output: Any = None
    restarts: Sequence[bool] | None = None
    w: Sequence[Sequence[Any]] | None = None
    y: Sequence[Sequence[Any]] | None = None
    z: Sequence[Sequence[Any]] | None = None
    v: Sequence[Sequence[Any]] | None = None
    u: Sequence[Sequence[Any]] | None = None
    ghat: Sequence[Sequence[Any]] | None = None
    wbar: Sequence[Sequence[Any]] | None = None
    before: Mapping[str, Sequence[Any]] | None = None
