"""Whole solver loop: RAGD-GS against hand-written C and against plain Python with lambdify.

    python tests/benchmarks/methods_solver_loop.py [--outer 3000] [--rounds 5]

One outer iteration is 100 AGD steps on g, 100 on f + lam g, the penalty gradient, the step, the average and the restart
test (300 + 3 gradient calls). Candidates are interleaved in one process; medians are printed with their ratios. The C
loop is compiled with -O2 -ffp-contract=off and does the same arithmetic; without a C compiler that column is empty.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import sympy

import bilevel_verify as bv
from bilevel_verify.methods import run_method
from bilevel_verify.methods.engine import oracles_of

HEADER = """
#include <math.h>
#include <string.h>
#define DX %d
#define DY %d
static const double lam = %r, alpha = %r, beta = %r, alpha_p = %r, beta_p = %r, L = %r, H = %r, nu = %r;
"""

LOOP = """
static void agd(const double *x, double *z, int T, double a, double b, int penalty) {
    double t[DY], s[DY], sf[DY];
    memcpy(t, z, sizeof t);
    for (int k = 0; k < T; k++) {
        grad_y_g(x, t, s);
        if (penalty) { grad_y_f(x, t, sf); for (int i = 0; i < DY; i++) s[i] = sf[i] + lam * s[i]; }
        for (int i = 0; i < DY; i++) { double n = t[i] - a * s[i]; t[i] = n + b * (n - z[i]); z[i] = n; }
    }
}
long run(double *x, long outer, int T) {
    double w[DX], xo[DX], avg[DX] = {0}, u[DX], p[DX], q[DX], y[DY] = {0}, z[DY] = {0}, S = 0; long k = 0, restarts = 0;
    memcpy(w, x, sizeof w);
    for (long n = 0; n < outer; n++) {
        agd(w, z, T, alpha, beta, 0);
        agd(w, y, T, alpha_p, beta_p, 1);
        grad_x_f(w, y, u); grad_x_g(w, y, p); grad_x_g(w, z, q);
        k++;
        double moved = 0;
        for (int i = 0; i < DX; i++) {
            u[i] += lam * (p[i] - q[i]);
            double new = w[i] - u[i] / L, d = new - x[i];
            avg[i] = (double)(k - 1) / (k + 1) * avg[i] + 2.0 / (k + 1) * w[i];
            moved += d * d; xo[i] = x[i]; x[i] = new;
        }
        for (int i = 0; i < DX; i++) w[i] = x[i] + (double)k / (k + 1) * (x[i] - xo[i]);
        S += moved;
        if (pow(k + 1, 4 + nu) * H * H * pow(S, nu) > L * L) {
            k = 0; S = 0; restarts++; memcpy(w, x, sizeof w); memset(y, 0, sizeof y); memset(z, 0, sizeof z);
        }
    }
    return restarts;
}
"""


def p1():
    """One variable each."""
    f, g = "sin(x1) + y1**2/2 + cos(x1 - y1)", "y1**2 + y1**4/12 + 3*sin(x1*y1)/10 - cos(x1)*y1"
    code = """
static void grad_y_g(const double *x, const double *y, double *o) {
    o[0] = 2 * y[0] + y[0] * y[0] * y[0] / 3 + 0.3 * x[0] * cos(x[0] * y[0]) - cos(x[0]); }
static void grad_x_g(const double *x, const double *y, double *o) {
    o[0] = 0.3 * y[0] * cos(x[0] * y[0]) + sin(x[0]) * y[0]; }
static void grad_y_f(const double *x, const double *y, double *o) { o[0] = y[0] + sin(x[0] - y[0]); }
static void grad_x_f(const double *x, const double *y, double *o) { o[0] = cos(x[0]) - sin(x[0] - y[0]); }
"""
    return bv.bilevel(f=f, g=g, x="x1", y="y1"), code, 3.0


def _array(name, a):
    return f"static const double {name}[{a.size}] = {{{', '.join(repr(float(v)) for v in a.ravel())}}};\n"


def p5():
    """Separable quartic + logsumexp(M y + x) - x.y/2."""
    d, M = 5, np.round(np.random.default_rng(5).uniform(-1, 1, (5, 5)), 3)
    xs, ys = [f"x{i + 1}" for i in range(d)], [f"y{i + 1}" for i in range(d)]
    u = [" + ".join(f"({float(M[i, j])!r})*{ys[j]}" for j in range(d)) + f" + {xs[i]}" for i in range(d)]
    g = " + ".join(f"{y}**2 + {y}**4/12 - {x}*{y}/2" for x, y in zip(xs, ys)) + f" + logsumexp({', '.join(u)})"
    f = " + ".join(f"sin({x}) + {y}**2/4 + cos({x} - {y})/2" for x, y in zip(xs, ys))
    code = (
        _array("M", M)
        + """
