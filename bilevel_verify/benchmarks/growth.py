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

from bilevel_verify.benchmarks.rows import Row, Section, missing
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
    for d in DIMENSIONS[:3] if quick else DIMENSIONS:
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (in_a_process("dense", d, folder) for _ in range(2))
        for name, found, limits in (("cold", cold, COLD), ("warm", warm, WARM)):
            what = f"d = {d}: five oracles ready, {name}"
            if "ready" in found:
                cold_rows.append(Row(what, found["ready"], "s", limits.get(d)))
            else:
                cold_rows.append(missing(what, "numba is not installed", limits.get(d), "s"))
        size = f"{cold['subexpressions']} subexpressions, {cold['source']} characters of source"
        growth_rows += [
            Row(f"d = {d}: derive and print grad_y g, hvp_yy g", 1e3 * cold["derive"], "ms", note=size),
            Row(f"d = {d}: derivation per subexpression", 1e6 * cold["derive"] / cold["subexpressions"], "us"),
            Row(f"d = {d}: grad_y g, one call from Python", 1e6 * cold["gradient"], "us"),
            Row(f"d = {d}: hvp_yy g, one call from Python", 1e6 * cold["product"], "us"),
            Row(f"d = {d}: call time per subexpression", 1e9 * cold["gradient"] / cold["subexpressions"], "ns"),
            Row(f"d = {d}: peak memory of the process", cold["memory"], "MB"),
        ]
    first = ("dense quadratic and d dense softplus terms (d = 1: sines); processor time in fresh processes",)
    return [
        Section("derive and compile", tuple(cold_rows), first),
        Section("growth with the dimension", tuple(growth_rows), ("memory includes numba and SymPy themselves",)),
    ]


def with_samples(quick: bool = False) -> Section:
    """Sums over data: 100 features, 10^2 ... 10^5 samples (quick: up to 10^4)."""
    rows: list[Row] = []
    for n in SAMPLES[:3] if quick else SAMPLES:
        found = in_a_process("logistic", n, None)
        form = "machine code" if found["machine code"] else "NumPy"
        for name, text in (("gradient", "gradient"), ("product", "Hessian-vector product")):
            limit = 1.1 if n == SAMPLES[-1] else GRADIENTS.get(n) if name == "gradient" else None
            ratio, note = found[name] / found[f"{name} by hand"], f"{short_ms(found[name])} per call, {form}"
            rows.append(Row(f"{n} samples: {text} against NumPy by hand", ratio, "x", limit, note=note))
        rows.append(Row(f"{n} samples: derivation and first calls", 1e3 * found["derive"], "ms"))
        rows.append(Row(f"{n} samples: peak memory", found["memory"], "MB", note=f"data {found['data']:.1f} MB"))
    return Section("sums over data", tuple(rows), ("logistic loss with 100 features, one BLAS thread",))


def imports(quick: bool = False) -> Section:
    """Import time in a fresh process, less that of the bare interpreter."""
    times: dict[str, list[float]] = {"": [], "import bilevel_verify": []}
    for _ in range(3 if quick else 7):
        for code, found in times.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code or "pass"], check=True)
            found.append(time.perf_counter() - begin)
    bare, ours = (min(found) for found in times.values())
    row = Row("import of the package", ours - bare, "s", 0.5, note=f"the bare interpreter takes {bare:.3f} s")
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
            note = f"exit status {done.returncode}"
            made.append(Row(f"main job, {name}", time.perf_counter() - begin, "s", limit, note=note))
    return Section("main job", tuple(made), ("bilevel-verify run on the built-in zoo, wall-clock time",))


def in_a_process(what: str, number: int, cache: str | None) -> dict[str, Any]:
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
