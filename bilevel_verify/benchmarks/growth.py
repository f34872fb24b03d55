"""How start-up, calls and memory grow with the dimension and with the number of samples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bilevel_verify.benchmarks.rows import Row, Section, law, missing
from bilevel_verify.oracles.store import FOLDER_VARIABLE

DIMENSIONS = (1, 5, 20, 50, 100)
SAMPLES = (100, 1_000, 10_000, 100_000)
GRADIENTS = {100: 1.5, 1_000: 1.2}
"""Samples -> most that a gradient may cost against NumPy by hand."""
COLD = {20: 6.0, 50: 6.0}
WARM = {20: 0.5}


def with_dimension(quick: bool = False) -> list[Section]:
    """Derivation, compilation, call time and memory for d = 1, 5, 20, 50, 100 (quick: up to 20)."""
    cold_rows: list[Row] = []
    growth_rows: list[Row] = []
    children: list[tuple[int, dict[str, Any]]] = []
    for d in DIMENSIONS[:3] if quick else DIMENSIONS:
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (in_a_process("dense", d, folder) for _ in range(2))
        for name, found, limits in (("cold", cold, COLD), ("warm", warm, WARM)):
            what = f"d = {d}: five oracles ready, {name}"
            if "ready" in found:
                limit, beside = limits.get(d), found["derive by SymPy"]
                cold_rows.append(Row(what, found["ready"], "s", limit, rival=DIFFED, beside=beside))
            else:
                cold_rows.append(missing(what, "numba is not installed", limits.get(d), "s"))
        children.append((d, cold))
        growth_rows += _of_dimension(d, cold)
    first = (
        "dense quadratic and d dense softplus terms (d = 1: sines); processor time in fresh processes",
        f"{DIFFED}: the derivative by y1 and lambdify, times d",
    )
    return [
        Section("derive and compile", tuple(cold_rows), first),
        Section(
            "growth with the dimension",
            (*growth_rows, *_laws("d", children, DIMENSION_LAWS)),
            ("memory includes numba and SymPy themselves, that beside it is nothing else",),
        ),
    ]


def _of_dimension(d: int, found: dict[str, float]) -> list[Row]:
    size = f"{found['subexpressions']} subexpressions, {found['source']} characters of source"
    rows = (
        ("derive and print grad_y g, hvp_yy g", 1e3, "derive", 1, "ms", DIFFED, "derive by SymPy", size),
        ("derivation per subexpression", 1e6, "derive", found["subexpressions"], "us", DIFFED, "derive by SymPy", ""),
        ("grad_y g, one call from Python", 1e6, "gradient", 1, "us", "NumPy by hand", "gradient by hand", ""),
        ("hvp_yy g, one call from Python", 1e6, "product", 1, "us", "NumPy by hand", "product by hand", ""),
        ("call time per subexpression", 1e9, "gradient", found["subexpressions"], "ns", "NumPy by hand",
         "gradient by hand", ""),
        ("peak memory of the process", 1, "memory", 1, "MB", "libraries alone", "libraries alone", ""),
    )  # fmt: skip
    return [
        Row(f"d = {d}: {what}", unit * found[ours] / by, name, None, False, note, rival, unit * found[theirs] / by)
        for what, unit, ours, by, name, rival, theirs, note in rows
    ]


Law = tuple[str, str, str, str]
DIFFED = "SymPy's diff of the gradient"
DIMENSION_LAWS: tuple[Law, ...] = (
    ("time of the derivation", "derive", DIFFED, "derive by SymPy"),
    ("time of a gradient", "gradient", "NumPy by hand", "gradient by hand"),
    ("memory", "memory", "libraries alone", "libraries alone"),
)
SAMPLE_LAWS: tuple[Law, ...] = (
    ("time of a gradient", "gradient", "NumPy by hand", "gradient by hand"),
    ("time of the derivation and the first calls", "derive", "NumPy's first calls", "derive by hand"),
    ("memory", "memory", "the data and the libraries", "data and libraries"),
)


def _laws(size: str, children: list[tuple[int, dict[str, float]]], laws: tuple[Law, ...]) -> list[Row]:
    """Exponents of growth from the second size on; the first is all overhead."""
    ends = children[1:] if len(children) > 2 else children
    note = f"from {ends[0][0]} to {ends[-1][0]}"
    return [
        law(
            f"{size}: exponent of the {what}", [(n, found[ours], found[theirs]) for n, found in ends], None, rival, note
        )
        for what, ours, rival, theirs in laws
    ]


def with_samples(quick: bool = False) -> Section:
    """Sums over data: 100 features, 10^2 ... 10^5 samples (quick: up to 10^4)."""
    rows: list[Row] = []
    hand = "NumPy by hand"
    children: list[tuple[int, dict[str, Any]]] = []
    for n in SAMPLES[:3] if quick else SAMPLES:
        found = in_a_process("logistic", n, None)
        found["data and libraries"] = found["data"] + found["libraries alone"]
        children.append((n, found))
        form = "machine code" if found["machine code"] else "NumPy"
        for name, text in (("gradient", "gradient"), ("product", "Hessian-vector product")):
            limit = 1.1 if n == SAMPLES[-1] else GRADIENTS.get(n) if name == "gradient" else None
            ratio, note = found[name] / found[f"{name} by hand"], f"{short_ms(found[name])} per call, {form}"
            rows.append(Row(f"{n} samples: {text} against {hand}", ratio, "x", limit, False, note, hand, 1.0))
        derived, by_hand = 1e3 * found["derive"], 1e3 * found["derive by hand"]
        what, rival = f"{n} samples: derivation and first calls", "NumPy's first calls"
        rows.append(Row(what, derived, "ms", rival=rival, beside=by_hand))
        what, note, rival = f"{n} samples: peak memory", f"data {found['data']:.1f} MB", "the data and the libraries"
        rows.append(Row(what, found["memory"], "MB", None, False, note, rival, found["data and libraries"]))
    rows += _laws("samples", children, SAMPLE_LAWS)
    return Section("sums over data", tuple(rows), ("logistic loss with 100 features, one BLAS thread",))


def imports(quick: bool = False) -> Section:
    """Import time in a fresh process, less that of the bare interpreter."""
    times: dict[str, list[float]] = {"pass": [], "import bilevel_verify": [], "import sympy": []}
    for _ in range(3 if quick else 7):
        for code, found in times.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            found.append(time.perf_counter() - begin)
    bare, ours, theirs = (min(found) for found in times.values())
    note = f"the bare interpreter takes {bare:.3f} s"
    row = Row("import of the package", ours - bare, "s", 0.5, False, note, "SymPy", theirs - bare)
    return Section("import", (row,))


def main_job(run: bool = False) -> Section:
    """The main job, cold and warm, if asked for."""
    if not run:
        why = "takes minutes; --main-job runs it"
        rows = (missing("main job, cold", why, 180.0, "s"), missing("main job, warm", why, 60.0, "s"))
        return Section("main job", rows)
    made: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, limit in (("cold", 180.0), ("warm", 60.0)):
            out = str(Path(folder) / name)
            begin = time.perf_counter()
            command = [sys.executable, "-m", "bilevel_verify", "run", "--out", out]
            done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=False)
            took, note = time.perf_counter() - begin, f"exit status {done.returncode}"
            made.append(Row(f"main job, {name}", took, "s", limit, False, note, YARDSTICK, yardstick()))
    return Section("main job", tuple(made), ("bilevel-verify run on the built-in zoo, wall-clock time",))


YARDSTICK = "ten million additions of Python"


def yardstick() -> float:
    """Seconds by the clock that this machine takes for them now."""
    begin, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - begin


def in_a_process(what: str, number: int, cache: str | None) -> dict[str, float]:
    """The answer of :mod:`~bilevel_verify.benchmarks.child`."""
    command = [sys.executable, "-m", "bilevel_verify.benchmarks.child", what, str(number)]
    text = subprocess.run(command, env=environment(cache), capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(text)
    return found


def environment(cache: str | None) -> dict[str, str]:
    """The environment with one BLAS thread and a cache folder of our own; modules are kept as installed ones are."""
    own = {} if cache is None else {FOLDER_VARIABLE: str(Path(cache) / "cache")}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **threads, **own}


def short_ms(value: float) -> str:
    """Milliseconds as text."""
    return f"{1e3 * value:.3g} ms"
