"""Limits of time: what is known is told with its error bar, what is not says so, nothing unfinished is certified."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks import engine
from bilevel_verify.errors import InputError, MathematicalError, ParameterError
from bilevel_verify.methods.cubic.looped import CubicLoopStepper
from bilevel_verify.time_limit import TimeOver, keeping, time_limit
from bilevel_verify.truth.minimum import minimum
from bilevel_verify.truth.truth import Truth

HILLY = {
    "f": "sin(5*x1 + x2)*cos(3*x2) + y1**2/4 + x1/5 - x2**2/9",
    "g": "y1**2 + y1**4/4 - y1*cos(2*x1)*x2",
    "x": "x1 x2",
    "y": "y1",
    "domain": {"x1": (-1, 1), "x2": (-1, 1)},
}


def hilly() -> bv.Problem:
    return bv.bilevel(**HILLY)


ENDLESS = {"M": 1e12, "eps": 1e-14, "T": 10**9}


LONG = 600


def strike(*_: object) -> None:
    """The clock strikes here, however fast the machine is."""
    signal.raise_signal(signal.SIGALRM)


def busy(*_: object) -> None:
    """Never ends by itself."""
    while True:
        time.sleep(0.001)


@pytest.fixture
def third_wave(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over in the third wave of a search."""
    waves, bounds = count(), minimum.lower_bounds

    def until_over(*arguments: object) -> object:
        if next(waves) == 3:
            raise TimeOver
        return bounds(*arguments)

    monkeypatch.setattr(minimum, "lower_bounds", until_over)


def test_an_unfinished_search_tells_its_bounds_and_is_not_certified(third_wave, monkeypatch) -> None:
    with keeping("search"):
        found = bv.truth(hilly()).minimum
    monkeypatch.undo()
    least = bv.truth(hilly()).phi_min()
    assert least.certainty == "certified"
    assert not found.certified
    assert not found.complete
    assert minimum.UNFINISHED in found.method
    assert found.lower <= least.upper
    assert found.upper >= least.lower
    assert found.lower < least.lower - 1e-6  # it is not finished indeed
    assert found.enclosure("certified").certainty == "computed"


def test_nobody_else_gets_an_unfinished_search(third_wave) -> None:
    with pytest.raises(TimeOver, match=r"inf phi lies in \[.*computed"):
        bv.truth(hilly()).phi_min()


def test_an_unfinished_search_is_not_kept(third_wave) -> None:
    answers = bv.truth(hilly())
    with pytest.raises(TimeOver):
        answers.phi_min()
    assert answers.phi_min().certainty == "certified"


def test_what_the_time_breaks_off_says_so_and_the_rest_stays_as_it_is(monkeypatch) -> None:
    answers = bv.truth(hilly())
    whole = {row["quantity"]: row for row in answers.summary([0.5, 0.25])}
    monkeypatch.setattr(Truth, "hess_phi", strike)
    cut = {row["quantity"]: row for row in bv.truth(hilly()).summary([0.5, 0.25], seconds=LONG)}
    assert cut.keys() == whole.keys()
    for name in ("y_star", "phi", "grad_phi"):
        assert cut[name] == whole[name]
    for name in ("hess_phi", "lambda_min_hess_phi", "phi_min", "delta"):
        assert cut[name]["value"] is None
        assert cut[name]["certainty"] is None
        assert "the 600 s asked for were over" in str(cut[name]["method"])


def test_enough_time_changes_nothing() -> None:
    assert bv.truth(hilly()).summary([0.5, 0.25], seconds=60) == bv.truth(hilly()).summary([0.5, 0.25])


def test_an_infimum_without_any_bound_is_no_number(monkeypatch) -> None:
    monkeypatch.setattr(minimum, "attained_value", busy)
    with pytest.raises(MathematicalError, match=r"the 0\.05 s asked for were over"):
        bv.truth(hilly()).phi_min(seconds=0.05)


def test_instances_that_were_judged_stay_and_the_others_are_undecided(monkeypatch) -> None:
    p = bv.zoo("trig-1-1")
    whole = bv.verify(p, "ragd-gs/lemma-1", eps=[0.1, 0.05])
    judged, check = count(), engine.check_instance

    def slow(*arguments: object) -> object:
        return strike() if next(judged) else check(*arguments)

    monkeypatch.setattr(engine, "check_instance", slow)
    cut = bv.verify(p, "ragd-gs/lemma-1", eps=[0.1, 0.05], seconds=LONG)
    decided = [row for row in cut.claims if not str(row.reason).startswith("time: ")]
    assert decided
    assert all(row in whole.claims for row in decided)
    left = [row for row in cut.claims if row not in decided]
    assert {row.claim.partition("/")[0] for row in whole.claims} == {row.claim for row in left}
    assert {row.verdict for row in left} == {"undecided"}
    assert {row.certainty for row in left} == {None}
    assert cut.verdict == "undecided"


