"""AGM-BiO's loop, its composite form and the conceptual method: against other code, at the edges, on bad input."""

from __future__ import annotations

import numpy as np
import pytest
from methods_simple_bounds import Tally, check
from methods_simple_families import FAMILIES, draw
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.errors import InfeasibleError, MathematicalError, ParameterError, ProblemError
from bilevel_verify.methods import stream

SHARE = 66
"""Random problems a day: 5.5 % of the thorough run."""
ZOO = ("linear-inverse", "weak-sharp", "simplex", "disc", "ball-chord-end", "half-space-vertex", "chain-simple")


def letters(name: str, **more: object) -> dict[str, object]:
    return {"L_f": 1.0, "L_g": 3.0, "K": 40, "gamma": 1.0, **more}


def test_every_bound_on_todays_random_problems() -> None:
    print(f"BILEVEL_VERIFY_SEED={SEED}")
    tally, families = Tally(), set()
    for seed in range(SEED * SHARE, (SEED + 1) * SHARE):
        known = draw(seed)
        families.add(known.family)
        check(known, tally, f"seed {seed}", K=60)
    assert tally.broken == []
    assert len(families) == len(FAMILIES)
    assert sum(tally.checked.values()) > 15_000


def test_a_wrong_bound_is_seen_on_random_problems() -> None:
    tally = Tally()
    for seed in range(24):
        known = draw(seed)
        q = {"L_f": known.L_f, "L_g": known.L_g, "K": 50}
        run = bv.solve(known.problem, "agm-bio", x0=known.x0.tolist(), parameters=q)
        k = np.arange(1, 51, dtype=float)
        gap = known.f(np.asarray(run.trace.x))[1:] - known.f(known.x_star)
        R2 = float(np.sum((known.x0 - known.x_star) ** 2))
        tally.take(f"seed {seed}", "a hundredth of (9)", gap, 0.04 * known.L_f * R2 / (k * (k + 1)), 1.0)
    assert tally.broken


@pytest.mark.parametrize("name", ZOO)
def test_loop_against_numpy_on_an_intersection(name: str) -> None:
    """An intersection of one set runs the NumPy stepper with projections of the truth room."""
    problem = bv.zoo(name)
    same = bv.simple_bilevel(
        f=str(problem.f).replace("pluspow(2, ", "max(0, ") if name != "half-space-vertex" else problem.text["f"],
        g=str(problem.g) if name != "half-space-vertex" else problem.text["g"],
        x=" ".join(s.name for s in problem.x),
        feasible=bv.Intersection([problem.feasible]),
    )
    x0 = list(problem.start or ())
    # cuts at z_k are left out: once z_k solves the lower level their normal is rounding, and either branch is right
    for method in ("agm-bio", "agm-bio-cut-x", "agm-bio:constant-level", "agm-bio:plain-values"):
        a = bv.solve(problem, method, x0=x0, parameters=letters(name, K=12))
        b = bv.solve(same, method, x0=x0, parameters=letters(name, K=12))
        if a.status == b.status == "finished":
            np.testing.assert_allclose(a.trace.x, b.trace.x, atol=2e-7)
            assert dict(a.counts) == dict(b.counts)


@pytest.mark.parametrize("name", ZOO)
def test_many_digits_agree_with_floats(name: str) -> None:
    a = bv.solve(bv.zoo(name), "agm-bio", parameters=letters(name))
    b = bv.solve(bv.zoo(name), "agm-bio", parameters=letters(name), digits=40)
    assert a.status == b.status == "finished"
    np.testing.assert_allclose(a.trace.x, b.trace.x.astype(float), atol=1e-13)


def test_compiled_run_is_the_plain_run() -> None:
    pytest.importorskip("numba")
    problem = bv.zoo("linear-inverse", n=20)
    x0 = np.random.default_rng(0).uniform(0, 1, 20).tolist()
    q = {"L_f": 1, "L_g": 20, "K": 80_000}
    fast = bv.solve(problem, "agm-bio", x0=x0, parameters=q, record="thin")
    slow = bv.solve(problem, "agm-bio", x0=x0, parameters={**q, "K": 400}, compiled=False)
    assert fast.status == "finished"
    np.testing.assert_allclose(fast.trace.x[:300], slow.trace.x[:300], atol=1e-13)
    assert fast.counts["grad_f"] == 80_000
    assert fast.counts["grad_g"] == 160_000


