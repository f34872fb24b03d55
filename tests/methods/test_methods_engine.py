"""Runs as such: budgets, trouble, thinning, interrupts, blocks, unnamed cells, bad input, exact solutions."""

from __future__ import annotations

import numpy as np
import pytest
from methods_random_problems import SEED, Single, Two
from methods_transcription_li_lin import average_on_the_fly

import bilevel_verify as bv
from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.methods import ESTIMATORS, METHODS, SCHEMES, compose, engine, methods, recorder, run_method, stream
from bilevel_verify.methods.memory import Arithmetic
from bilevel_verify.methods.perturbations import Perturbations
from bilevel_verify.methods.recorder import Block, TraceRecorder

RAGD = {"eta": 0.1, "theta": 0.1, "B": 0.1, "K": 8}
RAHGD = RAGD | {"alpha": 0.4, "beta": 0.1, "T_m1": 5, "T_k": 3, "Tp_0": 2, "Tp_k": 2}


def quadratic():
    return bv.single_level(f="x1**2 + x2**2/2", x="x1 x2", domain={"x1": (-9, 9)})


def bowl():
    return bv.bilevel(f="x1**2 + (y1 - x1)**2 + y2**2", g="(y1 - x1)**2 + y2**2", x="x1", y="y1 y2")


def run(problem, name, parameters, x0=None, **more):
    more.setdefault("compiled", False)
    return run_method(problem, name, parameters, x0, **more)


# ------------------------------------------------------------------------------------------------ the registry


def test_records_are_complete():
    assert [m.name for m in methods()] == list(METHODS)
    for method in METHODS.values():
        assert method.title
        assert method.kinds
        assert method.paper
        assert "x" in method.sequences
        assert len({letter.name for letter in method.letters}) == len(method.letters)
        assert all(reading.reason and reading.taken for reading in method.readings)
        if method.scheme is not None:
            assert method.oracles
            assert method.source or method.name == "gradient-descent"
    assert METHODS["rahgd"].oracles == {"grad_y_g", "grad_f", "hvp_yy_g", "jvp_xy_g"}
    assert "hess_g" not in METHODS["f2ba"].oracles


@pytest.mark.parametrize("estimator", sorted(ESTIMATORS))
@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_every_cell_of_the_table_runs(scheme, estimator):
    cell = compose(scheme, estimator)
    problems = {
        "single_level": quadratic(),
        "bilevel": bowl(),
        "minimax": bv.minimax(f="x1**2 + x1*y1 - y1**2 - y2**2", x="x1", y="y1 y2"),
    }
    given = {"eta": 0.1, "theta": 0.2, "B": 0.3, "K": 6, "B0": 0.5, "c": 2.0, "eps": 0.05, "L": 6.0, "rho": 1.0}
    given |= {"H_nu": 0.5, "nu_f": 1.0, "gamma": 0.1, "s": 0.1, "N": 12, "T_pert": 3, "r": 0.01, "eta_y": 0.3, "D": 3}
    given |= {"alpha": 0.3, "beta": 0.2, "alpha_p": 0.04, "beta_p": 0.3, "lam": 5.0, "tau": 0.04, "c1": 2.0, "N_cg": 1}
    given |= {"T_m1": 3, "T_k": 3, "T_0": 3, "Tp_0": 3, "Tp_k": 3}
    extra = [name for name in ("L", "rho") if scheme.startswith("practical") or scheme == "convex-until-guilty"]
    names = {letter.name for letter in cell.letters}
    letters = (*cell.letters, *(bv_letter(name) for name in ("eps", *extra) if name not in names))
    from dataclasses import replace

    for kind in cell.kinds:
        problem = problems[kind]
        result = run(problem, replace(cell, letters=letters), given, np.full(problem.dx, 0.7), budget=20_000)
        assert result.status in ("finished", "stationary", "budget")
        assert np.isfinite(result.x).all()
        assert result.iterations > 0
        assert sum(result.counts.values()) <= 20_000 + 40 * result.iterations


def bv_letter(name):
    from bilevel_verify.methods import Letter

    return Letter(name)


