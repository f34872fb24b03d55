"""Largest curvature of a function over a box: ours beside the same search by hand in arb and in codac.

By hand: the Hessian's formulas by SymPy, natural extension in the library's intervals, centre and radius of the matrix,
the worst boxes cut in two at their longest side. Same problem, same relative gap asked, processor seconds of each.
Run as a script; a library that is not installed is said to be missing.
"""

from __future__ import annotations

import heapq
import importlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

import bilevel_verify as bv
from bilevel_verify.constants import api, constants

PROBLEMS = {
    "2 variables": ("y**2 + y**4/12 + 3*sin(x*y)/10 - y*cos(x)", "x y", 2.0),
    "3 variables, log of a sum": ("log(2 + sin(x*y*z) + x**2 + y**2 + z**2)", "x y z", 1.0),
    "3 variables, root": ("sqrt(1 + x**2 + 2*y**2 + z**2 + x*y/2)", "x y z", 1.0),
    "4 variables, log of a sum": ("log(2 + sin(x*y*z*w) + x**2 + y**2 + z**2 + w**2)", "x y z w", 1.0),
    "5 variables, bell": ("exp(-x**2 - y**2/2 - z**2 - w**2/3 - v**2)", "x y z w v", 1.0),
}
GAPS = (0.3, 0.03)
PATIENCE = 4.0
"""Processor seconds after which a search by hand says how far it came."""


@dataclass(frozen=True)
class Library:
    """Intervals of one library: from ends, to ends, and its elementary functions."""

    name: str
    make: Callable[[float, float], Any]
    ends: Callable[[Any], tuple[float, float]]
    functions: dict[str, Callable[[Any], Any]]


def libraries() -> list[Library | str]:
    """Those that are installed; the names of the others."""
    found: list[Library | str] = []
    for name, build in (("flint", _arb), ("codac", _codac)):
        try:
            found.append(build(importlib.import_module(name)))
        except ImportError:
            found.append(name)
    return found


def _arb(flint: Any) -> Library:
    def make(lo: float, hi: float) -> Any:
        return flint.arb(lo).union(flint.arb(hi))

    def ends(t: Any) -> tuple[float, float]:
        t = flint.arb(t)
        return np.nextafter(float(t.lower()), -np.inf), np.nextafter(float(t.upper()), np.inf)

    names = ("sin", "cos", "exp", "log", "sqrt")
    return Library("arb by hand", make, ends, {n: lambda t, n=n: getattr(flint.arb(t), n)() for n in names})


def _codac(codac: Any) -> Library:
    def ends(t: Any) -> tuple[float, float]:
        t = codac.Interval(t)
        return t.lb(), t.ub()

    names = ("sin", "cos", "exp", "log", "sqrt")
    make = lambda lo, hi: codac.Interval(lo, hi)
    return Library("codac by hand", make, ends, {n: lambda t, n=n: getattr(codac, n)(codac.Interval(t)) for n in names})


def by_hand(library: Library, formula: str, names: str, size: float, gap: float) -> tuple[float, float, float]:
    """(lower, upper, seconds) of the search with the intervals of a library."""
    letters = sympy.symbols(names)
    hessian = sympy.hessian(sympy.sympify(formula), letters)
    compiled = sympy.lambdify([letters], _whole(hessian), modules=[library.functions], cse=True)
    n = len(letters)
    begin = time.process_time()

    def bound(box: tuple[tuple[float, float], ...]) -> float:
        entries = compiled([library.make(*side) for side in box])
        ends = np.array([library.ends(entry) for row in entries for entry in row])
        low, high = (ends[:, k].reshape(n, n) for k in (0, 1))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return float("inf")
        centre, radius = 0.5 * (low + high), 0.5 * (high - low)
        return float(np.abs(np.linalg.eigvalsh(centre)).max() + radius.sum(axis=1).max()) * (1 + 1e-12)

    whole = ((-size, size),) * n
    heap, lower, count = [(-bound(whole), 0, whole)], 0.0, itertools.count(1)
    while True:
        worst, _, box = heap[0]
        middle = tuple((0.5 * (a + b),) * 2 for a, b in box)
        lower = max(lower, bound(middle) * (1 - 1e-9))
        if -worst <= lower * (1 + gap) or time.process_time() - begin > PATIENCE:
            return lower, -worst, time.process_time() - begin
        heapq.heappop(heap)
        side = max(range(n), key=lambda i: box[i][1] - box[i][0])
        cut = middle[side][0]
        for part in ((box[side][0], cut), (cut, box[side][1])):
            child = (*box[:side], part, *box[side + 1 :])
            heapq.heappush(heap, (max(worst, -bound(child)), next(count), child))


def _whole(hessian: Any) -> list[list[Any]]:
    """Half-integer powers as integer powers of roots: what every library has."""
    return [[hessian[i, j].replace(_is_root, _root) for j in range(hessian.shape[1])] for i in range(hessian.shape[0])]


def _is_root(e: Any) -> bool:
    return bool(e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer)


def _root(power: Any) -> Any:
    """A half-integer power as an integer power of a root."""
    return (
        sympy.sqrt(power.base) ** (2 * power.exp) if (2 * power.exp).is_Integer and power.exp != sympy.S.Half else power
    )


def ours(formula: str, names: str, size: float, gap: float) -> tuple[float, float, float]:
    """(lower, upper, seconds) of certified constants, with more effort until the gap is reached."""
    for remembered in (api._CACHE, api._KNOWN):
        remembered.clear()  # the same problem was asked with another gap
    begin, effort = time.process_time(), 1.0
    while True:
        problem = bv.single_level(f=formula, x=names, domain=dict.fromkeys(names.split(), (-size, size)))
        found = constants(problem, effort=effort)["L"]
        took = time.process_time() - begin
        if found.upper <= found.lower * (1 + gap) or 4 * took > PATIENCE:
            return found.lower, found.upper, took
        effort *= 4.0


def main() -> None:
    """Print a row for every problem, gap and library."""
    constants(bv.single_level(f="sin(x)", x="x"))["L"]  # loads what is loaded once
    for name, (formula, names, size) in PROBLEMS.items():
        for gap in GAPS:
            lower, upper, took = ours(formula, names, size, gap)
            print(f"{name}, gap {gap:.0%} asked: ours {upper / lower - 1:.2%} in {took:.2f} s")
            for library in libraries():
                if isinstance(library, str):
                    print(f"    {library} is not installed: no rival")
                    continue
                low, high, seconds = by_hand(library, formula, names, size, gap)
                assert high >= lower * (1 - 1e-9), "two bounds contradict each other"
                assert upper >= low * (1 - 1e-9), "two bounds contradict each other"
                print(f"    {library.name}: {high / low - 1:.2%} in {seconds:.2f} s, {seconds / took:.1f} times ours")


if __name__ == "__main__":
    main()