static void soft(const double *x, const double *y, double *q) {
    double top = -1e300, total = 0;
    for (int i = 0; i < 5; i++) { double s = x[i]; for (int j = 0; j < 5; j++) s += M[5 * i + j] * y[j];
    q[i] = s; if (s > top) top = s; }
    for (int i = 0; i < 5; i++) { q[i] = exp(q[i] - top); total += q[i]; }
    for (int i = 0; i < 5; i++) q[i] /= total; }
static void grad_y_g(const double *x, const double *y, double *o) {
    double q[5]; soft(x, y, q);
    for (int j = 0; j < 5; j++) { double s = 2 * y[j] + y[j] * y[j] * y[j] / 3 - x[j] / 2;
    for (int i = 0; i < 5; i++) s += M[5 * i + j] * q[i]; o[j] = s; } }
static void grad_x_g(const double *x, const double *y, double *o) { soft(x, y, o);
    for (int i = 0; i < 5; i++) o[i] -= y[i] / 2; }
static void grad_y_f(const double *x, const double *y, double *o) {
    for (int i = 0; i < 5; i++) o[i] = y[i] / 2 + sin(x[i] - y[i]) / 2; }
static void grad_x_f(const double *x, const double *y, double *o) {
    for (int i = 0; i < 5; i++) o[i] = cos(x[i]) - sin(x[i] - y[i]) / 2; }
"""
    )
    return bv.bilevel(f=f, g=g, x=xs, y=ys), code, 12.0


def p20():
    """Dense quadratic + 20 dense softplus terms."""
    d, rng = 20, np.random.default_rng(20)
    A = rng.uniform(-1, 1, (d, d)) / d
    A = np.round(A @ A.T * 4, 4) + 1.5 * np.eye(d)
    B, W = np.round(rng.uniform(-1, 1, (d, d)) / d, 3), np.round(rng.uniform(-1, 1, (d, d)) / 4, 3)
    xs, ys = [f"x{i + 1}" for i in range(d)], [f"y{i + 1}" for i in range(d)]
    linear = lambda row, names: " + ".join(f"({float(c)!r})*{n}" for c, n in zip(row, names))
    g = " + ".join(
        [f"{ys[i]}*({linear(A[i], ys)})/2 + {ys[i]}*({linear(B[i], xs)})" for i in range(d)]
        + [f"softplus({linear(W[i], ys)})" for i in range(d)]
    )
    f = " + ".join(f"sin({x}) + {y}**2/4 + {x}*{y}/4" for x, y in zip(xs, ys))
    code = (
        _array("A", A)
        + _array("B", B)
        + _array("W", W)
        + _array("BT", B.T.copy())
        + _array("WT", W.T.copy())
        + """
static void grad_y_g(const double *x, const double *y, double *o) {
    double q[20];
    for (int i = 0; i < 20; i++) { double s = 0; for (int j = 0; j < 20; j++) s += W[20 * i + j] * y[j];
    q[i] = 1 / (1 + exp(-s)); }
    for (int i = 0; i < 20; i++) { double s = 0;
    for (int j = 0; j < 20; j++) s += A[20 * i + j] * y[j] + B[20 * i + j] * x[j] + WT[20 * i + j] * q[j];
    o[i] = s; } }
static void grad_x_g(const double *x, const double *y, double *o) {
    for (int i = 0; i < 20; i++) { double s = 0; for (int j = 0; j < 20; j++) s += BT[20 * i + j] * y[j];
    o[i] = s; } }
static void grad_y_f(const double *x, const double *y, double *o) {
    for (int i = 0; i < 20; i++) o[i] = y[i] / 2 + x[i] / 4; }
static void grad_x_f(const double *x, const double *y, double *o) {
    for (int i = 0; i < 20; i++) o[i] = cos(x[i]) + y[i] / 4; }
"""
    )
    return bv.bilevel(f=f, g=g, x=xs, y=ys), code, 6.0


def letters(ell):
    """Parameters of the loop."""
    lam = 20.0
    root = np.sqrt(ell)
    root_p = np.sqrt(4 * ell)
    q = {"L": 20.0, "H_nu": 0.01, "nu_f": 1.0, "lam": lam, "alpha": 1 / ell, "beta": float((root - 1) / (root + 1))}
    q |= {"alpha_p": 1 / (2 * lam * ell), "beta_p": float((root_p - 1) / (root_p + 1))}
    return q | {"T_0": 100, "T_k": 100, "Tp_0": 100, "Tp_k": 100}


def c_loop(problem, code, q, folder):
    """The C function, or None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    values = (q["lam"], q["alpha"], q["beta"], q["alpha_p"], q["beta_p"], q["L"], q["H_nu"], q["nu_f"])
    source, library = folder / f"loop{problem.dx}.c", folder / f"loop{problem.dx}.so"
    source.write_text(HEADER % (problem.dx, problem.dy, *(float(v) for v in values)) + code + LOOP)
    subprocess.run(
        [compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True
    )
    function = ctypes.CDLL(str(library)).run
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]

    def run(outer):
        x = np.full(problem.dx, 0.5)
        function(x.ctypes.data, outer, 100)
        return x

    return run


