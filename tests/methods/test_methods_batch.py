"""Batches: every run is the single run, bit for bit, whatever its neighbours do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from methods_cases import case
from methods_random_problems import bilevels, singles

import bilevel_verify as bv
from bilevel_verify.errors import ParameterError
from bilevel_verify.methods import Run, batch, run_batch, run_method
from bilevel_verify.oracles.compiling import can_compile

needs_numba = pytest.mark.skipif(not can_compile(), reason="no compiler")


def double_well() -> bv.Problem:
    return bv.single_level(f="(x1**2 - 1)**2/4 + x2**2 + sin(x1*x2)/3", x="x1 x2")


def same(one: Run, other: Run) -> None:
    """All that a run says, but for the time it took."""
    assert one.x.tobytes() == other.x.tobytes()
    assert dict(one.counts) == dict(other.counts)
    assert (one.status, one.iterations, one.epochs, one.restarted, one.seed, one.note, one.compiled) == (
        other.status, other.iterations, other.epochs, other.restarted, other.seed, other.note, other.compiled
    )  # fmt: skip
    assert one.trace.thinned_from == other.trace.thinned_from
    assert (one.trace.epoch == other.trace.epoch).all()
    assert (one.trace.k == other.trace.k).all()
    for name, rows in one.trace.sequences.items():
        assert rows.tobytes() == other.trace.sequences[name].tobytes(), name
    for name, rows in one.trace.epoch_start.items():
        assert rows.tobytes() == other.trace.epoch_start[name].tobytes(), name


@needs_numba
@pytest.mark.parametrize("name", ["ragd-gs", "rahgd"])
def test_starts_of_a_bilevel_method(name: str) -> None:
    p = bilevels(4, salt=4)[3]
    parameters, more, _ = case(name, p, 1)
    starts = np.array(p.x0, dtype=float) + np.linspace(-0.1, 0.1, 5)[:, None]
    runs = run_batch(p.problem, name, parameters, starts, threads=2, **more)
    assert len(runs) == 5
    for start, run in zip(starts, runs, strict=True):
        same(run, run_method(p.problem, name, parameters, start, **more))


@needs_numba
def test_seeds_letters_and_histories_of_different_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_ROWS", 70)  # several rounds
    problem = double_well()
    letters = {"eps": 1e-2, "r": 0.02, "chi": 0.1, "T": 20, "rho": 6.0, "L": 30.0}
    method = "restarted-agd"
    own = [{"eta": 0.01 * (i + 1), "theta": 0.1, "B": 0.05 * (i + 1), "K": 20 + 25 * i, **letters} for i in range(4)]
    starts = [[0.3, 0.2], [-0.5, 1.0], [2.0, -1.0], [1.5, 1.5]]
    for run, parameters, start in zip(run_batch(problem, method, own, starts), own, starts, strict=True):
        same(run, run_method(problem, method, parameters, start))


@needs_numba
def test_one_run_may_need_oracles_that_another_does_not() -> None:
    """With eps the stopping test asks for Hessians; the first run has no eps."""
    p = bilevels(4, salt=4)[3]
    parameters, more, _ = case("ragd-gs", p, 1)
    without = {name: value for name, value in parameters.items() if name != "eps"}
    more = {key: value for key, value in more.items() if key != "eps"}
    own = [without, {**without, "eps": 1e-1}]
    for run, letters in zip(run_batch(p.problem, "ragd-gs", own, [p.x0, p.x0], **more), own, strict=True):
        same(run, run_method(p.problem, "ragd-gs", letters, p.x0, **more))


@needs_numba
def test_noise_is_that_of_the_seed() -> None:
    p = bilevels(4, salt=4)[3]
    parameters, more, _ = case("prahgd", p, 1)
    more = {key: value for key, value in more.items() if key != "noise"}
    parameters = {**parameters, "r": 0.05}
    runs = run_batch(p.problem, "prahgd", parameters, p.x0, seeds=6, **more)
    assert [run.seed for run in runs] == list(range(6))
    for seed in (0, 5):
        same(runs[seed], run_method(p.problem, "prahgd", parameters, p.x0, seed=seed, **more))
    assert len({run.trace.x.tobytes() for run in runs}) > 1 or all(run.epochs == 1 for run in runs)


@needs_numba
def test_what_happens_to_one_run_does_not_touch_the_others() -> None:
    """One start diverges, one is stationary at once, one uses up its budget."""
    problem = bv.single_level(f="x1**4 - x1**2", x="x1")
    starts = [0.0, 30.0, 0.1, 0.70710678118]
    options: dict[str, Any] = {"budget": 50, "eps": 1e-6}
    letters = {"eta": 0.05, "N": 10**6}
    runs = run_batch(problem, "gradient-descent", letters, starts, **options)
    assert {run.status for run in runs} >= {"budget", "stationary"}
    assert {run.status for run in runs} & {"diverged", "not finite"}
    for start, run in zip(starts, runs, strict=True):
        same(run, run_method(problem, "gradient-descent", letters, start, **options))


def test_without_a_compiler_the_runs_follow_each_other() -> None:
    problem = double_well()
    letters = {"eta": 0.05, "N": 20}
    starts = [[0.3, 0.2], [-0.5, 1.0]]
    for start, run in zip(starts, run_batch(problem, "gradient-descent", letters, starts, compiled=False), strict=True):
        assert not run.compiled
        same(run, run_method(problem, "gradient-descent", letters, start, compiled=False))


def test_methods_that_bring_their_own_loop() -> None:
    letters = {"M": 6.0, "T": 4}
    starts = [[0.3, 0.2], [-0.5, 1.0]]
    runs = run_batch(double_well(), "cubic-newton", letters, starts, compiled=False)
    for start, run in zip(starts, runs, strict=True):
        same(run, run_method(double_well(), "cubic-newton", letters, start, compiled=False))


@needs_numba
@pytest.mark.slow
def test_histories_that_outgrow_their_room() -> None:
    p = singles(3, salt=3)[2]
    parameters, more, _ = case("convex-until-guilty", p, 1)
    starts = [list(p.x0), [0.9 * v for v in p.x0]]
    for start, run in zip(starts, run_batch(p.problem, "convex-until-guilty", parameters, starts, **more), strict=True):
        same(run, run_method(p.problem, "convex-until-guilty", parameters, start, **more))


@needs_numba
def test_an_interrupt_keeps_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_ROWS", 64)
    calls = [0]
    original = batch._Batch._call

    def interrupted(self: Any, share: Any) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        original(self, share)

    monkeypatch.setattr(batch._Batch, "_call", interrupted)
    letters = {"eta": 1e-4, "N": 10**5}
    runs = run_batch(double_well(), "gradient-descent", letters, [[0.3, 0.2], [0.1, 0.2]], threads=1)
    assert {run.status for run in runs} == {"interrupted"}
    assert len(runs[0].trace) >= 60


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"x0": [[0.0, 1.0]] * 3, "seeds": 2}, "equally many"),
        ({"x0": np.zeros((2, 2, 2))}, "one start or a table"),
        ({"x0": [[0.0, 1.0], [0.0]]}, "x0"),
        ({"x0": [0.0, 1.0], "seeds": 0}, "1 to 100000 runs"),
        ({"x0": [[0.0, float("nan")]]}, "finite"),
        ({"x0": [0.0, 1.0], "seeds": [-1]}, "seed"),
        ({"x0": [0.0, 1.0], "seeds": "ab"}, "seeds must be"),
        ({"x0": [0.0, 1.0], "threads": 0}, "threads"),
        ({"x0": [0.0, 1.0], "threads": 2.5}, "threads"),
    ],
)
def test_wrong_use_is_one_line(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        run_batch(double_well(), "gradient-descent", {"eta": 0.1, "N": 2}, **more)
    assert "\n" not in str(error.value)


@needs_numba
def test_solve_batch_resolves_the_letters_of_every_start() -> None:
    problem = bv.zoo("cosine-sum")
    d = problem.dx
    starts = np.linspace(0.2, 1.2, 3)[:, None] * np.ones(d)
    runs = bv.solve_batch(problem, "restarted-agd", eps=0.05, x0=starts, budget=200_000)
    for start, run in zip(starts, runs, strict=True):
        alone = bv.solve(problem, "restarted-agd", eps=0.05, x0=start, budget=200_000)
        same(run, alone)
        assert dict(run.parameters) == dict(alone.parameters)
