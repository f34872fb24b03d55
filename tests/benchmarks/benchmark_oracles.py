"""Ratios of the oracle layer, side by side in one run. Not a test: ``python tests/benchmarks/benchmark_oracles.py``.

Processor time of this process is measured (other load moves it by 20-50 %; ratios of one table were taken interleaved).
Hand-written C is used if ``gcc`` is there. Options: ``--long`` for d = 100 and 10^5 samples.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from sympy import Rational, cos, sin, symbols

import bilevel_verify as bv
from bilevel_verify.atoms import logsumexp, softplus
from bilevel_verify.oracles import new_counts, oracles
from bilevel_verify.oracles.counted import ask_grad_y_f, ask_grad_y_g
from bilevel_verify.oracles.twin import compiled, loop
from bilevel_verify.problems.problem import Problem

clock = time.process_time
LAM, STEP, MOMENTUM, INNER = 10.0, 0.01, 0.5, 100


@loop
def two_inner_loops(P: Any, counts: Any, x: Any, y: Any, z: Any, w: Any, slope: Any, other: Any, outer: int) -> None:
    """The inner work of a penalty method: AGD on g, then AGD on f + lam g, over and over."""
    for _ in range(outer):
        for which in range(2):
            point = y if which == 0 else z
            for i in range(len(point)):
                w[i] = point[i]
            for _k in range(INNER):
                ask_grad_y_g(P, counts, x, w, slope)
                if which == 1:
                    ask_grad_y_f(P, counts, x, w, other)
                    for i in range(len(point)):
                        slope[i] = (other[i] + LAM * slope[i]) / LAM
                for i in range(len(point)):
                    new = w[i] - STEP * slope[i]
                    w[i] = new + MOMENTUM * (new - point[i])
                    point[i] = new
        x[0] = x[0] + 1e-6 * (y[0] - z[0])


C_LOOP = """
#include <math.h>
#define D %(d)d
%(data)s
static void grad_y_g(const double *x, const double *y, double *out) { %(gradient)s }
static void grad_y_f(const double *x, const double *y, double *out) { for (int i = 0; i < D; i++) out[i] = y[i]; }
void run(double *x, double *y, double *z, long outer) {
  double w[D], s[D], o[D];
  for (long t = 0; t < outer; t++) {
    for (int which = 0; which < 2; which++) {
      double *p = which ? z : y;
      for (int i = 0; i < D; i++) w[i] = p[i];
      for (int k = 0; k < 100; k++) {
        grad_y_g(x, w, s);
        if (which) { grad_y_f(x, w, o); for (int i = 0; i < D; i++) s[i] = (o[i] + 10.0*s[i])/10.0; }
        for (int i = 0; i < D; i++) { double n = w[i] - 0.01*s[i]; w[i] = n + 0.5*(n - p[i]); p[i] = n; }
      }
    }
    x[0] += 1e-6*(y[0] - z[0]);
  }
}
"""


def dense(d: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Dense quadratic and d dense softplus terms."""
    rng = np.random.default_rng(0)
    root = rng.integers(-5, 6, (d, d))
    h, w = root @ root.T + 10 * np.eye(d, dtype=int), rng.integers(-5, 6, (d, d))
    x, y = symbols(f"x1:{d + 1}", real=True), symbols(f"y1:{d + 1}", real=True)
    tenth = Rational(1, 10)
    square = sympy.Add(*[tenth * int(h[i, j]) * y[i] * y[j] / 2 for i in range(d) for j in range(d)])
    rows = [sympy.Add(*[tenth * int(w[k, j]) * y[j] for j in range(d)]) + x[k] for k in range(d)]
    g = square / d + sympy.Add(*[softplus(r) for r in rows])
    f = sympy.Add(*[v**2 for v in y]) / 2 + sin(x[0])
    return Problem("bilevel", f, x, g, y), h / 10 / d, w / 10


