"""What a user waits for: a text to be read, the first answer, the next one, the truth of a sum over data.

Every row has a rival that was measured in the same run.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import sympy
from sympy.core.cache import clear_cache

from bilevel_verify.arguments import checked
from bilevel_verify.benchmarks.candidates import c_loop, lambdify_loop
from bilevel_verify.benchmarks.cases import bounded, cases, dense_text, letters
from bilevel_verify.benchmarks.growth import environment, in_a_process
from bilevel_verify.benchmarks.loops import PLAIN
from bilevel_verify.benchmarks.rows import Row, Section, interleaved, law, seconds

READ = (5, 10, 20, 28, 50)
SECOND = (2, 10, 20)
SECOND_ROUNDS = 7
SAMPLES = (10_000, 100_000)
MOST_BEFORE = 1_000
"""Solves before the warm one, at most: short runs are plain Python until they have come often."""
LIMIT_OF_READING = {50: 2.0}
FIRST, NEXT, GROWN = {10_000: 2.0}, {10_000: 0.05}, {100_000: 3.0}


def reading(quick: bool = False) -> Section:
    """Dense formulas as text, against ``sympify``, which reads no less and checks less."""
    from bilevel_verify.problems import bilevel

    sizes = READ[:3] if quick else READ
    rows: list[Row] = []
    times: list[tuple[float, float, float]] = []
    for d in sizes:
        text, x, y = dense_text(d)
        turns: dict[str, Callable[[], object]] = {
            "ours": partial(bilevel, f="y1", g=text, x=x, y=y),
            "sympify": partial(sympy.sympify, text),
        }
        best = _read_once(turns, 5 if d <= 20 else 1)
        mine, theirs, terms = best["ours"], best["sympify"], 2 * d * d + d
        times.append((len(text), mine, theirs))
        each = (1e3 * mine / terms, 1e3 * theirs / terms)
        rows += [
            Row(
                f"d = {d}: text of {len(text)} characters read",
                mine,
                "s",
                LIMIT_OF_READING.get(d),
                False,
                "",
                "sympify",
                theirs,
            ),
            Row(f"d = {d}: for each of {terms} terms", each[0], "ms", 0.5, False, "", "sympify", each[1]),
            Row(f"d = {d}: against sympify", mine / theirs, "x", 1.0, False, "", "sympify", 1.0),
        ]
    ends = f"from {times[1][0]} to {times[-1][0]}"
    rows.append(law("length of the text: exponent of the time", times[1:], 1.25, "sympify", ends))
    return Section(
        "reading text",
        tuple(rows),
        ("dense quadratic and d dense log(1 + exp), every number a decimal; SymPy remembers nothing of the text",),
    )


def _read_once(turns: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least processor seconds, SymPy's memory of earlier results emptied before every turn."""
    best = dict.fromkeys(turns, math.inf)
    for _ in range(rounds):
        for name, read in turns.items():
            clear_cache()
            best[name] = min(best[name], seconds(read))
    return best


def answers(quick: bool = False) -> Section:
    """The first answer of a process, a step of a warm one, one formula checked, the second solve of a problem."""
    rows = [*_first(), _one_step(9), _check(1 if quick else 3)]
    rows += [_second(d) for d in (SECOND[:1] if quick else SECOND)]
    rows += [_starts(d) for d in (SECOND[:1] if quick else SECOND[:2])]
    notes = (
        "solve: RAGD-GS, d = 1, one outer step of 303 gradients, all letters given; by hand: lambdify and plain Python",
        "second solve: another eps on a dense problem, the theorem's letters; its rival has Delta given by hand",
    )
    return Section("answers", tuple(rows), notes)


def _first() -> list[Row]:
    in_a_process("first", 1, None)  # modules become bytecode, as an installation makes them
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (in_a_process("first", 1, folder) for _ in range(2))
    rival = "lambdify by hand"
    return [
        Row(
            "first solve of a process, nothing in the cache",
            cold["ours"],
            "s",
            2.0,
            rival=rival,
            beside=cold["by hand"],
        ),
        Row("first solve of a process, warm cache", warm["ours"], "s", 0.25, rival=rival, beside=warm["by hand"]),
    ]


