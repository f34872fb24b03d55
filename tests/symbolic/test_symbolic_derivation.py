"""Derived quantities against closed forms, 50-digit finite differences and naive transcriptions of the formulas."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import SEED

from bilevel_verify.atoms import evaluator, lambdify_modules
from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.problems import bilevel, minimax, simple_bilevel, single_level, zoo
from bilevel_verify.symbolic import Derivation, derive
from bilevel_verify.symbolic.derivation_calculus import differentiate, jump
from bilevel_verify.symbolic.derivation_printing import text
from bilevel_verify.symbolic.derivatives import inverse

DIGITS = 50
mp = mpmath.mp

IMPLICIT = {
    "1+1": {"f": "sin(x1) + y1**2/2 + cos(x1 - y1)", "g": "y1**2 + cos(y1)/2 - x1*y1", "x": "x1", "y": "y1"},
    "2+3": {
        "f": "cos(x1 + y1) + softplus(x2 - y3)/2 + tanh(x1 - 2*x2)*y2",
        "g": "(3*y1**2 + 2*y1*y2 + 3*y2**2 + 2*y2*y3 + 4*y3**2)/2 - x1*y1 - x2*y2 + (x1 - x2)*y3"
        " + cos(x1 + y1 - y2)/5 + log(1 + exp(y2 + y3 - x1))",
        "x": "x1 x2",
        "y": "y1 y2 y3",
    },
    "3+1": {
        "f": "x1*y1 + sin(x2*x3) + y1**3/9",
        "g": "(2 + sin(x1*x3))*y1**2 + exp(y1 - x2)/4 - x3*y1",
        "x": "x1 x2 x3",
        "y": "y1",
    },
    "1+3": {
        "f": "logsumexp(y1, 2*y2, y3*x1)",
        "g": "exp(x1/3)*(y1**2 + y2**2 + y3**2)/2 + logcosh(y1 + y2 - x1) + psi(1/2, y3 + x1)/5 - x1*y2",
        "x": "x1",
        "y": "y1 y2 y3",
    },
}


def numbers(symbols, values):
    return {s: sympy.Float(v, DIGITS + 10) for s, v in zip(symbols, values)}


def minimiser(function, x, xs, y, start):
    """Newton in many digits on ``grad_y function(x, .)``."""
    gradient = [function.diff(s) for s in y]
    hessian = [[e.diff(s) for s in y] for e in gradient]
    f = sympy.lambdify([*x, *y], gradient, modules=[*lambdas(), "mpmath"])
    h = sympy.lambdify([*x, *y], hessian, modules=[*lambdas(), "mpmath"])
    point = [mp.mpf(v) for v in start]
    for _ in range(80):
        g = mp.matrix(f(*xs, *point))
        step = mp.lu_solve(mp.matrix(h(*xs, *point)), g)
        size = mp.norm(step)
        step = step / size if size > 1 else step
        point = [p - s for p, s in zip(point, step)]
        if size < mp.mpf(10) ** -(DIGITS - 3):
            break
    return point


def lambdas():
    return lambdify_modules("mpmath")[:1]


def difference_gradient(function, xs, step="1e-14"):
    h = mp.mpf(step)
    result = []
    for i in range(len(xs)):
        up, down = list(xs), list(xs)
        up[i] += h
        down[i] -= h
        result.append((function(up) - function(down)) / (2 * h))
    return result


@pytest.mark.parametrize("name", IMPLICIT)
def test_hypergradient_and_hyper_hessian_by_differences(name):
    problem = bilevel(**IMPLICIT[name])
    derivation = derive(problem)
    generator = np.random.default_rng([SEED, len(name)])
    f = sympy.lambdify(problem.variables, problem.f, modules=[*lambdas(), "mpmath"])
    with mpmath.workdps(DIGITS):
        xs = [mp.mpf(int(v)) / 100 for v in generator.integers(-150, 150, problem.dx)]

        def phi(point):
            return f(*point, *minimiser(problem.g, problem.x, point, problem.y, [0] * problem.dy))

        y = minimiser(problem.g, problem.x, xs, problem.y, [0] * problem.dy)
        gradient = derivation.evaluate("hypergradient", xs, y, digits=DIGITS)
        want = difference_gradient(phi, xs)
        assert max(abs(a - b) for a, b in zip(gradient, want)) < mp.mpf(10) ** -24, f"seed {SEED}"
        hessian = derivation.evaluate("hyper_hessian", xs, y, digits=DIGITS)

        def hypergradient(point):
            return mp.matrix(
                derivation.evaluate(
                    "hypergradient",
                    point,
                    minimiser(problem.g, problem.x, point, problem.y, [0] * problem.dy),
                    digits=DIGITS,
                )
            )

        columns = difference_gradient(hypergradient, xs, "1e-12")
        for j, column in enumerate(columns):
            for i in range(problem.dx):
                assert abs(hessian[i, j] - column[i]) < mp.mpf(10) ** -20, f"seed {SEED}"
        step = derivation.evaluate("grad_y_star", xs, y, digits=DIGITS)
        moved = difference_gradient(
            lambda point: mp.matrix(minimiser(problem.g, problem.x, point, problem.y, [0] * problem.dy)), xs, "1e-12"
        )
        assert (step.rows, step.cols) == (problem.dx, problem.dy)
        for i in range(problem.dx):
            assert max(abs(step[i, k] - moved[i][k]) for k in range(problem.dy)) < mp.mpf(10) ** -20


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("lam", ["3", "40"])
def test_penalty_function_by_differences(name, lam):
    problem = bilevel(**IMPLICIT[name])
    derivation = derive(problem)
    generator = np.random.default_rng([SEED, 7, len(name)])
    with mpmath.workdps(DIGITS):
        weight = mp.mpf(lam)
        inner = problem.f + sympy.Integer(lam) * problem.g
        both = sympy.lambdify(problem.variables, [problem.f, problem.g], modules=[*lambdas(), "mpmath"])
        xs = [mp.mpf(int(v)) / 100 for v in generator.integers(-100, 100, problem.dx)]

        def solutions(point):
            w = minimiser(problem.g, problem.x, point, problem.y, [0] * problem.dy)
            return minimiser(inner, problem.x, point, problem.y, w), w

        def penalty(point):
            y, w = solutions(point)
            f, g = both(*point, *y)
            return f + weight * (g - both(*point, *w)[1])

        y, w = solutions(xs)
        gradient = derivation.evaluate("penalty_gradient", xs, y, w, weight, digits=DIGITS)
        want = difference_gradient(penalty, xs)
        assert max(abs(a - b) for a, b in zip(gradient, want)) < mp.mpf(10) ** -22, f"seed {SEED}"

        def own_gradient(point):
            yy, ww = solutions(point)
            return mp.matrix(derivation.evaluate("penalty_gradient", point, yy, ww, weight, digits=DIGITS))

        hessian = derivation.evaluate("penalty_hessian", xs, y, w, weight, digits=DIGITS)
        for j, column in enumerate(difference_gradient(own_gradient, xs, "1e-12")):
            assert max(abs(hessian[i, j] - column[i]) for i in range(problem.dx)) < mp.mpf(10) ** -18, f"seed {SEED}"


@pytest.mark.parametrize("name", [*IMPLICIT, "quadratic", "toy-a"])
def test_symbolic_and_numeric_values_agree(name):
    problem = bilevel(**IMPLICIT[name]) if name in IMPLICIT else zoo(name)
    derivation = derive(problem)
    generator = np.random.default_rng([SEED, 3, len(name)])
    draw = lambda n: [sympy.Rational(int(v), 100) for v in generator.integers(-150, 150, n)]
    xs, ys, ws, lam = draw(problem.dx), draw(problem.dy), draw(problem.dy), sympy.Rational(7, 2)
    table = {**dict(zip(problem.x, xs)), **dict(zip(problem.y, ys)), **dict(zip(derivation.w, ws)), derivation.lam: lam}
    for quantity in derivation.names:
        value = derivation.quantity(quantity)
        if not isinstance(value, sympy.MatrixBase):
            continue
        with mpmath.workdps(40):
            plain = evaluator(list(value), list(table), "mpmath")(*(mp.mpf(v.p) / v.q for v in table.values()))
            numeric = derivation.evaluate(quantity, xs, ys, ws, lam, digits=40)
            assert max(abs(a - b) for a, b in zip(plain, numeric)) < mp.mpf(10) ** -30, quantity


@pytest.mark.parametrize(
    "name", ["quadratic", "cosh-lower", "cardano", "hoelder-f", "macal-hurter", "displaced-log-well", "smd1"]
)
def test_closed_form_gives_the_same_gradient(name):
    problem = zoo(name)
    derivation = derive(problem)
    if derivation.phi is None:
        assert name == "smd1", "no closed form"  # none is promised for this one
        return
    point = {s: sympy.Rational(k, 17) for s, k in zip(problem.x, (9, -4, 6))}
    direct = sympy.Matrix([derivation.phi.diff(s) for s in problem.x]).subs(point).evalf(30)
    derived = derivation.at_y_star(derivation.hypergradient).subs(point).evalf(30)
    assert max(abs(v) for v in direct - derived) < 1e-25
    second = sympy.hessian(derivation.phi, problem.x).subs(point).evalf(30)
    hessian = derivation.at_y_star(derivation.hyper_hessian).subs(point).evalf(30)
    assert max(abs(v) for v in second - hessian) < 1e-22


def test_minimax_is_danskin_and_schur():
    problem = zoo("quad-minimax")
    derivation = derive(problem)
    assert derivation.hypergradient == sympy.Matrix([problem.f.diff(s) for s in problem.x])
    phi = derivation.phi
    gradient = derivation.at_y_star(derivation.hypergradient)
    assert sympy.simplify(sympy.Matrix([phi.diff(s) for s in problem.x]) - gradient) == sympy.zeros(2, 1)
    assert sympy.simplify(
        sympy.hessian(phi, problem.x) - derivation.at_y_star(derivation.hyper_hessian)
    ) == sympy.zeros(2, 2)
    with pytest.raises(InputError, match="bilevel"):
        _ = derivation.penalty_gradient


def test_minimax_as_bilevel_gives_the_same_derivatives():
    f = "x1*y1 - 2*cosh(y1) + cos(2*x1)"
    left = derive(minimax(f=f, x="x1", y="y1"))
    right = derive(bilevel(f=f, g=f"-({f})", x="x1", y="y1"))
    with mpmath.workdps(40):
        x = mp.mpf("0.7")
        y = mp.asinh(x / 2)
        for name in ("hypergradient", "hyper_hessian", "grad_y_star"):
            assert abs(left.evaluate(name, [x], [y])[0, 0] - right.evaluate(name, [x], [y])[0, 0]) < mp.mpf(10) ** -35


def test_single_level_and_simple():
    derivation = derive(single_level(f="sin(x1)*x2**2", x="x1 x2"))
    assert derivation.hypergradient == derivation.gradient("f")
    assert derivation.hyper_hessian == sympy.hessian(derivation.problem.f, derivation.x)
    with pytest.raises(InputError):
        derivation.block("g_x")
    simple = derive(simple_bilevel(f="x1**2", g="(x1 - 1)**2", x="x1"))
    assert simple.block("g_x")[0] == 2 * simple.x[0] - 2
    with pytest.raises(InputError, match="hyper-objective"):
        _ = simple.hypergradient


def test_block_shapes_and_symmetry():
    derivation = derive(bilevel(**IMPLICIT["2+3"]))
    assert derivation.block("g_xy").shape == (2, 3)
    assert derivation.block("g_yx") == derivation.block("g_xy").T
    assert derivation.block("g_xyy").shape == (2, 3, 3)
    assert derivation.block("g_yxy").shape == (3, 2, 3)
    third, turned = derivation.block("g_xyy"), derivation.block("g_yxy")
    assert all(third[i, j, k] == turned[j, i, k] for i in range(2) for j in range(3) for k in range(3))
    assert derivation.hessian("f").shape == (5, 5)
    for name in ("h_x", "g_", "g_z", "g_xyxyx", "gxy"):
        with pytest.raises(InputError):
            derivation.block(name)


def test_wrong_signs_would_be_seen():
    """Controls: the two classical mistakes differ from the truth by far more than the tolerances above."""
    problem = bilevel(**IMPLICIT["2+3"])
    derivation = derive(problem)
    with mpmath.workdps(DIGITS):
        xs = [mp.mpf("0.3"), mp.mpf("-0.8")]
        y = minimiser(problem.g, problem.x, xs, problem.y, [0] * 3)
        right = derivation.evaluate("hypergradient", xs, y, digits=DIGITS)
        f_x = derivation.evaluate("f_x", xs, y, digits=DIGITS)
        assert mp.norm(2 * f_x - 2 * right) > mp.mpf("1e-3")  # a plus instead of the minus
        g_y = derivation.evaluate("g_y", xs, y, digits=DIGITS)
        assert mp.norm(g_y) < mp.mpf(10) ** -40  # g_y in place of f_y would drop the correction altogether
        assert mp.norm(right - f_x) > mp.mpf("1e-3")


def test_names_of_the_penalty_symbols_are_fresh():
    derivation = derive(bilevel(f="lam + w1*y1", g="y1**2 - w1*y1", x="lam w1", y="y1"))
    assert {s.name for s in (*derivation.w, derivation.lam)}.isdisjoint({"lam", "w1", "y1"})


def test_large_lower_levels_stay_implicit_and_can_be_evaluated():
    derivation = derive(zoo("diabetes-ridge-10"))
    assert not isinstance(derivation.hypergradient, sympy.MatrixBase)
    G, c = derivation.problem.data["G"], derivation.problem.data["c"]
    w = np.linalg.solve(G + np.eye(10), c)
    value = derivation.evaluate("hypergradient", [0] * 10, list(w), digits=20)
    Gv, cv = derivation.problem.data["Gv"], derivation.problem.data["cv"]
    want = -w * np.linalg.solve(G + np.eye(10), Gv @ w - cv)
    assert np.array([float(v) for v in value]) == pytest.approx(want, rel=1e-10)
    assert derivation.latex()
    assert derivation.mathml()


def test_jumps_are_refused_and_joins_are_not():
    x = sympy.Symbol("x1", real=True)
    smooth = single_level(f="Piecewise((x1**3, x1 < 1), (3*x1 - 2, True))", x="x1").f
    once = differentiate(smooth, x)
    twice = differentiate(once, x)
    with pytest.raises(MathematicalError, match="jumps"):
        differentiate(twice, x)
    assert jump(smooth) is None
    assert jump(sympy.Piecewise((x, x < 0), (x + 1, True))) is not None
    y = sympy.Symbol("y1", real=True)
    ring = sympy.Piecewise((x**2 + y**2, x**2 + y**2 < 1), (1, True))
    assert jump(ring) is None
    assert jump(sympy.Piecewise((x**2 + y**2, x**2 + y**2 < 1), (2, True))) is not None
    with pytest.raises(MathematicalError):
        differentiate(sympy.floor(x) * x, x)


def test_chain_gluing_is_smooth_to_all_orders():
    problem = zoo("chain-1", n=2)
    value = problem.f
    for _ in range(4):
        value = differentiate(value, problem.x[0])
    assert value.subs({problem.x[0]: 2, problem.x[1]: 1}).evalf(10).is_finite


def test_inverse_by_blocks():
    a, b, c = sympy.symbols("a b c", positive=True)
    matrix = sympy.Matrix([[a, 0, 1, 0], [0, b, 0, 0], [1, 0, a + b, 0], [0, 0, 0, c]])
    assert sympy.simplify(matrix * inverse(matrix) - sympy.eye(4)) == sympy.zeros(4)


@pytest.mark.parametrize(
    "name", ["quadratic", "w-minimax", "ramp", "weak-sharp", "psi-1-1", "displaced-log-well", "trig-2-3"]
)
def test_printing(name):
    import xml.etree.ElementTree as ElementTree

    derivation = derive(zoo(name))
    text = derivation.latex()
    assert text.startswith("\\begin{align*}")
    assert text.count("{") == text.count("}")
    assert "lam" not in text.replace("\\lambda", "")
    for block in derivation.mathml().split("<p>")[1:]:
        formula = block.split("</p>")[1].strip()
        if formula:
            ElementTree.fromstring(formula)
    assert derivation._repr_latex_() == text
    assert name in repr(derivation)
    assert str(derivation).splitlines()


def test_derive_refuses_what_is_no_problem():
    with pytest.raises(InputError):
        derive("x1**2")
    assert isinstance(derive(zoo("ramp")), Derivation)


@pytest.mark.parametrize(
    ("g", "expected"),
    [
        ("y1**2 - x1*y1", "x1/2"),
        ("exp(y1) - y1*(1 + x1**2)", "log(1 + x1**2)"),
        ("(2 + x1**2)*y1**2/2 - sin(x1)*y1", "sin(x1)/(2 + x1**2)"),
        ("softplus(y1) - sigmoid(x1)*y1", "x1"),
        ("3*cosh(2*y1)/2 - x1*y1", "asinh(x1/3)/2"),
        ("(y1 - x1)**2/2 + abs(y1 - x1)**(7/2)", "x1"),
        ("y1**2 + cos(y1)/2 - x1*y1", None),
        ("y1**2 + exp(y1) - x1*y1", None),
    ],
)
def test_closed_forms_of_the_lower_level(g, expected):
    derivation = derive(bilevel(f="y1", g=g, x="x1", y="y1"))
    if expected is None:
        assert derivation.y_star is None
        assert derivation.phi is None
        return
    want = single_level(f=expected, x="x1").f
    for value in (sympy.Rational(3, 7), sympy.Rational(-5, 3)):
        assert abs((derivation.y_star[0] - want).subs(derivation.x[0], value).evalf(30)) < 1e-25


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_random_quadratics_against_linear_algebra(dx, dy, seed):
    generator = np.random.default_rng(seed)
    A = generator.integers(-3, 4, (dy, dy))
    H, B, c = A @ A.T + np.eye(dy, dtype=int) * 2, generator.integers(-3, 4, (dx, dy)), generator.integers(-3, 4, dy)
    problem = bilevel(
        f="dot(y, y)/2 + dot(c, y)*sum(x)",
        g="dot(y, H @ y)/2 - dot(T(B) @ x, y)",
        x=f"x{{1..{dx}}}",
        y=f"y{{1..{dy}}}",
        data={"H": H, "B": B, "c": c},
    )
    derivation = derive(problem)
    S = B @ np.linalg.inv(H)
    want = S @ S.T + np.outer(np.ones(dx), S @ c) + np.outer(S @ c, np.ones(dx))
    hessian = derivation.hyper_hessian
    assert np.array(hessian.tolist(), dtype=float) == pytest.approx(want, rel=1e-12, abs=1e-12)


def test_the_text_of_an_inverse_that_is_not_computed_does_not_compute_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy's text of a product looks for a sign, for which it inverts: minutes for ten dense rows."""
    n = 10
    lower = " + ".join(f"(1 + exp(x{i}))*y{i}**2/2" for i in range(1, n + 1)) + " + dot(y, A @ y)"
    data = {"A": [[1 / (i + j + 1) for j in range(n)] for i in range(n)]}
    names = {v: " ".join(f"{v}{i}" for i in range(1, n + 1)) for v in "xy"}
    p = bilevel(f="y1**2 + y2*x1", g=lower, data=data, **names)
    monkeypatch.setattr(sympy.Inverse, "doit", lambda *_, **__: pytest.fail("the inverse is computed"))
    d = derive(p)
    for name in ("grad_y_star", "hypergradient"):
        assert "**(-1)" in text(d.quantity(name))


def test_texts_of_sums_and_products_of_matrices() -> None:
    a, b, t = sympy.MatrixSymbol("A", 2, 2), sympy.MatrixSymbol("B", 2, 2), sympy.Symbol("t")
    shown = {a - b * a.inv(): {"A - B*A**(-1)", "-B*A**(-1) + A"}, -a * b: {"-A*B"}, (a + b).inv(): {"(A + B)**(-1)"}}
    shown |= {(t + 1) * a * b.T: {"(t + 1)*A*B.T"}, 2 * a * (a + b): {"2*A*(A + B)"}, -a - b: {"-A - B"}}
    for expression, texts in shown.items():
        assert text(expression) in texts, (text(expression), texts)
    assert text(sympy.Matrix([[1, t]])) == str(sympy.Matrix([[1, t]]))
