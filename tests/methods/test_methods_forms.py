"""Plain Python and compiled code agree bit for bit; multi-precision agrees with floats; controls are caught."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from methods_cases import BILEVEL, MINIMAX, SINGLE, case, differences
from methods_random_problems import Single, bilevels, saddles, singles
from methods_transcription_li_lin import Endless, Tie

from bilevel_verify.methods import METHODS, find_method, run_method
from bilevel_verify.methods.estimators import danskin, implicit, one_level, penalty
from bilevel_verify.methods.kernels import answers, averages, inner, steps
from bilevel_verify.methods.schemes import general_smoothness, restarted_agd, restarted_heavy_ball
from bilevel_verify.oracles.compiling import can_compile

NAMES = [*SINGLE, *BILEVEL, *MINIMAX]


@functools.cache
def problem_of(name):
    """One problem per kind, so that its oracles are compiled once."""
    if name in SINGLE:
        return singles(3, salt=3)[2]
    return bilevels(4, salt=4)[3] if name in BILEVEL else saddles(4, salt=5)[3]


def _both(name):
    p = problem_of(name)
    p.counts.clear()
    parameters, more, transcription = case(name, p, 1)
    return p, parameters, more, transcription


@pytest.mark.slow
@pytest.mark.skipif(not can_compile(), reason="no compiler")
@pytest.mark.parametrize("name", NAMES)
def test_plain_and_compiled_agree_bit_for_bit(name):
    p, parameters, more, _ = _both(name)
    plain = run_method(p.problem, name, parameters, p.x0, compiled=False, **more)
    fast = run_method(p.problem, name, parameters, p.x0, compiled=True, **more)
    assert fast.compiled
    assert not plain.compiled
    assert plain.status == fast.status
    assert dict(plain.counts) == dict(fast.counts)
    assert plain.x.tobytes() == fast.x.tobytes()
    assert (plain.trace.epoch == fast.trace.epoch).all()
    assert (plain.trace.k == fast.trace.k).all()
    for sequence in METHODS[name].sequences:
        assert plain.trace.sequences[sequence].tobytes() == fast.trace.sequences[sequence].tobytes(), sequence


@pytest.mark.parametrize("name", NAMES)
def test_multiprecision_agrees_with_floats(name):
    p, parameters, more, _ = _both(name)
    plain = run_method(p.problem, name, parameters, p.x0, compiled=False, **more)
    exact = run_method(p.problem, name, parameters, p.x0, digits=40, **more)
    assert plain.status == exact.status
    assert dict(plain.counts) == dict(exact.counts) or "N_cg" in parameters or "Tp_k" in parameters
    assert len(plain.trace) == len(exact.trace)
    for sequence in ("x", *METHODS[name].sequences):
        have, want = plain.trace.sequences[sequence], exact.trace.sequences[sequence].astype(float)
        assert np.array_equal(np.isnan(have), np.isnan(want))
        np.testing.assert_allclose(have, want, rtol=1e-7, atol=1e-7)


def test_multiprecision_resolves_what_floats_cannot():
    p = Single(np.random.default_rng(0), 2)  # one that is well conditioned at its minimum
    parameters = {"eta": 0.5 / p.L, "N": 3000, "eps": "1e-40"}
    run = run_method(p.problem, "gradient-descent", parameters, p.x0, digits=60)
    assert run.status == "stationary"
    rough = run_method(p.problem, "gradient-descent", {**parameters, "eps": 1e-6}, p.x0, compiled=False)
    assert run.counts["grad_f"] > 2 * rough.counts["grad_f"]


# Controls: a mistake planted in the kernels must be seen by the comparison with the transcriptions.


CONTROLS = {
    "gradient at x instead of w": ("restarted-agd", restarted_agd, "gradient", "stale"),
    "gradient at x instead of w (RAHGD)": ("rahgd", restarted_agd, "gradient", "stale"),
    "cold start where a warm one is prescribed": ("aid-bio", implicit, "descent", "cold"),
    "one inner step too few": ("ragd-gs", penalty, "agd", "short"),
    "one CG step too many": ("aid-bio", answers, "conjugate_gradients", "long"),
    "average over one point too many": ("restarted-agd", restarted_agd, "finish_with_average", "terms"),
    "path length not reset at a restart": ("restarted-hb", averages, "next_epoch", "path"),
    "path length counted twice": ("ragd-gs", general_smoothness, "advance", "path2"),
    "momentum kept through a restart": ("restarted-agd", restarted_agd, "copy_into", "momentum"),
    "penalty weight forgotten": ("f2ba", penalty, "penalty_gradient", "lam"),
    "perturbation used twice": ("prahgd", steps, "perturb", "noise"),
}


def _planted(kind, original):
    if kind == "cold":
        return lambda P, counts, x, y, steps_, *rest: (y.__setitem__(slice(None), [0.0] * len(y)), original(
            P, counts, x, y, steps_, *rest))[1]  # fmt: skip
    if kind == "short":
        return lambda P, counts, x, z, n, *rest: original(P, counts, x, z, n - 1, *rest)
    if kind == "long":
        return lambda P, counts, x, y, b, n, q, lower: original(P, counts, x, y, b, n + 1, q, lower)
    if kind == "terms":
        return lambda s, terms: original(s, terms + 1)
    if kind == "path":

        def keep_path(at):
            path = at.path
            original(at)
            at.path = path

        return keep_path
    if kind == "path2":

        def grows_twice(at, s):
            code = original(at, s)
            at.path = at.path + at.moved
            return code

        return grows_twice
    if kind == "momentum":
        rows_only = lambda source, target: original(source, target) if isinstance(target, np.ndarray) else None
        return rows_only  # the trace takes its rows, x_old stays what it was
    if kind == "lam":
        return lambda P, counts, point, u, lam, lower: original(P, counts, point, u, 1.0, lower)
    if kind == "stale":  # the rows of the state begin with x
        return lambda ask, point, u, m, t, k: original(ask, m.vectors[0], u, m, t, k)
    return original


@pytest.mark.parametrize("name", list(CONTROLS))
def test_planted_mistakes_are_caught(name, monkeypatch):
    method, module, function, kind = CONTROLS[name]
    p = problem_of(method)
    for number in range(60):  # until it is seen: a run need not perturb twice
        p.counts.clear()
        parameters, more, transcription = case(method, p, number)
        try:
            rows, output = transcription()
        except (Tie, Endless):
            continue
        counts = dict(p.counts)
        with monkeypatch.context() as patch:
            plant(patch, module, function, kind)
            run = run_method(p.problem, method, parameters, p.x0, compiled=False, **{**more, "budget": 5000})
        if differences(run, rows, output, counts):
            return
    pytest.fail(f"not seen: {name}")


def plant(patch, module, function, kind):
    if kind == "noise":
        from bilevel_verify.methods.perturbations import Perturbations

        original = Perturbations.next_chunk
        doubled = lambda self, most: [row for row in original(self, most) for _ in range(2)][:most]
        patch.setattr(Perturbations, "next_chunk", doubled)
    else:
        patch.setattr(module, function, _planted(kind, getattr(module, function)))


def test_the_controls_start_from_agreement():
    for method in {entry[0] for entry in CONTROLS.values()}:
        p = problem_of(method)
        for number in range(6):
            p.counts.clear()
            parameters, more, transcription = case(method, p, number)
            try:
                rows, output = transcription()
            except (Tie, Endless):
                continue
            run = run_method(p.problem, method, parameters, p.x0, compiled=False, **more)
            assert not differences(run, rows, output, p.counts)


def test_variants():
    assert find_method("rahgd:literal").name == "rahgd:literal"
    p = problem_of("rahgd")
    parameters, more, _ = case("rahgd", p, 0)
    run = run_method(p.problem, "rahgd:literal", parameters, p.x0, compiled=False, **more)
    assert run.status == "not finite"
    assert np.isnan(run.trace.epoch_start["y"][0]).all()
    assert np.array_equal(run.x, p.x0)


def test_inner_is_documented():
    rooms = (inner, answers, averages, steps, implicit, penalty, danskin, one_level, restarted_agd)
    for module in (*rooms, general_smoothness, restarted_heavy_ball):
        own = [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__ and callable(f)]
        assert all(f.__doc__ for f in own)