def python_loop(problem, q, modules):
    """The same loop as plain Python on lists with ``lambdify`` into ``math`` or ``numpy`` functions."""
    smooth = _for_lambdify(problem)
    arguments = [list(problem.x), list(problem.y)]
    make = lambda e, by: sympy.lambdify(arguments, [sympy.diff(e, s) for s in by], modules=modules)
    f, g = smooth
    gyg, gyf, gxf, gxg = make(g, problem.y), make(f, problem.y), make(f, problem.x), make(g, problem.x)
    lam = q["lam"]

    def agd(slope, z, a, b):
        t = list(z)
        for _ in range(100):
            s = slope(t)
            new = [ti - a * si for ti, si in zip(t, s)]
            t = [n + b * (n - zi) for n, zi in zip(new, z)]
            z = new
        return z

    def run(outer):
        x = [0.5] * problem.dx
        w, y, z, S, k = list(x), [0.0] * problem.dy, [0.0] * problem.dy, 0.0, 0
        for _ in range(outer):
            z = agd(lambda t: gyg(w, t), z, q["alpha"], q["beta"])  # noqa: B023
            y = agd(
                lambda t: [a + lam * b for a, b in zip(gyf(w, t), gyg(w, t))],  # noqa: B023
                y, q["alpha_p"], q["beta_p"],
            )  # fmt: skip
            u = [a + lam * (b - c) for a, b, c in zip(gxf(w, y), gxg(w, y), gxg(w, z))]
            k += 1
            new = [wi - ui / q["L"] for wi, ui in zip(w, u)]
            S += sum((a - b) ** 2 for a, b in zip(new, x))
            w = [a + k / (k + 1) * (a - b) for a, b in zip(new, x)]
            x = new
            if (k + 1) ** 5 * q["H_nu"] ** 2 * S > q["L"] ** 2:
                w, y, z, S, k = list(x), [0.0] * problem.dy, [0.0] * problem.dy, 0.0, 0
        return np.array(x)

    return run


def _for_lambdify(problem):
    """f and g with the project's own atoms written out in elementary functions."""
    plain = {
        "softplus": lambda a: sympy.log(1 + sympy.exp(a)),
        "logsumexp": lambda *a: sympy.log(sum(sympy.exp(v) for v in a)),
    }
    own = lambda e: e.func.__name__.lower() in plain
    return [h.replace(own, lambda e: plain[e.func.__name__.lower()](*e.args)) for h in (problem.f, problem.g)]


def measure(function, outer):
    """Processor seconds of one call and its result (the processor may be shared)."""
    begin = time.process_time()
    result = function(outer)
    return time.process_time() - begin, result


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outer", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"{'problem':8}{'ours ms':>10}{'C ms':>10}{'ours/C':>9}{'lambdify':>10}{'..numpy':>10}   agreement with C")
    with tempfile.TemporaryDirectory() as folder:
        for name, build in (("d=1", p1), ("d=5", p5), ("d=20", p20)):
            problem, code, ell = build()
            q = letters(ell)
            more = {"record": "thin", "compiled": True}
            ours = lambda n: run_method(
                problem, "ragd-gs", q, np.full(problem.dx, 0.5), budget={"iterations": n, "calls": 10**12}, **more  # noqa: B023
            )  # fmt: skip
            first = ours(2)
            assert first.compiled
            assert oracles_of(problem) is oracles_of(problem)
            c = c_loop(problem, code, q, Path(folder))
            slow = {modules: python_loop(problem, q, modules) for modules in ("math", "numpy")}
            few = max(1, args.outer // {1: 60, 5: 150, 20: 1500}[problem.dx])
            times = {"ours": [], "C": [], "math": [], "numpy": []}
            agreement = float("nan")
            for _ in range(args.rounds):
                seconds, result = measure(ours, args.outer)
                times["ours"].append(seconds)
                if c is not None:
                    seconds, x = measure(c, args.outer)
                    times["C"].append(seconds)
                    agreement = float(np.abs(result.trace.x[-1] - x).max())
                for modules, loop in slow.items():
                    times[modules].append(measure(loop, few)[0] * args.outer / few)
            middle = {k: 1e3 * statistics.median(v) if v else float("nan") for k, v in times.items()}
            mine, hand = middle["ours"], middle["C"]
            ratios = "".join(f"{middle[k] / mine:9.0f}x" for k in ("math", "numpy"))
            print(f"{name:8}{mine:10.1f}{hand:10.1f}{mine / hand:9.2f}{ratios}   {agreement:.1e}", flush=True)


if __name__ == "__main__":
    main()
