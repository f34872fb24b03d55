"""The problems of the benchmarks: one, five and twenty variables, dense ones of any size, and data.

Each of the first three comes with its gradients in hand-written C and with its two functions on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.problems import bilevel
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from types import ModuleType

FloatArray = NDArray[np.float64]
Functions = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A problem in three languages.

    Attributes
    ----------
    code : C functions ``grad_y_g grad_x_g grad_y_f grad_x_f (x, y, out)``.
    vectorised : ``vectorised(jnp, logsumexp, softplus) -> (f, g)`` on arrays, as one would write them by hand.
    curvature : a bound of the lower-level curvature, for the step sizes.
    """

    name: str
    problem: Problem
    code: str
    vectorised: Callable[[Any, Any, Any], Functions]
    curvature: float


def letters(case: Case) -> dict[str, float]:
    """Parameters of the penalty method with 100 + 100 inner steps."""
    lam, ell = 20.0, case.curvature
    root, root_p = float(np.sqrt(ell)), float(np.sqrt(4 * ell))
    found: dict[str, Any] = {"L": 20.0, "H_nu": 0.01, "nu_f": 1.0, "lam": lam}
    found |= {"alpha": 1 / ell, "beta": (root - 1) / (root + 1)}
    found |= {"alpha_p": 1 / (2 * lam * ell), "beta_p": (root_p - 1) / (root_p + 1)}
    return found | {"T_0": 100, "T_k": 100, "Tp_0": 100, "Tp_k": 100}


def cases() -> tuple[Case, Case, Case]:
    """d = 1, 5 and 20 (each block)."""
    return _one(), _five(), _twenty()


def _one() -> Case:
    f, g = "sin(x1) + y1**2/2 + cos(x1 - y1)", "y1**2 + y1**4/12 + 3*sin(x1*y1)/10 - cos(x1)*y1"
    code = """
static void grad_y_g(const double *x, const double *y, double *o) {
    o[0] = 2 * y[0] + y[0] * y[0] * y[0] / 3 + 0.3 * x[0] * cos(x[0] * y[0]) - cos(x[0]); }
static void grad_x_g(const double *x, const double *y, double *o) {
    o[0] = 0.3 * y[0] * cos(x[0] * y[0]) + sin(x[0]) * y[0]; }
static void grad_y_f(const double *x, const double *y, double *o) { o[0] = y[0] + sin(x[0] - y[0]); }
static void grad_x_f(const double *x, const double *y, double *o) { o[0] = cos(x[0]) - sin(x[0] - y[0]); }
"""

    def vectorised(m: ModuleType, logsumexp: Any, softplus: Any) -> Functions:
        return (
            lambda x, y: m.sum(m.sin(x) + y * y / 2 + m.cos(x - y)),
            lambda x, y: m.sum(y * y + y * y * y * y / 12 + 0.3 * m.sin(x * y) - m.cos(x) * y),
        )

    return Case("d = 1", bilevel(f=f, g=g, x="x1", y="y1"), code, vectorised, 3.0)