def c_array(name: str, values: np.ndarray) -> str:
    flat = ",".join(repr(float(v)) for v in np.ravel(values))
    return f"static const double {name}[{values.size}] = {{{flat}}};"


def problems() -> dict[str, tuple[Problem, dict[str, Any]]]:
    """Problem and the pieces of its hand-written C."""
    x, y = symbols("x1 y1", real=True)
    g1 = y**2 + y**4 / 12 + Rational(3, 10) * sin(x * y) - cos(x) * y
    one = Problem("bilevel", sin(x) + y**2 / 2, (x,), g1, (y,))
    c1 = "out[0] = 2*y[0] + y[0]*y[0]*y[0]/3.0 + 0.3*x[0]*cos(x[0]*y[0]) - cos(x[0]);"
    m = np.random.default_rng(1).integers(-5, 6, (5, 5))
    xs, ys = symbols("x1:6", real=True), symbols("y1:6", real=True)
    inner = logsumexp(*[sum(Rational(int(m[k, j]), 10) * ys[j] for j in range(5)) + xs[k] for k in range(5)])
    g5 = sympy.Add(*[v**4 / 4 for v in ys]) + inner - sympy.Add(*[a * b for a, b in zip(xs, ys)]) / 2
    five = Problem("bilevel", sin(xs[0]) + sympy.Add(*[v**2 for v in ys]) / 2, xs, g5, ys)
    c5 = """double t[D], top = -1e300, total = 0;
      for (int k = 0; k < D; k++) { t[k] = x[k]; for (int j = 0; j < D; j++) t[k] += M[k*D + j]*y[j];
        if (t[k] > top) top = t[k]; }
      for (int k = 0; k < D; k++) { t[k] = exp(t[k] - top); total += t[k]; }
      for (int i = 0; i < D; i++) { double s = 0; for (int k = 0; k < D; k++) s += M[k*D + i]*t[k];
        out[i] = y[i]*y[i]*y[i] + s/total - x[i]/2; }"""
    twenty, h, w = dense(20)
    c20 = """double t[D];
      for (int i = 0; i < D; i++) { double s = 0; for (int j = 0; j < D; j++) s += H[j*D + i]*y[j]; out[i] = s; }
      for (int k = 0; k < D; k++) { double u = x[k]; for (int j = 0; j < D; j++) u += W[k*D + j]*y[j];
        double e = exp(-fabs(u)), r = 1/(1 + e); t[k] = u >= 0 ? r : e*r; }
      for (int k = 0; k < D; k++) for (int i = 0; i < D; i++) out[i] += W[k*D + i]*t[k];"""
    return {
        "d = 1": (one, {"d": 1, "data": "", "gradient": c1}),
        "d = 5": (five, {"d": 5, "data": c_array("M", m / 10), "gradient": c5}),
        "d = 20": (twenty, {"d": 20, "data": c_array("H", h) + c_array("W", w), "gradient": c20}),
    }


