"""Statements of certificates at many points at once: floats look, 40 digits decide what they find suspicious."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from certificate_pieces import holds, margin, value
from mpmath import mp

Array = np.ndarray[Any, Any]
BATCH, LONGEST = 20_000, 400
"""Points of one draw; terms of the longest sum that is written out (points with longer ones are not looked at)."""
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
    equal = [c[1:] for c in statement["hypotheses"] if c[0] == "==" and isinstance(c[1], str)]
    fixed = {name: formula for name, formula in equal if name in statement["letters"]}
    found = 0
    with np.errstate(all="ignore"):
        for _ in range(30):
            at = _drawn(statement, fixed, rng, batch)
            inside = np.ones(batch, dtype=bool)
            for condition in statement["hypotheses"]:
                inside &= true_at(condition, at)
            op, left, right = statement["claim"]
            low, high = (np.broadcast_to(values(side, at), batch) for side in (left, right))
            gap = (high - low) if op in ("<=", "<") else (low - high) if op in (">=", ">") else -np.abs(high - low)
            inside &= np.isfinite(gap)
            found += int(inside.sum())
            scale = np.maximum(np.abs(low), np.abs(high))
            for place in np.flatnonzero(inside & (gap < -1e-10 * scale))[:40]:
                point = {name: mp.mpf(float(column[place])) for name, column in at.items()}
                if violates(statement, point, fixed):
                    return found, point
            if found >= count or not statement["letters"]:
                break
    return found, None


def violates(statement: dict[str, Any], point: dict[str, Any], fixed: dict[str, Any]) -> bool:
    """Whether the claim fails at a point in 40 digits, all hypotheses met."""
    try:
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
    for name, formula in fixed.items():
        at[name] = np.broadcast_to(values(formula, at), batch)
    return at