def _five() -> Case:
    """Separable quartic + logsumexp(M y + x) - x.y/2."""
    d, M = 5, np.round(np.random.default_rng(5).uniform(-1, 1, (5, 5)), 3)
    xs, ys = _names(d)
    forms = [f"{linear(M[i], ys)} + {xs[i]}" for i in range(d)]
    g = " + ".join(f"{y}**2 + {y}**4/12 - {x}*{y}/2" for x, y in zip(xs, ys)) + f" + logsumexp({', '.join(forms)})"
    f = " + ".join(f"sin({x}) + {y}**2/4 + cos({x} - {y})/2" for x, y in zip(xs, ys))
    code = (
        c_array("M", M)
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

    def vectorised(m: ModuleType, logsumexp: Any, softplus: Any) -> Functions:
        matrix = m.asarray(M)
        return (
            lambda x, y: m.sum(m.sin(x) + y * y / 4 + m.cos(x - y) / 2),
            lambda x, y: m.sum(y * y + y * y * y * y / 12 - x * y / 2) + logsumexp(matrix @ y + x),
        )

    return Case("d = 5", bilevel(f=f, g=g, x=xs, y=ys), code, vectorised, 12.0)


def _twenty() -> Case:
    """Dense quadratic + 20 dense softplus terms."""
    d, rng = 20, np.random.default_rng(20)
    A = rng.uniform(-1, 1, (d, d)) / d
    A = np.round(A @ A.T * 4, 4) + 1.5 * np.eye(d)
    B, W = np.round(rng.uniform(-1, 1, (d, d)) / d, 3), np.round(rng.uniform(-1, 1, (d, d)) / 4, 3)
    xs, ys = _names(d)
    terms = [f"{ys[i]}*({linear(A[i], ys)})/2 + {ys[i]}*({linear(B[i], xs)})" for i in range(d)]
    g = " + ".join([*terms, *(f"softplus({linear(W[i], ys)})" for i in range(d))])
    f = " + ".join(f"sin({x}) + {y}**2/4 + {x}*{y}/4" for x, y in zip(xs, ys))
    arrays = {"A": A, "B": B, "W": W, "BT": B.T.copy(), "WT": W.T.copy()}
    code = (
        "".join(c_array(name, values) for name, values in arrays.items())
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

    def vectorised(m: ModuleType, logsumexp: Any, softplus: Any) -> Functions:
        a, b, w = m.asarray(A), m.asarray(B), m.asarray(W)
        return (
            lambda x, y: m.sum(m.sin(x) + y * y / 4 + x * y / 4),
            lambda x, y: y @ (a @ y) / 2 + y @ (b @ x) + m.sum(softplus(w @ y)),
        )

    return Case("d = 20", bilevel(f=f, g=g, x=xs, y=ys), code, vectorised, 6.0)


def dense(d: int) -> Problem:
    """Dense quadratic and d dense softplus terms, built from expressions (no text is parsed)."""
    from bilevel_verify.atoms import softplus

    rng = np.random.default_rng(0)
    root = rng.integers(-5, 6, (d, d))
    h, w = root @ root.T + 10 * np.eye(d, dtype=int), rng.integers(-5, 6, (d, d))
    x, y = sympy.symbols(f"x1:{d + 1}", real=True), sympy.symbols(f"y1:{d + 1}", real=True)
    tenth = sympy.Rational(1, 10)
    square = sympy.Add(*[tenth * int(h[i, j]) * y[i] * y[j] / 2 for i in range(d) for j in range(d)])
    rows = [sympy.Add(*[tenth * int(w[k, j]) * y[j] for j in range(d)]) + x[k] for k in range(d)]
    g = square / d + sympy.Add(*[softplus(r) for r in rows])
    f = sympy.Add(*[v**2 for v in y]) / 2 + sympy.sin(x[0])
    return Problem("bilevel", f, x, g, y)


def dense_text(d: int) -> tuple[str, list[str], list[str]]:
    """The text of a dense quadratic and d dense ``log(1 + exp)`` as a user types it (2 d^2 + d terms); x and y."""
    rng = np.random.default_rng(0)
    xs, ys = _names(d)
    root, w = rng.integers(-5, 6, (d, d)), rng.integers(-5, 6, (d, d)) / 10
    h = (root @ root.T + 10 * np.eye(d, dtype=int)) / (10 * d)
    square = [f"{float(h[i, j])!r}*{ys[i]}*{ys[j]}/2" for i in range(d) for j in range(d)]
    terms = [f"log(1 + exp({' + '.join(f'{float(c)!r}*{y}' for c, y in zip(w[k], ys))} + {xs[k]}))" for k in range(d)]
    return " + ".join([*square, *terms]), xs, ys


def bounded(d: int) -> Problem:
    """The dense lower level under an upper level with bounded derivatives, x in a cube: every constant is finite."""
    g, xs, ys = dense_text(d)
    f = " + ".join(f"cos({x}) + sin({x} - {y})/2" for x, y in zip(xs, ys))
    return bilevel(f=f, g=g, x=xs, y=ys, domain=dict.fromkeys(xs, (-1, 1)))


def logistic(
    samples: int, features: int = 100, domain: dict[str, tuple[float, float]] | None = None
) -> tuple[Problem, FloatArray, FloatArray]:
    """Logistic loss over data with a learned regulariser; the data."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((samples, features)), np.sign(rng.standard_normal(samples))
    g = f"mean(softplus(-b[i]*dot(A[i], y)), (i, 0, {samples - 1})) + exp(x1)*dot(y, y)/2"
    names = [f"y{k}" for k in range(1, features + 1)]
    return bilevel(f="dot(y, y)/2", g=g, x="x1", y=names, data={"A": a, "b": b}, domain=domain), a, b


def linear(row: Any, names: list[str]) -> str:
    """A linear form as text."""
    return " + ".join(f"({float(c)!r})*{n}" for c, n in zip(row, names))


def c_array(name: str, values: FloatArray) -> str:
    """A constant array in C."""
    numbers = ", ".join(repr(float(v)) for v in values.ravel())
    return f"static const double {name}[{values.size}] = {{{numbers}}};\n"


def _names(d: int) -> tuple[list[str], list[str]]:
    return [f"x{i + 1}" for i in range(d)], [f"y{i + 1}" for i in range(d)]
