"""What a solver of your own hands back when it restarts, or when it moves more than one sequence of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilevel_verify.errors import ParameterError

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

    Raises
    ------
    ParameterError : a field that is no such list; the message names it.
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

    def __post_init__(self) -> None:
        for name in ("epochs", *AUXILIARY):
            given = getattr(self, name)
            if name == "epochs" or given is not None:
                nested = is_list(given) and all(is_list(epoch) for epoch in given)
                _require(nested, name, "a list of epochs, each a list of points", given)
        if self.restarts is not None:
            truths = is_list(self.restarts) and all(_is_truth(one) for one in self.restarts)
            _require(truths, "restarts", "a list of True and False, one for every epoch", self.restarts)
        if self.before is not None:
            named = isinstance(self.before, Mapping) and all(map(is_list, self.before.values()))
            named = named and all(name in ("x", *AUXILIARY) for name in self.before)
            wanted = f"a mapping from x, {', '.join(AUXILIARY)} to lists of points, one for every epoch"
            _require(named, "before", wanted, self.before)


def is_list(value: object) -> bool:
    """Whether something is a list, a tuple or an array of at least one axis."""
    return isinstance(value, list | tuple) or (hasattr(value, "__array__") and len(np.shape(value)) > 0)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1))


def _require(fits: bool, name: str, wanted: str, given: object) -> None:
    if not fits:
        inner = f" of {type(given[0]).__name__}" if isinstance(given, list | tuple) and given else ""
        raise ParameterError(f"{name} of the trajectory must be {wanted}, not a {type(given).__name__}{inner}")