def test_composed_with_the_named_estimator_is_the_named_method():
    p = Two(np.random.default_rng(SEED), 2, 3)
    cell = compose("restarted-agd", "implicit-agd-cg")
    one = run(p.problem, "rahgd", RAHGD, p.x0)
    two = run(p.problem, cell, RAHGD, p.x0)
    assert one.x.tobytes() == two.x.tobytes()
    assert dict(one.counts) == dict(two.counts)


# ------------------------------------------------------------------------------------------ averages and noise


@pytest.mark.parametrize("K", [1, 2, 3, 7, 10])
def test_average_on_the_fly_is_algorithm_7(K):
    p = Single(np.random.default_rng([SEED, K]), 2)
    result = run(p.problem, "restarted-agd:last-tie", {"eta": 0.3 / p.L, "theta": 0.2, "B": 1e9, "K": K}, p.x0)
    expected = average_on_the_fly(list(result.trace.x), list(result.trace.y), K)
    np.testing.assert_allclose(result.x, expected, rtol=1e-13, atol=1e-15)


def test_ties_go_to_the_smallest_index():
    flat = bv.single_level(f="3*x1", x="x1")
    parameters = {"eta": 0.25, "theta": 1.0, "B": 1e9, "K": 4}  # steps of equal length, without rounding
    first = run(flat, "restarted-agd", parameters, [0.0])
    last = run(flat, "restarted-agd:last-tie", parameters, [0.0])
    assert first.x[0] == pytest.approx(-0.75 * (0 + 1 + 2) / 3)
    assert last.x[0] == pytest.approx(-0.75 * (0 + 1 + 2 + 3) / 4)


def test_perturbations_are_uniform_in_the_ball_and_repeatable():
    draws = np.array(Perturbations(3, 0.5, 7, None, Arithmetic("plain")).next_chunk(4000))
    again = np.array(Perturbations(3, 0.5, 7, None, Arithmetic("plain")).next_chunk(4000))
    assert (draws == again).all()
    radii = np.linalg.norm(draws, axis=1) / 0.5
    assert radii.max() <= 1
    assert abs(np.mean(radii**3) - 0.5) < 0.03
    assert np.abs(draws.mean(0)).max() < 0.02


def test_explicit_noise_is_cycled_beyond_one_chunk():
    noise = [[0.25], [-0.5], [0.125]]
    supply = Perturbations(1, None, 0, noise, Arithmetic("plain"))
    first, second = supply.next_chunk(5), supply.next_chunk(5)
    assert first + second == [noise[i % 3] for i in range(10)]


def test_seeds_decide_the_run():
    p = bv.single_level(f="cos(x1) + cos(x2)", x="x1 x2")
    parameters = {"eta": 0.25, "theta": 0.05, "B": 0.05, "K": 40, "r": 0.01}
    results = [run(p, "restarted-agd-perturbed", parameters, [0.0, 0.3], seed=s) for s in (1, 1, 2)]
    assert results[0].x.tobytes() == results[1].x.tobytes() != results[2].x.tobytes()
    assert results[0].seed == 1


# --------------------------------------------------------------------------------------- budgets and trouble


@pytest.mark.parametrize("budget", [1, 2, 7, 50, 333])
def test_the_budget_is_never_passed(budget):
    p = Two(np.random.default_rng(SEED), 2, 3)
    result = run(p.problem, "rahgd", {**RAHGD, "B": 1e-9}, p.x0, budget=budget)
    assert result.status == "budget"
    assert sum(result.counts.values()) <= budget
    assert "stopped at t" in result.note


def test_iterations_can_be_limited():
    result = run(quadratic(), "gradient-descent", {"eta": 1e-6}, [1.0, 1.0], budget={"iterations": 25})
    assert (result.status, result.iterations) == ("budget", 25)
    assert result.trace.k[-1] == 25
    assert (result.x == result.trace.x[-1]).all()


def test_divergence_stops_where_it_happens():
    result = run(quadratic(), "gradient-descent", {"eta": 50.0, "N": 10_000}, [1.0, 1.0])
    assert result.status == "diverged"
    assert np.isfinite(result.x).all()
    last = result.trace.x[-1]
    assert np.linalg.norm(last) > 1e100
    assert int(result.trace.k[-1]) == result.iterations < 100


