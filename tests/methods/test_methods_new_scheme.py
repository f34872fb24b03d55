"""A new scheme is one file: ``methods_polyak`` alone is enough for runs in all forms, batches, pauses, the command."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from methods_polyak import POLYAK, Letters
from test_methods_batch import needs_numba, same

import bilevel_verify as bv
from bilevel_verify.methods import ESTIMATORS, SCHEMES, Letter, Run, run_batch, run_method, stream
from bilevel_verify.methods.estimators.penalty import AgdLengths, AgdLetters
from bilevel_verify.methods.records import record

LETTERS = {"f_star": 0.0, "beta": 0.1, "N": 300}
START = [1.0, -2.0]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEMES, "polyak", POLYAK)


def bowl() -> bv.Problem:
    return bv.single_level(f="x1**4/4 + x2**4/4", x="x1 x2")


def printed(N: int, f_star: float, beta: float) -> tuple[list[np.ndarray], list[float]]:
    """The iterates and the sums of the steps, line by line."""
    x = x_old = np.array(START)
    points, sums, way = [x], [], 0.0
    for _ in range(N):
        w = x + beta * (x - x_old)
        u = np.array([w[0] ** 3, w[1] ** 3])
        step = (w[0] ** 4 / 4 + w[1] ** 4 / 4 - f_star) / (u[0] ** 2 + u[1] ** 2)
        x_old, x, way = x, w - step * u, way + step
        points.append(x)
        sums.append(way)
    return points, sums


def polyak_run(**more: object) -> Run:
    return run_method(bowl(), "polyak+exact", LETTERS, START, **more)


FORMS = [{"compiled": False}, pytest.param({"compiled": True}, marks=needs_numba), {"digits": 30}]


@pytest.mark.parametrize("form", FORMS)
def test_a_new_scheme_runs_in_every_form(form: dict[str, object]) -> None:
    run = polyak_run(**form)
    points, sums = printed(60, 0.0, 0.1)
    assert run.status == "finished"
    assert run.counts["grad_f"] == run.counts["value_f"] == run.iterations == 300
    np.testing.assert_allclose(run.trace.x[:61].astype(float), points, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(run.trace.way[:60, 0].astype(float), sums, rtol=1e-9)


def paused(compiled: bool, rows: int) -> Run:
    """A run that pauses after every few rows."""
    running = stream(bowl(), "polyak+exact", LETTERS, START, compiled=compiled)
    outcome = None
    while outcome is None:
        block, outcome = running.stepper.advance(rows)
        running.take(block, outcome)
    return running.run


def test_a_number_of_its_own_survives_pauses() -> None:
    same(paused(False, 7), polyak_run(compiled=False))


@needs_numba
def test_a_number_of_its_own_survives_pauses_of_machine_code() -> None:
    same(paused(True, 7), polyak_run(compiled=True))
    same(replace(polyak_run(compiled=False), compiled=True), polyak_run(compiled=True))


@needs_numba
def test_a_new_scheme_runs_in_batches() -> None:
    starts = [START, [0.5, 0.5], [3.0, 1.0]]
    for run, start in zip(run_batch(bowl(), "polyak+exact", LETTERS, starts), starts, strict=True):
        same(run, run_method(bowl(), "polyak+exact", LETTERS, start, compiled=True))


def test_solve_takes_it_by_name_with_any_estimator() -> None:
    run = bv.solve(bowl(), "polyak+exact", parameters=LETTERS | {"N": 40, "beta": 0.0}, x0=START)
    assert np.linalg.norm(run.x) < 1e-3
    problem = bv.bilevel(f="(x1 - 1)**2 + y1**2", g="(y1 - x1)**2", x="x1", y="y1")
    letters = {"f_star": 0.5, "beta": 0.0, "N": 60, "alpha": 0.5, "D": 5, "N_cg": 1}
    assert bv.solve(problem, "polyak+implicit-gd-cg", parameters=letters, x0=[3.0]).x[0] == pytest.approx(0.5, abs=1e-4)


# ------------------------------------------------------------------------------------ what cannot be registered


def test_a_letter_that_the_loop_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'polyak' has no fields \['sigma'\]"):
        replace(POLYAK, letters=(*POLYAK.letters, Letter("sigma")))
    with pytest.raises(ValueError, match=r"no fields \['output', 'x'\]"):
        replace(POLYAK, state=AgdLetters)


def test_letters_of_an_estimator_in_another_order_are_refused() -> None:
    estimator = ESTIMATORS["penalty-agd"]
    assert (estimator.numbers, estimator.steps) == (AgdLetters, AgdLengths)
    with pytest.raises(ValueError, match="name different letters"):
        replace(estimator, letters=estimator.letters[::-1])
    with pytest.raises(ValueError, match="name different letters"):
        replace(estimator, lengths=estimator.lengths[:-1])


def test_a_record_says_what_it_begins_with_and_hides_no_attribute_of_numpy() -> None:
    assert Letters().way == 0
    with pytest.raises(ValueError, match=r"another name than \['T'\]"):

        @record
        class _Transposed:
            T: int = 0

    with pytest.raises(ValueError, match=r"a number for \['eta'\]"):

        @record
        class _Empty:
            eta: float
