"""Calls of the public interface with arguments of wrong types, shapes and sizes."""

# ruff: noqa: E501 (tables of values)
from __future__ import annotations

import functools
import inspect
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

import bilevel_verify as bv

LEFT_OUT = {"run_campaign", "report", "worst_case", "random_instances", "audit", "verify", "check"}
"""Called with hostile arguments only (their honest work takes long): the first argument is never honest."""
LONG = ("Truth.conic", "Truth.L_star_min", "Truth.stationary")
"""Left out: an honest answer takes longer than the watcher waits."""


@functools.cache
def world() -> dict[str, Any]:
    """Problems and what is made of them."""
    two = bv.bilevel(f="sin(x1) + y1**2/2", g="y1**2 - x1*y1", x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-3, 3)})
    one = bv.single_level(f="x1**2/2 + cos(x2)", x="x1 x2")
    simple = bv.simple_bilevel(f="x1", g="(x1+x2)**2", x="x1 x2", feasible=bv.Ball(radius=1))
    return {"two": two, "one": one, "simple": simple, "oracles": bv.oracles(two), "truth": bv.truth(two)}


@functools.cache
def targets() -> tuple[tuple[str, Callable[..., Any]], ...]:
    """Public functions and classes, the methods of oracles, truth and feasible sets, the pictures."""
    found = [(name, getattr(bv, name)) for name in bv.__all__ if name not in ("__version__", "plot")]
    found = [(n, v) for n, v in found if callable(v) and not (inspect.isclass(v) and issubclass(v, BaseException))]
    things = world()
    for owner in (things["oracles"], things["truth"], bv.Box([0, 0], [1, 1]), bv.Ball(radius=1), bv.Simplex(total=1)):
        names = [name for name in dir(type(owner)) if not name.startswith("_") and callable(getattr(type(owner), name))]
        found += [(f"{type(owner).__name__}.{name}", getattr(owner, name)) for name in names]
    found = [(name, value) for name, value in found if not name.startswith(LONG)]
    return tuple(found) + tuple(
        (f"plot.{name}", getattr(bv.plot, name)) for name in bv.plot.__all__ if name != "Picture"
    )


def hostile(rng: random.Random) -> Any:
    """A value that is rarely what is wanted."""
    things = list(world().values())
    return rng.choice([
        None, True, 5, -1, 0, 2.5, float("nan"), float("inf"), 10**400, "", "a", "x1", "\0", "x" * 5000, b"x", [], [1], [1, 2, 3],
        ["a"], [None], [10**400], [float("nan")], [[1, 2], [3]], [[1.0]], {}, {"a": 1}, {1: 2}, {"eta": 10**400}, {"eta": "x"},
        (), (1, 2), set(), object(), np.array([1, 2]), np.array("a"), np.array([["a"]]), np.zeros((0,)), np.zeros((2, 2)),
        np.array(1j), 1j, len, int, sympy.Symbol("q"), sympy.nan, range(3), iter([1]), Ellipsis, Exception("x"), b"\0\1", *things,
    ])  # fmt: skip


def honest(name: str, rng: random.Random) -> Any:
    """A value that fits a parameter of this name."""
    things = world()
    problems = [things["two"], things["one"], things["simple"]]
    known: dict[str, list[Any]] = {
        "problem": problems, "eps": [0.1], "x0": [[1.0], [1.0, 0.5]], "y0": [[0.0]], "x": [[1.0], [0.3, 0.2], "x1"],
        "y": [[0.2], "y1"], "v": [[1.0]], "f": ["x1 + y1"], "g": ["y1**2"], "text": ["t <= 1"], "budget": [50],
        "method": ["gradient-descent", "restarted-agd"], "statement": ["restarted-agd-hb/theorem-1"], "paper": ["ragd-gs"],
    }  # fmt: skip
    return rng.choice(known[name]) if name in known else hostile(rng)


def call_one(rng: random.Random) -> str:
    """One call: ``status 0`` where it is answered; errors are raised."""
    name, function = rng.choice(targets())
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "status 0"
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    bad = rng.choice(named) if named else None
    every = name in LEFT_OUT
    given: dict[str, Any] = {}
    for one in named:
        if every and one is named[0]:
            given[one.name] = rng.choice([5, -1, 2.5, b"x", {1: 2}, [None], object(), np.array("a"), 1j, set()])
        elif one is bad or (every and one.default is one.empty) or rng.random() < 0.1:
            given[one.name] = hostile(rng)
        elif one.default is one.empty:
            given[one.name] = honest(one.name, rng)
    given.pop("jobs", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(**given)
    return "status 0"