def _one_step(rounds: int) -> Row:
    """A warm solve of one outer step as a user asks for it, which is all overhead: asked often enough to be machine
    code and known."""
    from bilevel_verify import solving

    solve = checked(solving.solve)  # as the package's own name
    case, repeats = cases()[0], 30
    q, budget = letters(case), {"iterations": 1, "calls": 10**15}
    mine = partial(solve, case.problem, "ragd-gs", x0=[0.5], parameters=q, budget=budget)
    for _ in range(MOST_BEFORE):
        if mine().compiled:
            break
    mine(), mine()
    with tempfile.TemporaryDirectory() as folder:
        made = c_loop(case, q, Path(folder), "hand", PLAIN)
        rival, other = ("lambdify", lambdify_loop(case, q, "math")) if isinstance(made, str) else ("C", made)
        turns: dict[str, Callable[[], object]] = {
            "ours": lambda: [mine() for _ in range(repeats)],
            "theirs": lambda: [other(1) for _ in range(repeats)],
        }
        best = interleaved(turns, rounds)
    took, theirs = (1e3 * best[name] / repeats for name in ("ours", "theirs"))
    return Row("warm solve of one outer step", took, "ms", 0.1, rival=rival, beside=theirs)


CHECKED = "x**2 + 1 >= 2*x"
BY_SYMPY = "import sympy; x = sympy.Symbol('x', positive=True); sympy.reduce_inequalities(x**2 + 1 >= 2*x, x)"


def _check(rounds: int) -> Row:
    """One formula of a reviewer in a process of its own, start and imports included."""
    commands = {
        "ours": ["-m", "bilevel_verify", "check", CHECKED, "--for", "x = (0, oo)"],
        "theirs": ["-c", BY_SYMPY],
    }
    best = dict.fromkeys(commands, math.inf)
    for _ in range(rounds):
        for name, command in commands.items():
            best[name] = min(best[name], _of_a_process(command))
    rival = "SymPy's reduce_inequalities"
    return Row(f"check {CHECKED!r}", best["ours"], "s", 0.5, rival=rival, beside=best["theirs"])


def _of_a_process(command: list[str]) -> float:
    """Processor seconds of a process and its children (wall-clock time where the system does not say)."""
    before, begin = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment(None), capture_output=True, check=True)
    after, wall = os.times(), time.perf_counter() - begin
    took = after.children_user + after.children_system - before.children_user - before.children_system
    return took if took > 0 else wall


def _second(d: int) -> Row:
    """Another eps against the same with Delta given, in turn, both in machine code by then."""
    from bilevel_verify.solving import solve

    problem, budget, accuracies = bounded(d), {"iterations": 2, "calls": 10**6}, iter(1 / k for k in range(10, 10**6))

    def run(**given: object) -> bool:
        return solve(problem, "ragd-gs", eps=next(accuracies), x0=[0.5] * d, budget=budget, **given).compiled  # type: ignore[arg-type]

    first, second = seconds(run), seconds(run)
    turns: dict[str, Callable[[], bool]] = {"ours": run, "theirs": partial(run, values={"Delta": 3.0})}
    for _ in range(MOST_BEFORE):
        forms = [turn() for turn in turns.values()]
        if all(forms):
            break
    best = interleaved(turns, SECOND_ROUNDS)
    note = f"the first took {first:.2f} s, the second {1e3 * second:.3g} ms, a later one {1e3 * best['ours']:.3g} ms"
    ratio = best["ours"] / best["theirs"]
    return Row(f"d = {d}: second solve", ratio, "x", 1.2, note=note, rival="with Delta given", beside=1.0)


STARTS, TERMS = 16, 100


