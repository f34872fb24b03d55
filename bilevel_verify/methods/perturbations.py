"""Perturbations of restarts: uniform in a ball, or given explicitly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.kernels.state import Real
from bilevel_verify.methods.memory import Arithmetic


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
        self, dimension: int, radius: Any, seed: int, explicit: list[list[Real]] | None, arithmetic: Arithmetic
    ) -> None:
        self.dimension, self.radius, self.arithmetic = dimension, radius, arithmetic
        self.seed = seed
        self.generator: np.random.Generator | None = None
        self.explicit = explicit
        self.place = 0

    def again(self) -> None:
        """Begin with the first perturbation once more."""
        self.generator, self.place = None, 0

    def next_chunk(self, most: int) -> list[list[Real]]:
        """The next perturbations, at most that many.

        Raises
        ------
        ParameterError : neither a radius nor explicit perturbations.
        """
        if self.explicit is not None:
            first, self.place = self.place, (self.place + most) % len(self.explicit)
            return [self.explicit[(first + row) % len(self.explicit)] for row in range(most)]
        if self.radius is None:
            raise ParameterError("a perturbed method needs the radius 'r', or explicit perturbations noise=")
        return [self._draw() for _ in range(most)]

    def _draw(self) -> list[Real]:
        if self.generator is None:  # many runs never draw
            self.generator = np.random.default_rng(self.seed)
        direction = self.generator.standard_normal(self.dimension)
        length = self.generator.random() ** (1.0 / self.dimension) / math.sqrt(direction.dot(direction))
        return [self.radius * self.arithmetic.number(length * entry) for entry in direction.tolist()]