def test_not_finite_stops_where_it_happens():
    p = bv.single_level(f="log(x1)", x="x1")
    result = run(p, "gradient-descent", {"eta": 10.0, "N": 10_000}, [1.0])
    assert result.status in ("finished", "not finite", "diverged")
    p = bv.single_level(f="x1**(7/2)", x="x1")
    result = run(p, "gradient-descent", {"eta": 10.0, "N": 100}, [1.0])
    assert result.status == "not finite"
    assert np.isfinite(result.x).all()
    assert not np.isfinite(result.trace.x[-1]).all()


def test_a_loop_that_cannot_end_meets_its_budget():
    """Practical restarts with an L far too small: invalid epochs repeat for ever, the printed loop has no other end."""
    p = bv.single_level(f="50*x1**2", x="x1")
    parameters = {
        "eta": 0.001,
        "theta": 0.2,
        "B": 1e-6,
        "K": 3,
        "B0": 1e-6,
        "c": 2.0,
        "eps": 1e6,
        "L": 1.0,
        "rho": 1e-9,
    }
    result = run(p, "restarted-agd-practical", parameters, [1.0], budget=5000)
    assert result.status == "budget"


def test_exact_starts_and_warm_starts_divide_nothing_by_zero():
    zero = np.zeros(2)
    for name in ("restarted-agd", "restarted-hb", "gradient-descent-restarted"):
        assert (run(quadratic(), name, RAGD, zero).x == 0).all()
    jin = RAGD | {"gamma": 0.1, "s": 0.1}
    assert (run(quadratic(), "agd-jin", jin, zero).x == 0).all()
    practical = RAGD | {"B0": 0.2, "c": 2.0, "eps": 0.1, "L": 2.0, "rho": 1.0}
    assert (run(quadratic(), "restarted-agd-practical", practical, zero).x == 0).all()
    assert (run(quadratic(), "convex-until-guilty", {"L": 2.0, "rho": 1.0, "eps": 0.1}, zero).x == 0).all()
    for name, parameters in (
        ("rahgd", RAHGD | {"Tp_0": 50, "Tp_k": 50}),
        ("aid-bio", {"alpha": 0.4, "beta": 0.1, "D": 3, "N_cg": 50, "steps": 9}),
        ("itd-bio", {"alpha": 0.4, "beta": 0.1, "D": 3, "steps": 9}),
        ("ba", {"alpha": 0.1, "beta": 0.4, "c": 1.0, "steps": 9}),
        ("ba", {"alpha": 0.1, "beta": 0.4, "c": 1.0, "steps": 9, "N_cg": 40}),
    ):
        result = run(bowl(), name, parameters, [0.0])
        assert result.status == "finished"
        assert (result.x == 0).all(), name
        result = run(bowl(), name, parameters, [1.5])
        assert np.isfinite(result.trace.x).all(), name


def test_the_stopping_test_of_ragd_gs_uses_exact_gradients():
    p = Two(np.random.default_rng([SEED, 5]), 2, 2)
    parameters = {"L": 8.0, "H_nu": 0.5, "nu_f": 1.0, "lam": 10.0, "alpha": 1 / p.ell, "beta": 0.2}
    parameters |= {"alpha_p": 1 / (10 * p.ell + 4), "beta_p": 0.4, "T_0": 9, "T_k": 5, "Tp_0": 9, "Tp_k": 5}
    result = run(p.problem, "ragd-gs", parameters, p.x0, eps=1e-2)
    assert result.status == "stationary"
    assert result.counts["stop_grad_g"] > 0
    assert result.counts["stop_hess_g"] > 0
    from methods_transcription_ragd_gs import _exact_gradient

    assert np.linalg.norm(_exact_gradient(p, result.x, 10.0)) <= 1e-2 * (1 + 1e-9)


# ---------------------------------------------------------------------------------- blocks, thinning, interrupts