def _starts(d: int) -> Row:
    """A batch of starts with the theorem's letters, against as many times what one with Delta given costs."""
    import numpy as np

    from bilevel_verify.solving import solve, solve_batch

    problem, budget, rng = bounded(d), {"iterations": 2, "calls": 10**6}, np.random.default_rng(d)
    accuracies = iter(1 / k for k in range(10, 10**6))

    def many() -> None:
        solve_batch(problem, "ragd-gs", eps=next(accuracies), x0=rng.uniform(-1, 1, (STARTS, d)), budget=budget)

    def one() -> bool:
        start = rng.uniform(-1, 1, d)
        return solve(problem, "ragd-gs", eps=next(accuracies), x0=start, budget=budget, values={"Delta": 3.0}).compiled

    many()
    for _ in range(MOST_BEFORE):
        if one():
            break
    best = interleaved({"ours": many, "theirs": lambda: [one() for _ in range(3)]}, 3)
    mine, theirs = best["ours"], best["theirs"] / 3
    name = f"d = {d}: solve_batch of {STARTS} starts, each"
    return Row(name, mine / STARTS / theirs, "x", 1.2, rival="one solve with Delta given", beside=1.0)


def truths(quick: bool = False) -> Section:
    """phi of a logistic sum in ten variables against Newton's method in NumPy, which proves nothing."""
    rows: list[Row] = []
    rival = "Newton in NumPy"
    for n in SAMPLES[:1] if quick else SAMPLES:
        found = in_a_process("truth", n, None)
        sure = "certified" if found["certified"] else "NOT certified"
        note = f"{sure} to {found['error']:.1g}, NumPy {found['gap']:.1g} away"
        hand = found["by hand"]
        rows += [
            Row(f"{n} samples: first phi", found["first"], "s", FIRST.get(n), note=note, rival=rival, beside=hand),
            Row(f"{n} samples: phi at the next x", found["next"], "s", NEXT.get(n), rival=rival, beside=hand),
            Row(
                f"{n} samples: memory over that of the data",
                found["grown"],
                "x",
                GROWN.get(n),
                rival="the data",
                beside=1.0,
            ),
        ]
    rows.append(_written(20 if quick else TERMS))
    return Section("truth of sums over data", tuple(rows), ("logistic loss, 10 features, processes of their own",))


def _written(n: int) -> Row:
    """inf phi of a logistic sum that the user writes out term by term, against a minimiser that proves nothing."""
    import numpy as np
    from scipy.optimize import minimize_scalar

    from bilevel_verify.problems import bilevel
    from bilevel_verify.truth import truth

    rng, d = np.random.default_rng(24), 5
    rows = np.round(rng.normal(size=(n, d)), 3)
    names = [f"y{j + 1}" for j in range(d)]
    terms = ["log(1 + exp(" + " + ".join(f"({a})*{y}" for a, y in zip(row, names)) + "))" for row in rows.tolist()]
    g = f"({' + '.join(terms)})/{n} + exp(x1)*({' + '.join(f'{y}**2' for y in names)})/2"
    problem = bilevel(f=f"({' + '.join(terms[: n // 2])})/{n // 2}", g=g, x="x1", y=names, domain={"x1": (-3, 3)})

    def phi(x: float) -> float:
        y = np.zeros(d)
        for _ in range(20):
            p = 1 / (1 + np.exp(-rows @ y))
            y = y - np.linalg.solve(
                (rows.T * (p * (1 - p))) @ rows / n + np.exp(x) * np.eye(d), rows.T @ p / n + np.exp(x) * y
            )
        return float(np.mean(np.logaddexp(0.0, rows[: n // 2] @ y)))

    found: list[str] = []
    mine = seconds(lambda: found.append(truth(problem).phi_min().certainty))
    theirs = seconds(lambda: minimize_scalar(phi, bounds=(-3, 3), method="bounded"))
    name, rival = f"inf phi of {n} terms written out", "Newton in NumPy under SciPy's bounded minimiser"
    return Row(name, mine, "s", 3.0, note=found[0], rival=rival, beside=theirs)