def hand_c(pieces: dict[str, Any], folder: Path) -> Any | None:
    """The loop in C at -O2, or None without a compiler."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    source, library = folder / f"loop{pieces['d']}.c", folder / f"loop{pieces['d']}.so"
    source.write_text(C_LOOP % pieces)
    flags = ["-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library)).run


def best(run: Callable[..., Any], *arguments: Any, repeats: int = 5) -> float:
    """Least seconds of several calls."""
    times = []
    for _ in range(repeats):
        start = clock()
        run(*arguments)
        times.append(clock() - start)
    return min(times)


def many(run: Callable[..., Any], *arguments: Any) -> float:
    """Seconds of one of 2000 calls."""

    def repeat() -> None:
        for _ in range(2000):
            run(*arguments)

    return best(repeat) / 2000


def pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def solver_loops(folder: Path) -> None:
    """Whole loops: compiled, hand-written C, plain Python, plain Python with lambdify."""
    from numba import float64, int64, void

    from bilevel_verify.oracles.compiling import oracle_set_type

    vector = float64[::1]
    signature = void(oracle_set_type(), int64[::1], *[vector] * 6, int64)
    fast = compiled(two_inner_loops, signature)
    print("\nwhole loops: 100 + 100 AGD steps per outer step, microseconds per outer step (ratio to hand-written C)")
    for name, (problem, pieces) in problems().items():
        o, d, outer = oracles(problem), problem.dy, 400 if problem.dy < 20 else 100
        names = ["grad_y_g", "grad_y_f"]
        P, Q = o.function_set(names), o.function_set(names, "plain")
        arrays = lambda n=problem.dx, d=d: [np.full(n, 0.3), *(np.full(d, 0.1) for _ in range(5))]
        counts, run_c = new_counts(), hand_c(pieces, folder)
        rows: dict[str, list[float]] = {"compiled": [], "hand C -O2": [], "plain Python": [], "lambdify": []}
        lambdified = lambdify_set(problem)
        mine, theirs = arrays(), arrays()
        for _ in range(5):
            rows["compiled"].append(best(fast, P, counts, *mine, outer, repeats=2) / outer)
            if run_c is not None:
                args = [pointer(a) for a in theirs[:3]]
                rows["hand C -O2"].append(best(run_c, *args, ctypes.c_long(outer), repeats=2) / outer)
        short = 3 if d < 20 else 1
        lists = [a.tolist() for a in arrays()]
        rows["plain Python"].append(best(two_inner_loops, Q, counts, *lists, short, repeats=2) / short)
        lists = [a.tolist() for a in arrays()]
        rows["lambdify"].append(best(two_inner_loops, lambdified, counts, *lists, short, repeats=2) / short)
        base = min(rows["hand C -O2"], default=min(rows["compiled"]))
        text = ", ".join(f"{k} {min(v) * 1e6:.1f} ({min(v) / base:.2f})" for k, v in rows.items() if v)
        gap = np.abs(mine[1] - theirs[1]).max() if run_c is not None else 0.0
        faster = min(rows["lambdify"]) / min(rows["compiled"])
        print(f"  {name}: {text}; compiled against lambdify {faster:.0f}x; gap {gap:.1e}")


def lambdify_set(problem: Problem) -> Any:
    """Oracles as one would write them with SymPy alone."""
    plain = {softplus: lambda t: sympy.log(1 + sympy.exp(t)), logsumexp: lambda *a: sympy.log(sum(map(sympy.exp, a)))}

    class Lambdified:
        pass

    result = Lambdified()
    for which, expression in (("f", problem.f), ("g", problem.g)):
        for function, rule in plain.items():
            expression = expression.replace(function, rule)
        gradient = [sympy.diff(expression, v) for v in problem.y]
        function = sympy.lambdify([problem.x, problem.y], gradient, modules="math", cse=True)

        def oracle(x: Any, y: Any, out: Any, function: Any = function) -> None:
            out[:] = function(x, y)

        setattr(result, f"grad_y_{which}", oracle)
    return result


def derive_and_compile() -> None:
    """Cold and warm start of the oracles that a penalty method needs, each in a process of its own."""
    print("\nderive and compile grad_y_g, grad_g, grad_f, hvp_yy_g, jvp_xy_g: seconds of processor time")
    program = (
        "import sys, time; sys.path.insert(0, 'tests/benchmarks')\n"
        "import benchmark_oracles as b\n"
        "import numba\n"
        "d = int(sys.argv[1]); p = b.dense(d)[0] if d > 1 else b.problems()['d = 1'][0]\n"
        "t = time.process_time()\n"
        "b.oracles(p).function_set(['grad_y_g', 'grad_g', 'grad_f', 'hvp_yy_g', 'jvp_xy_g'])\n"
        "print(time.process_time() - t)\n"
    )
    for d in (1, 20, 50):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "BILEVEL_VERIFY_CACHE": str(Path(folder) / "cache")}
            command = [sys.executable, "-c", program, str(d)]
            times = [float(subprocess.check_output(command, env=environment, text=True)) for _ in range(2)]
        print(f"  d = {d}: cold {times[0]:.2f}, warm {times[1]:.2f}")


def growth(sizes: tuple[int, ...]) -> None:
    """Derivation, size of the source, and one call, as d grows."""
    print("\ngrowth with d (dense quadratic + d dense softplus terms): gradient / Hessian-vector product")
    for d in sizes:
        problem = dense(d)[0]
        o = oracles(problem)
        start = clock()
        source = o.workshop.source("grad_y_g")
        first = clock() - start
        start = clock()
        product = o.workshop.source("hvp_yy_g")
        second = clock() - start
        P = o.function_set(["grad_y_g", "hvp_yy_g"])
        x, y, v, out = (np.full(d, 0.1) for _ in range(4))
        gradient = many(P.grad_y_g, x, y, out)
        hvp = many(P.hvp_yy_g, x, y, v, out)
        print(
            f"  d = {d}: derive {first * 1e3:.0f} / {second * 1e3:.0f} ms, "
            f"source {len(source.text)} / {len(product.text)} characters, "
            f"call from Python {gradient * 1e6:.2f} / {hvp * 1e6:.2f} us, peak memory {peak_memory():.0f} MB"
        )


def peak_memory() -> float:
    """MB of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def data_sums(samples: tuple[int, ...]) -> None:
    """Logistic loss over data against hand-written NumPy, ms per call (ratio)."""
    print(
        "\nlogistic loss over data, 100 features: gradient / Hessian-vector product, ms (ratio to hand-written NumPy)"
    )
    d = 100
    for n in samples:
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((n, d)), np.sign(rng.standard_normal(n))
        text = f"mean(softplus(-b[i]*dot(A[i], y)), (i, 0, {n - 1})) + exp(x1)*dot(y, y)/2"
        names = [f"y{k}" for k in range(1, d + 1)]
        problem = bv.bilevel(f="dot(y, y)/2", g=text, x="x1", y=names, data={"A": a, "b": b})
        o = oracles(problem, compiled=True)
        x, y, v = np.array([0.1]), rng.standard_normal(d) / 10, rng.standard_normal(d)

        def gradient(y: np.ndarray, a: np.ndarray = a, b: np.ndarray = b) -> np.ndarray:
            return a.T @ (-b / (1 + np.exp(b * (a @ y)))) / len(a) + np.exp(0.1) * y

        def product(y: np.ndarray, a: np.ndarray = a, b: np.ndarray = b, v: np.ndarray = v) -> np.ndarray:
            s = 1 / (1 + np.exp(b * (a @ y)))
            return a.T @ (s * (1 - s) * (a @ v)) / len(a) + np.exp(0.1) * v

        assert np.allclose(o.grad_y_g(x, y), gradient(y), rtol=1e-10)
        assert np.allclose(o.hvp_yy_g(x, y, v), product(y), rtol=1e-10)
        texts = []
        for mine, theirs, more in ((o.grad_y_g, gradient, ()), (o.hvp_yy_g, product, (v,))):
            one, two = [], []
            for k in range(9):
                moved = y + k * 1e-6
                one.append(best(mine, x, moved, *more, repeats=1))
                two.append(best(theirs, moved, repeats=1))
            texts.append(f"{np.median(one) * 1e3:.3f} ({np.median(one) / np.median(two):.2f})")
        print(f"  {n} samples: {' / '.join(texts)}")


def main() -> None:
    """All tables."""
    long = "--long" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        solver_loops(Path(folder))
    derive_and_compile()
    growth((1, 5, 20, 50, 100) if long else (1, 5, 20))
    data_sums((10**2, 10**3, 10**4, 10**5) if long else (10**3, 10**4))


if __name__ == "__main__":
    main()
