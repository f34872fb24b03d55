"""Every instance as one formula with its numbers as arguments: traced or compiled once, run on any example.

``f, g = formulas(jax.numpy)`` are functions ``(theta, x, y)`` that an automatic differentiation package can trace, and
``theta = parameters(instance)`` is a dictionary of arrays whose shapes depend on (dx, dy) only. The same with ``torch``
or ``numpy``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.instances.blocks import Block, ChainBlock, Smooth
from bilevel_verify.testing.instances.data_sums import DataBlock
from bilevel_verify.testing.instances.families import Instance

FloatArray = NDArray[np.float64]
Theta = dict[str, FloatArray]
Formula = Callable[[Mapping[str, Any], Any, Any], Any]
RIDGES = ("logcosh", "softplus", "cos", "bump", "root", "well")
"""Ridges that have a formula of elementary functions in every array package."""
ROWS = 8
"""Ridge directions of a block: unused ones have weight 0, so that all examples have the same shapes."""


def parameters(instance: Instance) -> Theta:
    """The numbers of a bilevel, minimax or single-level instance.

    A block is ``(z - s).H(z - s)/2 + sum_a W[a].a(R z - o) + b.(z - s) + c``: entries ``H s R o W b c`` of ``p_``,
    ``h_`` and ``q_``. ``B``, ``C`` couple the levels; ``displaced`` and ``minimax`` are 0 or 1.

    Raises
    ------
    InputError : a ridge that is not among :data:`RIDGES`, or more than :data:`ROWS` of them.
    """
    n, m = instance.dx, max(instance.dy, 1)
    minimax = instance.kind == "minimax"
    found: Theta = {}
    for name, part, size in (("p", instance.p, n), ("h", instance.h, m), ("q", instance.q, m)):
        found |= {f"{name}_{key}": np.asarray(value, dtype=float) for key, value in _numbers(part, size).items()}
    found["B"] = instance.coupling if instance.dy else np.zeros((m, n))
    found["C"] = instance.cross if instance.dy else np.zeros((n, m))
    found["displaced"], found["minimax"] = np.array(float(instance.displaced)), np.array(float(minimax))
    return found


def _numbers(part: Smooth | None, n: int) -> dict[str, object]:
    empty: dict[str, Any] = {
        "H": np.zeros((n, n)),
        "s": np.zeros(n),
        "R": np.zeros((ROWS, n)),
        "o": np.zeros(ROWS),
        "W": np.zeros((len(RIDGES), ROWS)),
        "b": np.zeros(n),
        "c": 0.0,
    }
    if part is None:
        return empty
    if isinstance(part, ChainBlock):
        return empty | {"H": part.matrix}
    if isinstance(part, DataBlock):
        rows, weights = part.matrix, np.full(len(part.rows), 1 / len(part.rows))
        return empty | {"H": part.ridge * np.eye(n)} | _directions([part.loss] * len(rows), rows, part.targets, weights)
    assert isinstance(part, Block)
    shift, spectrum = np.array(part.centre or (0,) * n, dtype=float), np.array(part.spectrum, dtype=float)
    plain = {"H": (part.basis * spectrum) @ part.basis, "s": shift, "b": part.linear, "c": part.constant}
    kept = [i for i, (atom, weight) in enumerate(zip(part.atoms, part.weights)) if weight and atom != "none"]
    atoms, rows = [part.atoms[i] for i in kept], part.basis[kept]
    return empty | plain | _directions(atoms, rows, rows @ shift, [float(part.weights[i]) for i in kept])


def _directions(
    atoms: list[str], rows: FloatArray, offsets: FloatArray, weights: Sequence[float] | FloatArray
) -> dict[str, object]:
    unknown = [atom for atom in atoms if atom not in RIDGES]
    if unknown or len(atoms) > ROWS:
        what = f"the ridge {unknown[0]!r}" if unknown else f"more than {ROWS} ridges"
        raise InputError(f"{what} has no formula here; there are {', '.join(RIDGES)}")
    R, o, W = np.zeros((ROWS, rows.shape[1])), np.zeros(ROWS), np.zeros((len(RIDGES), ROWS))
    R[: len(atoms)], o[: len(atoms)] = rows, offsets
    for j, (atom, weight) in enumerate(zip(atoms, weights)):
        W[RIDGES.index(atom), j] = weight
    return {"R": R, "o": o, "W": W}


def formulas(xp: Any = np) -> tuple[Formula, Formula]:
    """``f(theta, x, y)`` and ``g(theta, x, y)`` (-f for minimax) in an array package: numpy, jax.numpy or torch.

    Arrays must be float64 (JAX: ``jax_enable_x64``). For one level y is an array of one unused entry.
    """

    def block(theta: Mapping[str, Any], name: str, z: object) -> Any:
        moved = z - theta[f"{name}_s"]
        t = theta[f"{name}_R"] @ z - theta[f"{name}_o"]
        flat = 0 * t
        columns = (
            xp.logaddexp(t, -t) - math.log(2),
            xp.logaddexp(flat, t),
            xp.cos(t),
            1 - xp.cos(t),
            xp.sqrt(1 + t * t),
            xp.log(1 + t * t),
        )
        ridges = sum(theta[f"{name}_W"][a] @ column for a, column in enumerate(columns))
        quadratic = moved @ (theta[f"{name}_H"] @ moved) / 2
        return quadratic + ridges + theta[f"{name}_b"] @ moved + theta[f"{name}_c"]

    def lower(theta: Mapping[str, Any], x: object, y: Any) -> Any:
        drift = theta["B"] @ x
        coupled = (1 - theta["displaced"]) * (y @ drift)
        return block(theta, "h", y - theta["displaced"] * drift) - coupled

    def f(theta: Mapping[str, Any], x: object, y: Any) -> Any:
        upper = block(theta, "p", x)
        bilevel = x @ (theta["C"] @ y) + block(theta, "q", y)
        return upper + (1 - theta["minimax"]) * bilevel - theta["minimax"] * lower(theta, x, y)

    def g(theta: Mapping[str, object], x: object, y: object) -> Any:
        return lower(theta, x, y) - theta["minimax"] * block(theta, "p", x)

    return f, g