def test_blocks_of_machine_code_are_the_rows_of_one_block() -> None:
    """Block after block in the same memory, longer and shorter ones."""
    pytest.importorskip("numba")
    problem, q = bv.zoo("linear-inverse", n=20), {"L_f": 1.0, "L_g": 20.0, "K": 1500}
    start = np.random.default_rng(0).uniform(0, 1, 20)
    options = {"compiled": True, "budget": 10**9}
    running, rows, outcome = stream(problem, "agm-bio", q, start, **options), [], None
    while outcome is None:
        block, outcome = running.stepper.advance([7, 300, 20][len(rows) % 3])
        rows.append(block.trace())
    whole, end = stream(problem, "agm-bio", q, start, **options).stepper.advance(2000)
    assert end is not None
    assert len(rows) > 10
    for name in ("x", "y", "z"):
        assert np.array_equal(
            np.concatenate([getattr(part, name) for part in rows]), getattr(whole.trace(), name), equal_nan=True
        )


@pytest.mark.parametrize("name", ["weak-sharp", "simplex", "linear-inverse", "ball-chord-inside"])
def test_lemma_a_1_for_any_positive_step_weights(name: str) -> None:
    """(19) and (20) with random a_k, typed here in NumPy."""
    problem = bv.zoo(name)
    truth = bv.truth(problem)
    rng = np.random.default_rng(3)
    L_f, L_g, K = 1.0, 3.0, 40
    a = np.exp(rng.normal(size=K))
    run = bv.solve(problem, "agm-bio", parameters=letters(name, a_k=a.tolist(), K=K))
    o = bv.oracles(problem)
    x, z, level = run.trace.x, run.trace.z, np.asarray(run.trace.g_k).ravel()
    A = np.r_[0.0, np.cumsum(a)]
    star, f_star, g_star = truth.x_star.value, truth.f_star.value, truth.g_star.value
    F = np.array([o.value_f(v) - f_star for v in x])
    G = np.array([o.value_g(v) - g_star for v in x])
    step = np.sum(np.diff(z, axis=0) ** 2, axis=1)
    E = A * F + np.sum((z - star) ** 2, axis=1) / 2
    assert np.all(np.diff(E) <= (L_f * a**2 / (2 * A[1:]) - 0.5) * step + 1e-10 * (1 + A[1:]))
    assert np.all(np.diff(A * G) <= a * (level[:K] - g_star) + L_g * a**2 / (2 * A[1:]) * step + 1e-10 * (1 + A[1:]))


def test_ways_to_make_the_sequence() -> None:
    problem = bv.zoo("ill-conditioned")
    runs = {m: bv.solve(problem, "agm-bio", parameters=letters("", g_k=m)) for m in ("minimum", "values", "constant")}
    minimum, values, constant = (np.asarray(runs[m].trace.g_k).ravel()[:-1] for m in runs)
    assert np.all(minimum[:-1] == np.minimum.accumulate(values[1:]))
    assert np.all(constant == constant[0])
    assert constant[0] <= minimum[-1]
    own = bv.solve(problem, "agm-bio", parameters=letters("", g_k=values.tolist()))
    np.testing.assert_array_equal(own.trace.x, runs["values"].trace.x)
    assert "grad_g" in own.counts
    assert own.counts["grad_g"] == 40