def test_blocks_hold_every_row_before_anything_is_thinned(monkeypatch):
    monkeypatch.setattr(recorder, "THIN_ROWS", 50)
    more = {"record": "thin", "compiled": False}
    running = stream(quadratic(), "gradient-descent", {"eta": 1e-3, "N": 5000}, [1.0, 1.0], **more)
    with pytest.raises(RuntimeError, match="not finished"):
        _ = running.run
    rows = np.concatenate([np.c_[block.k, block.x] for block in running])
    assert (rows[:, 0] == np.arange(5001)).all()
    result = running.run
    trace = result.trace
    assert trace.thinned_from == 49  # one of the 50 rows is the start of the epoch
    assert result.note == "the trace is thinned from row 49 on"
    assert 50 < len(trace) <= 103
    assert (trace.k[:49] == np.arange(49)).all()
    assert (np.diff(trace.k) > 0).all()
    assert list(trace.k[-2:]) == [trace.k[-2], 5000]
    assert all((trace.x[i] == rows[k, 1:]).all() for i, k in enumerate(trace.k))


def test_everything_is_kept_by_default():
    result = run(quadratic(), "gradient-descent", {"eta": 1e-3, "N": 3000}, [1.0, 1.0])
    assert len(result.trace) == 3001
    assert result.trace.thinned_from is None
    assert result.note == ""
    assert not result.trace.x.flags.writeable


@pytest.mark.parametrize("sizes", [[3, 1, 1, 7, 40, 2, 1, 1], [1] * 55, [56]])
def test_the_keeper_keeps_the_last_two_rows(sizes, monkeypatch):
    monkeypatch.setattr(recorder, "FULL_ROWS", 10)
    kept, first = TraceRecorder("all", np.float64), 0
    for size in sizes:
        k = np.arange(first, first + size)
        kept.add(Block(np.zeros(size, dtype=np.int64), k, {"x": k[:, None].astype(float)}))
        first += size
    trace = kept.trace()
    assert list(trace.k[-2:]) == [first - 2, first - 1] or list(trace.k[-1:]) == [first - 1]
    assert (np.diff(trace.k) > 0).all()
    assert (trace.x[:, 0] == trace.k).all()


@pytest.mark.parametrize("sizes", [[3, 1, 1, 7, 40, 2, 1, 1], [1] * 55, [56], [10, 10, 1], [11], [9, 300], [4000, 1]])
def test_what_is_kept_does_not_depend_on_the_blocks_nor_on_what_becomes_of_them(sizes, monkeypatch):
    """Ten rows, then every 2^j-th with the least j that leaves at most ten, and the last two."""
    monkeypatch.setattr(recorder, "FULL_ROWS", 10)
    kept, first = TraceRecorder("all", np.float64), 0
    for size in sizes:
        k = np.arange(first, first + size)
        block = Block(np.zeros(size, dtype=np.int64), k, {"x": k[:, None].astype(float)})
        kept.add(block)
        block.k[:], block.epoch[:], block.values["x"][:] = -7, -7, np.nan  # its memory is used again
        first += size
    stride = 1
    while len(range(10, first, stride)) > 10:
        stride *= 2
    wanted = {*range(min(10, first)), *range(10, first, stride)}
    since = (first - 11) % stride if first > 10 else 0
    wanted |= {*range(first - min(2, since), first)}
    trace = kept.trace()
    assert trace.k.tolist() == sorted(wanted)
    assert trace.x[:, 0].tolist() == sorted(wanted)
    assert not trace.epoch.any()
    assert trace.thinned_from == (10 if first > 10 else None)


def test_an_interrupt_keeps_what_was_done(monkeypatch):
    calls = []
    original = engine.KernelStepper.advance

    def interrupted(self, rows):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(rows)
        return original(self, rows)

    monkeypatch.setattr(engine.KernelStepper, "advance", interrupted)
    result = run(quadratic(), "gradient-descent", {"eta": 1e-3, "N": 10**6}, [1.0, 1.0])
    assert result.status == "interrupted"
    assert len(result.trace) > 100
    assert np.isfinite(result.x).all()


