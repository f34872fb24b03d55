"""The disciplined fragment term by term, conic witnesses, and solvers that fail: said, never papered over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.truth.witness.cvxpy_bridge import solve_convex
from bilevel_verify.truth.witness.disciplined import NotRepresentable

E = float(np.e)
FRAGMENT: list[tuple[str, float, float, float]] = [
    ("2*x1 - 3*x2 + 1", -1, 1, -4.0),
    ("(x1-x2)**2 + x1", -1, 1, -1.0),
    ("exp(x1+x2)", -1, 1, np.exp(-2)),
    ("exp(x1)*exp(x2)", -1, 1, np.exp(-2)),
    ("-log(x1)", 0.1, 1, 0.0),
    ("-log(x1*x2)", 0.1, 1, 0.0),
    ("log(1+exp(x1))", -1, 1, np.log1p(np.exp(-1))),
    ("log(exp(x1)+exp(2*x2)+3)", -1, 1, np.log(np.exp(-1) + np.exp(-2) + 3)),
    ("logsumexp(x1,x2,0)", -1, 1, np.log(2 * np.exp(-1) + 1)),
    ("sqrt((x1-1)**2+4*(x2+1)**2)", -1, 1, 0.0),
    ("sqrt(4+x1**2)", -1, 1, 2.0),
    ("abs(x1-2)+abs(x2)", -1, 1, 1.0),
    ("max(abs(x1), abs(x2-2))", -1, 1, 1.0),
    ("max(x1, x2, 1/2)", -1, 1, 0.5),
    ("max(x1**2, x2+1, exp(x1))", -1, 1, np.exp(-2 * 0.35173371124919584)),
    ("-min(x1, x2)", -1, 1, -1.0),
    ("(x1+x2)**4 + abs(x1-1)**3", -1, 1, 0.0),
    ("abs(x1-2)**Rational(5,2)", -1, 1, 1.0),
    ("(x1+1)**3", 0, 1, 1.0),
    ("(x1**2+x2**2+1)**2", -1, 1, 1.0),
    ("1/x1 + 1/(x1+x2)", 0.1, 1, 1.5),
    ("x1*log(x1)", 0.1, 1, -1 / E),
    ("2*x1*log(2*x1) + x2*log(x2)", 0.1, 1, -2 / E),
    ("x1*log(x1/x2)", 0.1, 1, -1 / E),
    ("(x1+1)**2/(2*x2)", 0.1, 1, 0.605),
    ("-sqrt(x1*x2)", 0.1, 1, -1.0),
    ("-sqrt(x1)", 0, 1, -1.0),
    ("cosh(x1-1)", -1, 1, 1.0),
    ("logcosh(x1-1)", -1, 1, 0.0),
    ("huber(1, x1-3)", -1, 1, 1.5),
    ("max(0, x1+3/2)**2", -1, 1, 0.25),
]


@pytest.mark.parametrize(("text", "low", "high", "value"), FRAGMENT, ids=[f[0] for f in FRAGMENT])
def test_fragment(text: str, low: float, high: float, value: float) -> None:
    p = bv.single_level(f=text, x="x1 x2")
    answer = solve_convex(p.f, p.x, bv.Box((low, low), (high, high)))
    assert answer.value == pytest.approx(value, abs=2e-7)
    assert answer.dual <= answer.value + 1e-7
    assert answer.gap < 1e-6
    assert answer.solver.startswith("Clarabel")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x1**3", "x1\\*\\*3 is convex only where its base is >= 0"),
        ("1/x1", "1/x1 is convex only where"),
        ("x1**(-2)", "is convex only where"),
        ("x2**2/x1", "is convex only where"),
        ("exp(-x1*x2)", "product x1\\*x2"),
        ("x1**2*x2**2", "product"),
        ("log(1+x1**2)", "quasiconvex"),
        ("x1**2 - x2**2", "negative pivot"),
        ("tanh(x1)", "tanh.*no counterpart"),
    ],
)
def test_what_is_not_representable_is_named_with_the_reason(text: str, says: str) -> None:
    p = bv.single_level(f=text, x="x1 x2")
    with pytest.raises(NotRepresentable, match=says):
        solve_convex(p.f, p.x, bv.Box((-1, -1), (1, 1)))


def test_lower_level_value_with_gap() -> None:
    t = bv.truth(bv.bilevel(f="y1", g="y1**2 + softplus(y1)/2 - x1*y1", x="x1", y="y1"))
    for x in (-2.0, 1.0):
        answer, ours = t.conic_g([x]), t.g_min([x])
        assert abs(answer.value - float(ours.value)) <= answer.gap + 1e-9
        assert answer.gap < 1e-8
    with pytest.raises(NotRepresentable, match="not explicit"):
        t.conic_f()


def test_simple_bilevel_values_with_gap() -> None:
    t = bv.truth(bv.simple_bilevel(f="(x1-2)**2/2 + x2**2/2", g="(x1+x2-1)**2/2", x="x1 x2", feasible=bv.Ball(1)))
    assert t.conic_f().value == pytest.approx(0.5, abs=1e-7)
    assert t.conic_g().value == pytest.approx(0.0, abs=1e-7)
    assert max(t.conic_f().gap, t.conic_g().gap) < 1e-7


def test_convex_upper_level_in_many_dimensions_is_certified() -> None:
    d = 12
    f = "+".join(
        f"softplus(x{i + 1}-x{(i + 1) % d + 1})+(x{i + 1}-{i}/7)**2/2+cosh(x{i + 1}+x{(i + 3) % d + 1}/3)"
        for i in range(d)
    )
    names = " ".join(f"x{i + 1}" for i in range(d))
    t = bv.truth(bv.single_level(f=f, x=names, domain={f"x{i + 1}": (-1, "1/2") for i in range(d)}))
    least, conic = t.phi_min(), t.conic_f()
    assert (least.certainty, least.attained) == ("certified", True)
    assert least.error < 1e-12
    assert abs(conic.value - float(least.value)) < 1e-6
    assert conic.dual <= least.upper + 1e-7


def test_logsumexp_is_convex_by_the_rules_and_certified_by_its_optimality_conditions() -> None:
    t = bv.truth(bv.single_level(f="logsumexp(x1+x2, x2-2*x3, x3, -x1-x2) + x2**2 + (x1-x3)**2/3", x="x1 x2 x3"))
    least = t.phi_min()
    assert least.certainty == "certified"
    assert "disciplined" in least.method
    assert abs(float(least.value) - t.conic_f().value) < 1e-7


def test_kinks_have_the_dual_bound() -> None:
    t = bv.truth(bv.single_level(f="max(x1+x2, x3-x1) + abs(x2-x3) + sqrt(1+x1**2+x3**2) + x2**2/2", x="x1 x2 x3"))
    least = t.phi_min()
    assert least.certainty == "computed"
    assert "dual bound" in least.method
    assert least.error < 1e-7


def test_bilevel_in_six_dimensions() -> None:
    d = 6
    A = np.random.default_rng(0).integers(-3, 4, size=(d, d))
    rows = ["+".join(f"({a})*y{j + 1}" for j, a in enumerate(row)) for row in A]
    f = "+".join(f"({row}-1)**2" for row in rows) + "+" + "+".join(f"x{i + 1}**2/2" for i in range(d))
    g = "+".join(f"y{i + 1}**2-x{i + 1}*y{i + 1}" for i in range(d)) + "+(y1+y2+y3)**2/4+(y4-y5-y6)**2"
    names = [" ".join(f"{v}{i + 1}" for i in range(d)) for v in "xy"]
    t = bv.truth(bv.bilevel(f=f, g=g, x=names[0], y=names[1]))
    least = t.phi_min()
    H = np.eye(d) * 2.0
    H[:3, :3] += 0.5
    v = np.array([1.0, -1, -1])
    H[3:, 3:] += 2 * np.outer(v, v)
    M = A @ np.linalg.inv(H)
    x = np.linalg.solve(2 * M.T @ M + np.eye(d), 2 * M.T @ np.ones(d))
    exact = float(np.sum((M @ x - 1) ** 2) + x @ x / 2)
    assert abs(float(least.value) - exact) < 1e-12
    assert least.certainty == "certified"
    assert t.conic_f().value == pytest.approx(exact, abs=1e-7)


def test_independent_blocks_and_sums_of_terms() -> None:
    d = 6
    names = " ".join(f"x{i + 1}" for i in range(d))
    box = {f"x{i + 1}": (-5, 5) for i in range(d)}
    waves = bv.truth(
        bv.single_level(f="+".join(f"cos(3*x{i + 1})+x{i + 1}**2/10" for i in range(d)), x=names, domain=box)
    )
    one = bv.truth(bv.single_level(f="cos(3*x1)+x1**2/10", x="x1", domain={"x1": (-5, 5)}))
    least = waves.phi_min()
    assert abs(float(least.value) - d * float(one.phi_min().value)) <= least.error + d * one.phi_min().error + 1e-14
    assert "6 independent blocks" in least.method
    assert least.certainty == "certified"
    assert least.error < 1e-9


def _with_status(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    import cvxpy

    true = cvxpy.Problem.unpack_results

    def spoiled(self: Any, *args: Any) -> None:
        true(self, *args)
        self._status = status

    monkeypatch.setattr(cvxpy.Problem, "unpack_results", spoiled)


@pytest.mark.parametrize("status", ["optimal_inaccurate", "solver_error", "user_limit", "infeasible_inaccurate"])
def test_any_status_but_optimal_is_an_error_that_says_what_is_known(
    monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    p = bv.single_level(f="(x1-1)**2 + exp(x2) - x2", x="x1 x2")
    _with_status(monkeypatch, status)
    with pytest.raises(bv.SolverFailure, match=f"{status}.*best value seen 1"):
        solve_convex(p.f, p.x)
    with pytest.raises(bv.SolverFailure, match=status):
        bv.truth(p).conic_f()


def test_a_solver_that_breaks_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy

    def broken(self: Any, *args: Any, **more: Any) -> None:
        raise cvxpy.error.SolverError("numerical trouble")

    p = bv.single_level(f="max(x1, -x1) + abs(x1 + x2) + x2**2", x="x1 x2", domain={"x1": (-1, 2), "x2": (-1, 2)})
    monkeypatch.setattr(cvxpy.Problem, "get_problem_data", broken)
    with pytest.raises(bv.SolverFailure, match="numerical trouble"):
        bv.truth(p).conic_f()
    least = bv.truth(p).phi_min()  # the search over boxes answers, and says that the solver failed
    assert "numerical trouble" in least.method
    assert least.lower <= 0 <= least.upper + 1e-12


def test_control_a_wrong_domain_would_be_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.truth.witness import cvxpy_bridge

    p = bv.single_level(f="x1**3", x="x1")
    monkeypatch.setattr(cvxpy_bridge, "_check_domains", lambda *_: None)
    assert solve_convex(p.f, p.x, bv.Box((-1,), (1,))).value > -0.5, "CVXPY alone cuts x**3 off at 0"