def test_bad_input_is_one_line() -> None:
    problem, base = bv.zoo("ball-chord-end"), letters("")
    cases = [
        (ParameterError, r"gamma .* \(0, 1\]", {"gamma": 1.5}),
        (ParameterError, r"gamma", {"gamma": 0}),
        (ParameterError, r"a_k .* positive", {"a_k": [1.0, -1.0]}),
        (ParameterError, r"a_k has 2 entries", {"a_k": [1.0, 1.0]}),
        (ParameterError, r"g_k.* minimum, values, constant", {"g_k": "smallest"}),
        (InfeasibleError, r"no point in Z, so g_k = -5.0 lies below g\*", {"g_k": -5.0}),
    ]
    for error, text, more in cases:
        with pytest.raises(error, match=text) as caught:
            bv.solve(problem, "agm-bio", parameters={**base, **more})
        assert "\n" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"x0 must lie in the feasible set .*misses it by 1"):
        bv.solve(problem, "agm-bio", x0=[2.0, 0.0], parameters=base)
    with pytest.raises(MathematicalError, match=r"g is not convex on Z: .*at a = .*b = "):
        bv.solve(bv.zoo("nonconvex-lower"), "agm-bio", parameters=base)
    bent = bv.simple_bilevel(f="-(x1 - 1)**2 + x2**2", g="x1**2/2", x="x1 x2", feasible=bv.Ball(radius=1))
    with pytest.raises(MathematicalError, match="f is not convex on Z"):
        bv.solve(bent, "a-irg", x0=[0.0, 0.0], parameters={"gamma0": 0.1, "eta0": 0.1, "K": 5})


def test_values_that_meet_the_minimum_end_in_precision() -> None:
    """g* = 1 > 0 on the whole space: the normal of the cut vanishes while g_k = g* to rounding."""
    problem = bv.simple_bilevel(f="(x1 + x2)**2/2", g="1 + ((x1 - 0.3)**2 + x2**2)/2", x="x1 x2")
    run = bv.solve(problem, "agm-bio", x0=[1.0, 1.0], parameters=letters("", L_f=2, L_g=1, g_k=1.0, K=3000))
    assert run.status in ("precision", "finished")
    moved = np.max(np.abs(np.diff(np.asarray(run.trace.x)[50:], axis=0)), initial=0.0)
    assert moved < 0.1
    exact = bv.solve(problem, "agm-bio", x0=[0.3, 0.0], parameters=letters("", L_f=2, L_g=1, g_k=1.0 - 1e-16, K=50))
    assert exact.status == "precision"
    assert "normal of the cut vanishes" in exact.note
    tangent = bv.zoo("ball-tangent")
    value = float(bv.truth(tangent).g_star.value)
    below = bv.solve(tangent, "agm-bio", parameters=letters("", L_g=2, g_k=float(np.nextafter(value, 0)), K=50))
    assert below.status in ("precision", "finished")
    with pytest.raises(InfeasibleError, match="below"):
        bv.solve(tangent, "agm-bio", parameters=letters("", L_g=2, g_k=value - 1e-3, K=50))


def test_composite_step_against_cvxpy() -> None:
    import cvxpy as cp

    from bilevel_verify.methods.simple.composite import Cut

    rng = np.random.default_rng(1)
    for case in range(30):
        n = 4
        v, p, c, q = 2 * rng.normal(size=n), rng.uniform(0, 1, n), rng.normal(size=n), rng.uniform(0, 1, n)
        low, high = (np.full(n, -np.inf), np.full(n, np.inf)) if case % 2 else (np.zeros(n), np.full(n, 2.0))
        inside = np.clip(rng.normal(size=n), low, high)
        b = float(c @ inside + q @ np.abs(inside)) + 0.1
        found = Cut(v, p, c, q, b, low, high).solve(0, 0.0)
        z = cp.Variable(n)
        limits = [] if case % 2 else [z >= low, z <= high]
        goal = cp.sum_squares(z - v) / 2 + p @ cp.abs(z)
        cp.Problem(cp.Minimize(goal), [c @ z + q @ cp.abs(z) <= b, *limits]).solve(solver="CLARABEL")
        np.testing.assert_allclose(found, z.value, atol=2e-4)
        assert c @ found + q @ np.abs(found) <= b + 1e-12
        assert np.sum((found - v) ** 2) / 2 + p @ np.abs(found) <= goal.value + 1e-6


def composite_problem() -> bv.Problem:
    return bv.simple_bilevel(
        f="((x1 - 1)**2 + x2**2 + (x3 + 1)**2)/2 + abs(x1)/10 + abs(x2)/5 + abs(x3)/20",
        g="(x1 + x2 - x3/2 - 1)**2/2 + (abs(x1) + abs(x2) + abs(x3))/4",
        x="x1 x2 x3",
        feasible=bv.WholeSpace(),
        name="composite",
    )


