"""Solvers end after work that is counted: the same question ends in the same way, whatever else the machine does."""

from __future__ import annotations

import _thread
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import z3

from bilevel_verify.audit import patience
from bilevel_verify.audit.patience import ALLOCATIONS, allocated, ask

pytestmark = pytest.mark.fast


def hard() -> tuple[Any, Any]:
    """A sum of five square roots against a polynomial: resultants of a large degree, few counted steps."""
    context = z3.Context()
    solver = z3.Tactic("qfnra-nlsat", ctx=context).solver()
    x, *roots = z3.Reals("x a b c d e", context)
    solver.add(x > 0, *(r >= 0 for r in roots), *(r * r == x**i + i + 1 for i, r in enumerate(roots)))
    solver.add(z3.Sum(roots) == x**5 + x + 10)
    return solver, context


def easy() -> tuple[Any, Any]:
    context = z3.Context()
    solver, x = z3.Solver(ctx=context), z3.Real("x", context)
    solver.add(x * x == 2, x > 0)
    return solver, context


def test_a_step_that_counts_nothing_is_ended() -> None:
    solver, context = hard()
    before = allocated(z3)
    assert ask(z3, solver, 5, context) == (z3.unknown, True)
    assert allocated(z3) - before > 5 * ALLOCATIONS


def test_what_needs_less_is_answered() -> None:
    solver, context = easy()
    assert ask(z3, solver, 100, context) == (z3.sat, False)
    assert "x" in str(solver.model())


def test_an_answer_after_its_work_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks in time: the answer came, and counts for nothing all the same."""
    monkeypatch.setattr(patience, "LOOK", 60.0)
    solver, context = easy()
    assert ask(z3, solver, 0, context) == (z3.unknown, True)


@pytest.mark.slow
def test_how_often_one_looks_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for look in (0.001, 0.02, 0.1):
        monkeypatch.setattr(patience, "LOOK", look)
        found.append([ask(z3, *hard_limited(milliseconds)) for milliseconds in (5, 10)])
        found[-1].append(ask(z3, easy()[0], 100, z3.main_ctx()))
    assert found == [[(z3.unknown, True), (z3.unknown, True), (z3.sat, False)]] * 3


def hard_limited(milliseconds: float) -> tuple[Any, float, Any]:
    solver, context = hard()
    return solver, milliseconds, context


def test_errors_of_the_solver_are_its_own_unless_it_was_late(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def check(self) -> Any:
            raise z3.Z3Exception("lost")

    with pytest.raises(z3.Z3Exception, match="lost"):
        ask(z3, Broken(), 100, z3.main_ctx())
    counts = iter([0.0, 2 * ALLOCATIONS, 2 * ALLOCATIONS])
    monkeypatch.setattr(patience, "allocated", lambda _: next(counts))
    monkeypatch.setattr(patience, "LOOK", 60.0)
    assert ask(z3, Broken(), 1, z3.main_ctx()) == (z3.unknown, True)


def test_the_count_of_a_question_depends_on_no_other() -> None:
    """The solver adds up the counts of a thread again and again: threads of their own make them comparable."""

    def cost() -> float:
        solver, context = hard()
        solver.set("rlimit", 20_000)
        before = allocated(z3)
        ask(z3, solver, 10_000, context)
        return allocated(z3) - before

    first = cost()
    for _ in range(100):
        z3.Context()
    assert first > 0
    assert cost() == pytest.approx(first, rel=0.01)


@pytest.mark.slow
def test_an_interruption_ends_the_question() -> None:
    solver, context = hard()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers that share a suite ignore it
    try:
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            ask(z3, solver, 1_000, context)
    finally:
        signal.signal(signal.SIGINT, before)


def test_two_that_look_at_the_count_do_not_meet() -> None:
    """A context of the solver serves one thread at a time: without the lock this ends the process."""
    with ThreadPoolExecutor(4) as threads:
        counts = list(threads.map(lambda _: allocated(z3), range(4_000)))
    assert min(counts) >= 0


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    for _ in range(5):
        solver, context = easy()
        ask(z3, solver, 100, context)
    assert threading.active_count() == before