def test_restarts_are_recorded():
    p = Single(np.random.default_rng([SEED, 9]), 2)
    result = run(p.problem, "restarted-agd", {"eta": 0.25 / p.L, "theta": 0.1, "B": 0.05, "K": 6}, p.x0)
    assert len(result.restarted) == result.epochs == int(result.trace.epoch[-1]) + 1
    assert result.restarted[-1] is False
    assert all(result.restarted[:-1])
    assert result.parameters["eta"] == 0.25 / p.L


# ------------------------------------------------------------------------------------------------- bad input


BAD = {
    "unknown method": ({"method": "rahdg"}, "did you mean 'rahgd'"),
    "unknown variant": ({"method": "rahgd:odd"}, "no variant"),
    "wrong kind": ({"problem": quadratic()}, "is for bilevel"),
    "missing letter": ({"drop": "eta"}, "needs the parameter 'eta'"),
    "letter that is text": ({"set": {"eta": "large"}}, "finite number"),
    "letter that is NaN": ({"set": {"B": float("nan")}}, "finite number"),
    "negative step": ({"set": {"eta": -1.0}}, "positive"),
    "fractional K": ({"set": {"K": 2.5}}, "integer >= 1"),
    "K zero": ({"set": {"K": 0}}, "integer >= 1"),
    "fractional length": ({"set": {"T_k": 1.5}}, "integer >= 0"),
    "empty list of lengths": ({"set": {"T_k": []}}, "at least one"),
    "x0 of the wrong shape": ({"x0": [1.0, 2.0]}, "x0 must be 1 numbers"),
    "x0 that is NaN": ({"x0": [float("nan")]}, "finite"),
    "no x0": ({"x0": None}, "give x0"),
    "x0 outside the domain": ({"x0": [9.0]}, "leaves the domain"),
    "y0 of the wrong shape": ({"y0": [[1.0, 2.0]]}, "y0 must be"),
    "y0 outside the domain": ({"y0": [5.0, 0.0]}, "leaves the domain"),
    "eps zero": ({"eps": 0.0}, "eps must be a positive"),
    "eps NaN": ({"eps": float("nan")}, "eps must be a positive"),
    "budget zero": ({"budget": 0}, "budget"),
    "budget of seconds": ({"budget": {"seconds": 3}}, "'seconds'"),
    "record": ({"record": "most"}, "'all', 'thin' or 'last'"),
    "seed": ({"seed": -1}, "seed"),
    "digits": ({"digits": 3}, "digits"),
    "noise of the wrong shape": ({"method": "prahgd", "noise": [[1.0, 2.0]]}, "noise must be"),
    "noise that is NaN": ({"method": "prahgd", "noise": [[float("nan")]]}, "finite"),
    "no radius": ({"method": "prahgd"}, "radius 'r'"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_one_line(name):
    change, message = BAD[name]
    domain = {"x1": (-3, 3), "y1": (-2, 2)}
    problem = bv.bilevel(f="x1**2 + y1", g="(y1 - x1)**2 + y2**2", x="x1", y="y1 y2", domain=domain)
    parameters = {**RAHGD, **change.get("set", {})}
    parameters.pop(change.get("drop"), None)
    more = {k: v for k, v in change.items() if k not in ("set", "drop", "problem", "method", "x0")}
    with pytest.raises(InputError, match=message) as caught:
        run(change.get("problem", problem), change.get("method", "rahgd"), parameters, change.get("x0", [1.0]), **more)
    assert "\n" not in str(caught.value)


def test_missing_letters_name_the_unknown_ones():
    with pytest.raises(ParameterError, match="not a letter of this method: etta"):
        run(quadratic(), "restarted-agd", {"etta": 1, "theta": 1, "B": 1, "K": 2}, [1.0, 1.0])


def test_parameters_outside_the_hypotheses_may_run():
    result = run(quadratic(), "restarted-agd", {"eta": 0.1, "theta": 1.7, "B": 0.1, "K": 5}, [1.0, 1.0])
    assert result.status == "finished"


def test_plain_is_said_and_used(monkeypatch):
    monkeypatch.setenv("BILEVEL_VERIFY_PLAIN", "1")
    assert run(quadratic(), "restarted-agd", RAGD, [1.0, 1.0], compiled=None).compiled is False