@pytest.fixture
def third_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over in the third block of a run."""
    blocks, advance = count(), CubicLoopStepper.advance

    def until_over(*arguments: object) -> object:
        return strike() if next(blocks) == 2 else advance(*arguments)

    monkeypatch.setattr(CubicLoopStepper, "advance", until_over)


def endless(**options: object) -> bv.Run:
    p = bv.single_level(f="sin(x1) + x1**2/9", x="x1")
    return bv.solve(p, "cubic-newton", x0=[3.0], parameters=ENDLESS, budget=10**9, compiled=False, **options)


def test_a_run_of_the_checker_is_never_taken_for_a_whole_one(third_block) -> None:
    """Evidence that stops early would look like agreement: it is broken off as a whole."""
    with time_limit(LONG) as limit, pytest.raises(TimeOver), limit.broken_off():
        endless()


def test_a_run_that_is_asked_for_is_left_where_it_is(third_block) -> None:
    run = endless(seconds=LONG)
    assert run.status == "interrupted"
    assert run.note == "the 600 s asked for were over"
    assert run.iterations > 0
    assert np.all(np.isfinite(run.x))


def test_letters_that_have_no_value_yet_are_no_run(monkeypatch) -> None:
    monkeypatch.setattr(minimum, "attained_value", busy)
    with pytest.raises(ParameterError, match=r"the 0\.2 s asked for were over before the run of ragd-gs began"):
        bv.solve(hilly(), "ragd-gs", eps=0.1, x0=[0.5, 0.25], seconds=0.2)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), True])
def test_seconds_are_a_positive_number(seconds: float) -> None:
    with pytest.raises(InputError, match="seconds"):
        bv.truth(hilly()).phi_min(seconds=seconds)


def test_where_no_clock_can_break_in_the_limit_is_refused() -> None:
    said: list[str] = []

    def ask() -> None:
        try:
            bv.truth(hilly()).phi_min(seconds=1)
        except InputError as error:
            said.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "main thread" in said[0]


def test_an_outer_timer_goes_on() -> None:
    struck: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 50.0)
        with time_limit(10.0):
            pass
        assert 40 < signal.getitimer(signal.ITIMER_REAL)[0] <= 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


Strike = Callable[[], None]


class Held:
    """Something that may be referred to weakly."""


class Ends(Held):
    def __init__(self, at_end: Strike) -> None:
        self.at_end = at_end

    def __del__(self) -> None:
        self.at_end()


def in_garbage_collection(strike: Strike) -> None:
    def strikes(_: str, __: object) -> None:
        strike()

    gc.callbacks.append(strikes)
    try:
        gc.collect(0)
    finally:
        gc.callbacks.remove(strikes)


def in_a_finaliser(strike: Strike) -> None:
    Ends(strike)


def in_a_weak_reference(strike: Strike) -> None:
    held = Held()
    reference = weakref.ref(held, lambda _: strike())
    del held
    assert reference() is None


@pytest.mark.parametrize("times", [1, 2, 20])
@pytest.mark.parametrize("place", [in_garbage_collection, in_a_finaliser, in_a_weak_reference])
def test_a_strike_where_what_is_raised_is_lost_comes_again(place: Callable[[Strike], None], times: int) -> None:
    struck: list[float] = []

    def strike() -> None:
        struck.append(time.monotonic())
        signal.raise_signal(signal.SIGALRM)

    def broken_off() -> None:
        with time_limit(LONG) as limit, limit.broken_off():
            for _ in range(times):
                place(strike)
            until = time.monotonic() + 5
            while time.monotonic() < until:
                pass

    with pytest.raises(TimeOver):
        broken_off()
    assert struck


def test_what_else_is_lost_is_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_value))

    def fails() -> None:
        raise ValueError("another")

    with time_limit(LONG):
        in_a_finaliser(fails)
    assert [str(what) for what in told] == ["another"]
    assert sys.unraisablehook.__name__ == "<lambda>"
