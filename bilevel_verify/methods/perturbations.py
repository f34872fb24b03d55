"""Perturbations of restarts: uniform in a ball, or given explicitly."""

from __future__ import annotations

from typing import Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.memory import Arithmetic

CHUNK = 256


class Perturbations:
    """A supply of perturbations, chunk by chunk.

    Parameters
    ----------
    dimension : dx.
    radius : r; needed unless perturbations are given.
    seed : of NumPy's default generator: xi = r U^(1/d) g/||g|| with g ~ N(0, I) and then U ~ Unif[0, 1], one after the
        other for each perturbation.
    explicit : used in order and again from the beginning; taken as they are (the radius does not scale them).
    """

    def __init__(
        self, dimension: int, radius: Any, seed: int, explicit: list[list[Any]] | None, arithmetic: Arithmetic
    ) -> None:
        self.dimension, self.radius, self.arithmetic = dimension, radius, arithmetic
        self.generator = np.random.default_rng(seed)
        self.explicit = None if explicit is None else np.array(explicit, dtype=arithmetic.dtype)

    def next_chunk(self) -> Any:
        """The next perturbations, shape (n, dx).

        Raises
        ------
        ParameterError : neither a radius nor explicit perturbations.
        """
        if self.explicit is not None:
            return self.explicit
        if self.radius is None:
            raise ParameterError("a perturbed method needs the radius 'r', or explicit perturbations noise=")
        chunk = np.empty((CHUNK, self.dimension), dtype=self.arithmetic.dtype)
        for row in range(CHUNK):
            direction = self.generator.standard_normal(self.dimension)
            length = self.generator.random() ** (1.0 / self.dimension) / np.linalg.norm(direction)
            for column in range(self.dimension):
                chunk[row, column] = self.radius * self.arithmetic.number(length * direction[column])
        return chunk