def test_composite_truth_and_run() -> None:
    import cvxpy as cp

    problem = composite_problem()
    z = cp.Variable(3)
    lower = cp.Problem(cp.Minimize(cp.square(z[0] + z[1] - z[2] / 2 - 1) / 2 + cp.norm1(z) / 4))
    lower.solve(solver="CLARABEL")
    truth = bv.truth(problem)
    assert abs(float(truth.g_star.value) - lower.value) < 1e-7
    run = bv.solve(problem, "p-agm-bio", x0=[1.0, 1.0, 1.0], parameters={"L_f": 1, "L_g": 2.25, "K": 2000})
    assert run.status == "finished"
    np.testing.assert_allclose(run.x, truth.x_star.value, atol=2e-2)
    smooth = bv.zoo("linear-inverse")
    same = {"L_f": 1, "L_g": 3, "K": 60}
    np.testing.assert_allclose(
        bv.solve(smooth, "p-agm-bio", parameters=same).trace.x, bv.solve(smooth, "agm-bio", parameters=same).trace.x,
        atol=1e-12,
    )  # fmt: skip
    with pytest.raises(ParameterError, match="whole space, the orthant or a box"):
        bv.solve(bv.zoo("disc"), "p-agm-bio", parameters=same)
    negative = bv.simple_bilevel(f="x1**2 - abs(x1)", g="x1**2", x="x1", feasible=bv.WholeSpace())
    with pytest.raises((MathematicalError, ProblemError), match="not convex"):
        bv.solve(negative, "p-agm-bio", x0=[1.0], parameters=same)


@pytest.mark.parametrize("name", ["linear-inverse", "ball-chord-end", "weak-sharp", "simplex"])
def test_conceptual_method_keeps_its_rate(name: str) -> None:
    problem = bv.zoo(name)
    truth = bv.truth(problem)
    run = bv.solve(problem, "agm-conceptual", parameters={"L_f": 1.0, "K": 25})
    o = bv.oracles(problem)
    R2 = float(np.sum((run.trace.x[0] - truth.x_star.value) ** 2))
    for k in range(1, 26):
        assert o.value_g(run.trace.x[k]) - float(truth.g_star.value) <= 1e-12
        assert o.value_f(run.trace.x[k]) - float(truth.f_star.value) <= 4 * R2 / (k * (k + 1)) + 1e-10


def test_half_space_ablation_keeps_the_solutions_in_the_cut() -> None:
    problem = bv.zoo("ill-conditioned")
    star = bv.truth(problem).x_star.value
    o = bv.oracles(problem)
    for method, place in (("agm-bio", "y"), ("agm-bio-cut-x", "x"), ("agm-bio-cut-z", "z")):
        run = bv.solve(problem, method, parameters=letters("", L_g=1))
        at, level = run.trace.sequences[place], np.asarray(run.trace.g_k).ravel()
        for k in range(40):
            assert o.value_g(at[k]) + o.grad_g(at[k])[0] @ (star - at[k]) <= level[k] + 1e-12


@pytest.mark.parametrize("levels", ["minimum", "values", "constant", 0.0])
@pytest.mark.parametrize(
    "feasible", [bv.Ball(radius=1), bv.Intersection((bv.Ball(radius=1), bv.Box([-1, -1], [1, 1])))]
)
def test_no_budget_is_exceeded_and_no_row_moves_nothing(feasible: object, levels: object) -> None:
    problem = bv.simple_bilevel(f="(x1-2)**2/2 + x2**2/2", g="x1**2/2", x="x1 x2", feasible=feasible)  # type: ignore[arg-type]
    letters = {"K": 5, "L_g": 1.0, "L_f": 1.0, "g_k": levels}
    for budget in range(1, 28):
        run = bv.solve(problem, "agm-bio", x0=[0.5, 0.1], budget=budget, parameters=letters)
        assert sum(run.counts.values()) <= budget
        assert len(run.trace.x) == run.iterations + 1
        assert run.status == ("finished" if run.iterations == 5 else "budget")
