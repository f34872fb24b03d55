"""Statements of certificates at many points at once: floats look, 40 digits decide what they find suspicious."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from certificate_pieces import holds, margin, value
from mpmath import mp

Array = np.ndarray[Any, Any]
BATCH, LONGEST = 20_000, 400
"""Points of one draw; terms of the longest sum that is written out (points with longer ones are not looked at)."""
DRAWS, STEPS, WALKERS = 20, 150, 5_000
"""Batches drawn; steps of a walk, and how many walk, where too few of them meet the hypotheses."""
HEADS = {
    "neg": np.negative, "abs": np.abs, "plus": lambda a: np.maximum(a, 0.0), "ceil": np.ceil, "floor": np.floor,
    "/": np.divide, "^": np.power, "mod": np.mod, "sign": np.sign,
}  # fmt: skip
HEADS |= {name: getattr(np, name) for name in "sqrt exp log sin cos tan sinh cosh tanh".split()}
MANY = {"+": sum, "max": lambda parts: np.max(np.broadcast_arrays(*parts), axis=0),
        "min": lambda parts: np.min(np.broadcast_arrays(*parts), axis=0)}  # fmt: skip


def values(node: Any, at: dict[str, Array]) -> Any:
    """A tree at all points, in floats; NaN where it is not defined."""
    if isinstance(node, int):
        return np.float64(node)
    if isinstance(node, str):
        top, _, bottom = node.partition("/")
        return at[node] if node in at else {"pi": np.pi, "E": np.e}.get(node) or np.float64(int(top)) / int(bottom or 1)
    head, *parts = node
    if head in ("sum", "prod"):
        return _over(head, *parts, at)
    numbers = [values(part, at) for part in parts]
    if head == "*":
        return np.prod(np.broadcast_arrays(*numbers), axis=0)
    return MANY[head](numbers) if head in MANY else HEADS[head](*numbers)


def _over(head: str, body: Any, index: str, low: Any, high: Any, at: dict[str, Array]) -> Any:
    size = next(iter(at.values())).shape if at else ()
    first, last = (np.broadcast_to(np.rint(values(end, at)), size) for end in (low, high))
    total = np.where(last - first > LONGEST, np.nan, 0.0 if head == "sum" else 1.0)
    for step in range(int(min(LONGEST, np.nanmax(last - first, initial=-1))) + 1):
        inside = first + step <= last
        term = np.where(inside, values(body, {**at, index: first + step}), 0.0 if head == "sum" else 1.0)
        total = total + term if head == "sum" else total * term
    return total


def true_at(condition: Any, at: dict[str, Array]) -> Array:
    """Where a condition holds beyond rounding (an equality: up to it)."""
    head, *parts = condition
    if head in ("and", "or"):
        return (np.logical_and if head == "and" else np.logical_or).reduce([true_at(part, at) for part in parts])
    left, right = (values(part, at) for part in parts)
    gap, scale = (right - left if head in ("<=", "<") else left - right), np.maximum(np.abs(left), np.abs(right))
    return np.abs(gap) <= 1e-12 * scale if head == "==" else gap >= 0


def looked_at(
    statement: dict[str, Any], rng: np.random.Generator, count: int, batch: int = BATCH
) -> tuple[int, dict[str, Any] | None]:
    """How many points meet the hypotheses, of ``count`` that are wanted, and one where the claim fails there."""
    fixed, found = determined(statement), 0
    with np.errstate(all="ignore"):
        for at, inside in _points(statement, fixed, rng, batch):
            op, left, right = statement["claim"]
            low, high = (np.broadcast_to(values(side, at), inside.shape) for side in (left, right))
            gap = (high - low) if op in ("<=", "<") else (low - high) if op in (">=", ">") else -np.abs(high - low)
            inside = inside & np.isfinite(gap)
            found += int(inside.sum())
            scale = np.maximum(np.abs(low), np.abs(high))
            for place in np.flatnonzero(inside & (gap < -1e-10 * scale))[:40]:
                point = {name: mp.mpf(float(column[place])) for name, column in at.items()}
                if violates(statement, point, fixed):
                    return found, point
            if found >= count or not statement["letters"]:
                break
    return found, None


def determined(statement: dict[str, Any]) -> dict[str, Any]:
    """Letters that a hypothesis ``letter == formula`` gives, each with its formula."""
    found: dict[str, Any] = {}
    for op, *sides in statement["hypotheses"]:
        for name, formula in (sides, sides[::-1]) if op == "==" else ():
            if (
                isinstance(name, str)
                and name in statement["letters"]
                and name not in found
                and str(formula) not in found
            ):
                found[name] = formula
                break
    return found


def _points(
    statement: dict[str, Any], fixed: dict[str, Any], rng: np.random.Generator, batch: int
) -> Iterator[tuple[dict[str, Array], Array]]:
    """Batches of points with the places that meet the hypotheses: drawn ones, then a walk that fewer and fewer fail."""
    for _ in range(DRAWS):
        at = _drawn(statement, fixed, rng, batch)
        yield at, _missed(statement, at, batch) == 0
    small = min(batch, WALKERS)
    at = {name: column[:small].copy() for name, column in at.items()}
    missed = _missed(statement, at, small)
    for _ in range(STEPS):
        new = _moved(statement, at, fixed, rng)
        count = _missed(statement, new, small)
        better = count <= missed
        at = {name: np.where(better, new[name], at[name]) for name in at}
        missed = np.where(better, count, missed)
        lost = np.flatnonzero(missed > 0)
        yield at, better & (missed == 0)
        if lost.size < small:  # those that are still outside go on from one that is inside
            home = rng.choice(np.flatnonzero(missed == 0), lost.size)
            at = {name: _replaced(column, lost, home) for name, column in at.items()}
            missed = _replaced(missed, lost, home)


def _replaced(column: Array, lost: Array, home: Array) -> Array:
    column = column.copy()
    column[lost] = column[home]
    return column


def _missed(statement: dict[str, Any], at: dict[str, Array], batch: int) -> Array:
    """How many hypotheses each point does not meet."""
    held = [np.broadcast_to(true_at(one, at), batch) for one in statement["hypotheses"]]
    return np.sum([~one for one in held], axis=0) if held else np.zeros(batch, dtype=int)


def _moved(
    statement: dict[str, Any], at: dict[str, Array], fixed: dict[str, Any], rng: np.random.Generator
) -> dict[str, Array]:
    """Each letter of each point moved with probability 1/2, by a factor or a step of any size."""
    new: dict[str, Array] = {}
    for name, column in at.items():
        size = 10 ** rng.uniform(-4, 1, column.shape) * rng.choice([-1.0, 1.0], column.shape)
        step = np.where(rng.random(column.shape) < 0.7, column * np.exp(np.clip(size, -5, 5)), column + size)
        whole = column + rng.integers(-2, 3, column.shape)
        step = whole if statement["letters"][name] == "integer" else step
        new[name] = np.where(rng.random(column.shape) < 0.5, step, column)
    return _followed(new, fixed)


def _followed(at: dict[str, Array], fixed: dict[str, Any]) -> dict[str, Array]:
    """Letters that are determined follow the others; as often as one may stand on another."""
    for _ in fixed:
        for name, formula in fixed.items():
            at[name] = np.broadcast_to(values(formula, at), at[name].shape)
    return at


def violates(statement: dict[str, Any], point: dict[str, Any], fixed: dict[str, Any]) -> bool:
    """Whether the claim fails at a point in 40 digits, all hypotheses met."""
    try:
        for _ in fixed:
            for name, formula in fixed.items():
                point[name] = value(formula, point)
        met = all(holds(condition, point) for condition in statement["hypotheses"])
        return bool(met and margin(statement["claim"], point) < -(mp.mpf(10) ** -25))
    except (ValueError, ZeroDivisionError, OverflowError, TypeError, KeyError):
        return False


def _drawn(statement: dict[str, Any], fixed: dict[str, Any], rng: np.random.Generator, batch: int) -> dict[str, Array]:
    """Points around 0, 1 and the numbers of the hypotheses, near and far; letters that are determined follow."""
    sides = [side for c in statement["hypotheses"] for side in c[1:]]
    ends = [float(Fraction(v)) for v in sides if isinstance(v, int) or (isinstance(v, str) and not v[0].isalpha())]
    near = np.array([0.0, 1.0, *ends])
    at: dict[str, Array] = {}
    for name, sort in statement["letters"].items():
        sizes = np.stack([rng.random(batch), 10 ** rng.uniform(-3, 3, batch), np.ones(batch)])
        size = sizes[rng.integers(0, 3, batch), np.arange(batch)]
        x = rng.choice(near, batch) + rng.choice([1.0, 1.0, -1.0], batch) * size
        at[name] = np.rint(x) + rng.integers(0, 3, batch) if sort == "integer" else x
    return _followed(at, fixed)
