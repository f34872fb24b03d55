"""What a claim may ask of a run: rows, entries before the first, counts and facts, each read off hand-made traces."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import mpmath
import numpy as np
import pytest

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.methods.run import Run, Trace

pytestmark = pytest.mark.fast
NAN = float("nan")
EPOCHS = [0, 0, 0, 1, 1, 2]
KS = [0, 1, 2, 0, 1, 0]
X = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [2.0, 1.0], [3.0, -5.0], [3.0, -5.0]]


def run_of(
    epochs: Any = None,
    ks: Any = None,
    sequences: Any = None,
    starts: Any = None,
    thinned: int | None = None,
    **more: Any,
) -> Run:
    trace = Trace(
        np.array(EPOCHS if epochs is None else epochs),
        np.array(KS if ks is None else ks),
        MappingProxyType({n: np.asarray(s) for n, s in ({"x": X} if sequences is None else sequences).items()}),
        MappingProxyType({n: np.asarray(s) for n, s in (starts or {}).items()}),
        thinned,
    )
    plain = {"counts": {}, "iterations": 77, "epochs": 3, "restarted": (True, True, False)}
    given = {**plain, **more}
    return Run("m", "p", np.array([3.0, -5.0]), "finished", trace=trace, parameters=MappingProxyType({}), **given)


def recorded(own: bool = False, restarts: bool | None = None, **more: Any) -> RecordedRun:
    return RecordedRun(run_of(**more), own, restarts)


def numbers(value: Any) -> list[float]:
    assert all(a.is_exact() for a in value.entries)
    return [float(a) for a in value.entries]


# --- rows


def test_rows_are_found_by_epoch_and_k() -> None:
    run = recorded()
    assert run.epochs == [0, 1, 2]
    assert [run.k_end(t) for t in run.epochs] == [2, 1, 0]
    for row, (t, k) in enumerate(zip(EPOCHS, KS)):
        assert numbers(run.entry("x", t, k)) == X[row]
    for t, k in ((0, 3), (1, 2), (2, 1), (3, 0), (-1, 0), (0, -2)):
        with pytest.raises(EvaluationError, match="not recorded: x"):
            run.entry("x", t, k)


def test_rows_that_were_left_out_are_missed_and_the_others_found() -> None:
    run = recorded(epochs=[0, 0, 0, 0, 1, 1], ks=[0, 1, 5, 9, 0, 4])
    for row, (t, k) in enumerate([(0, 0), (0, 1), (0, 5), (0, 9), (1, 0), (1, 4)]):
        assert numbers(run.entry("x", t, k)) == X[row]
    for t, k in ((0, 2), (0, 4), (0, 6), (0, 8), (0, 10), (1, 1), (1, 3), (1, 5)):
        with pytest.raises(EvaluationError, match="not recorded"):
            run.entry("x", t, k)
    assert run.k_end(0) == 9


def test_an_epoch_is_complete_up_to_the_first_lost_row() -> None:
    assert [recorded(thinned=None).complete(t) for t in (0, 1, 2)] == [True, True, True]
    assert [recorded(thinned=3).complete(t) for t in (0, 1, 2)] == [True, False, False]
    assert [recorded(thinned=4).complete(t) for t in (0, 1, 2)] == [True, False, False]
    assert [recorded(thinned=5).complete(t) for t in (0, 1, 2)] == [True, True, False]
    assert recorded(thinned=3).thinned
    assert recorded(thinned=0).thinned
    assert not recorded().thinned


def test_a_restart_ended_an_epoch_that_another_one_follows() -> None:
    said = recorded(restarted=(False, False, True))
    assert [said.ended_by_restart(t) for t in (0, 1, 2)] == [True, True, True]
    assert [recorded().ended_by_restart(t) for t in (0, 1, 2)] == [True, True, False]
    assert recorded(restarted=()).ended_by_restart(2) is False
    one = recorded(epochs=[0, 0], ks=[0, 1], sequences={"x": X[:2]}, restarted=(True,))
    assert one.ended_by_restart(0) is True
    assert one.ended_by_restart(-1) is True  # an epoch 0 follows
    assert one.ended_by_restart(1) is False


def test_nobody_said_where_epochs_begin() -> None:
    assert RecordedRun(run_of()).flat is False
    flat = Run("", "", np.zeros(1), "finished", {}, 0, 0, run_of().trace, MappingProxyType({}))
    assert RecordedRun(flat).flat is True


# --- entries


def test_equal_points_are_one_object_until_they_are_forgotten() -> None:
    run = recorded()
    first = run.entry("x", 0, 2)
    assert run.entry("x", 1, 0) is first
    assert run.entry("x", 0, 1) is not first
    run.forget()
    assert run.entry("x", 0, 2) is not first


def test_points_in_many_digits_keep_them() -> None:
    with mpmath.workdps(60):
        tiny = mpmath.mpf(1) + mpmath.mpf(10) ** -40
        table = np.array([[mpmath.mpf(1)], [tiny], [mpmath.mpf(1)]], dtype=object)
        run = recorded(epochs=[0, 0, 0], ks=[0, 1, 2], sequences={"x": table})
        assert run.entry("x", 0, 0) is run.entry("x", 0, 2)
        assert v.compare(run.entry("x", 0, 0).entries[0], "<", run.entry("x", 0, 1).entries[0]) is True
        assert run.upper_points(1).shape == (0, 1)


def test_a_float_among_many_digits_is_an_entry() -> None:
    """A projection onto a simplex sets zeros, which are floats: the main job met an internal error there."""
    table = np.array([[mpmath.mpf(1), 0.0], [0.5, mpmath.mpf(2)], [mpmath.mpf(1), 0.0]], dtype=object)
    run = recorded(epochs=[0, 0, 0], ks=[0, 1, 2], sequences={"x": table})
    assert numbers(run.entry("x", 0, 0)) == [1.0, 0.0]
    assert numbers(run.entry("x", 0, 1)) == [0.5, 2.0]
    assert run.entry("x", 0, 0) is run.entry("x", 0, 2)


def test_entry_before_the_first_is_the_recorded_start_or_the_first_point() -> None:
    starts = {"epoch": [0.0, 2.0], "w": [[7.0, 7.0], [8.0, 8.0]], "z": [[1.0, NAN], [4.0, 4.0]]}
    both = {"x": X, "w": X, "z": X}
    run = recorded(restarts=True, sequences=both, starts=starts)
    assert numbers(run.entry("w", 0, -1)) == [7, 7]
    assert numbers(run.entry("w", 2, -1)) == [8, 8]
    assert numbers(run.entry("w", 1, -1)) == X[3]  # no start of epoch 1: at rest
    assert numbers(run.entry("x", 1, -1)) == X[3]
    assert numbers(run.entry("x", 0, -1)) == X[0]
    assert numbers(run.entry("z", 2, -1)) == [4, 4]
    for name, epoch in (("z", 0), ("z", 1), ("v", 0)):  # NaN; no row; no sequence
        with pytest.raises(EvaluationError, match="not recorded"):
            run.entry(name, epoch, -1)
    in_order = recorded(restarts=True, sequences=both, starts={"w": [[7.0, 7.0], [8.0, 8.0]]})
    assert numbers(in_order.entry("w", 1, -1)) == [8, 8]
    assert numbers(in_order.entry("w", 2, -1)) == X[5]  # fewer starts than epochs


def test_a_sequence_starts_at_rest_only_where_it_is_recorded_and_starts_at_the_first_point() -> None:
    assert numbers(recorded(restarts=True, sequences={"x": X}).entry("x", 1, -1)) == X[3]
    assert numbers(recorded(restarts=True, sequences={"x": X, "y": X}).entry("w", 1, -1)) == X[3]  # another name of w
    moved = [[a, b + 1] for a, b in X]  # w[-1] is a point of its own here, as in fsba
    for sequences in ({"x": X}, {"x": X, "w": moved}, {"x": X, "w": [[NAN, NAN]] * 6}, {"x": X, "y": moved}):
        for own in (False, True):
            with pytest.raises(EvaluationError, match="not recorded: w"):
                recorded(own, True, sequences=sequences).entry("w", 1, -1)
    shorter = recorded(restarts=True, sequences={"x": X, "w": [[a] for a, _ in X]})
    with pytest.raises(EvaluationError, match="not recorded: w"):
        shorter.entry("w", 0, -1)


@pytest.mark.parametrize("restarts", [None, False])
def test_a_method_that_does_not_restart_has_no_entry_before_the_first_but_the_recorded_one(
    restarts: bool | None,
) -> None:
    for name in ("x", "w"):
        with pytest.raises(EvaluationError, match=rf"not recorded: {name}\[0, -1\]"):
            recorded(restarts=restarts, sequences={"x": X, "w": X}).entry(name, 0, -1)
    said = recorded(restarts=restarts, sequences={"x": X}, starts={"x": [[7.0, 7.0], [8.0, 8.0], [NAN, NAN]]})
    assert numbers(said.entry("x", 1, -1)) == [8, 8]


def test_what_the_paper_does_not_define_is_not_recorded() -> None:
    table = [[NAN, 1.0], *X[1:]]
    run = recorded(sequences={"x": X, "z": table})
    assert numbers(run.entry("z", 0, 1)) == X[1]
    with pytest.raises(EvaluationError, match=r"not recorded: z\[0, 0\]"):
        run.entry("z", 0, 0)
    with mpmath.workdps(30):
        deep = np.array([[mpmath.mpf("nan"), mpmath.mpf(1)]] * 6, dtype=object)
        with pytest.raises(EvaluationError, match="not recorded"):
            recorded(sequences={"x": X, "z": deep}).entry("z", 0, 0)
    short = recorded(sequences={"x": X, "z": X[:2]})
    with pytest.raises(EvaluationError, match="not recorded"):
        short.entry("z", 1, 0)


@pytest.mark.parametrize("number", [np.inf, -np.inf, NAN])
def test_what_overflowed_is_not_recorded_in_any_sequence_or_output(number: float) -> None:
    bad = [[number, 1.0], *X[1:]]
    for table in (np.array(bad), np.array([[mpmath.mpf(a) for a in row] for row in bad], dtype=object)):
        run = recorded(sequences={"x": table, "y": table}, restarts=True)
        for name, k in (("x", 0), ("y", 0), ("x", -1)):
            with pytest.raises(EvaluationError, match=rf"not recorded: {name}\[0, {k}\]"):
                run.entry(name, 0, k)
        assert numbers(run.entry("y", 0, 1)) == X[1]
        run.run = dataclasses.replace(run.run, x=table[0])
        with pytest.raises(EvaluationError, match="not recorded: output"):
            run.fact("output", {})


def test_synonyms_stand_in_only_for_what_is_not_there() -> None:
    run = recorded(sequences={"x": X, "u": X[::-1], "y": X})
    assert numbers(run.entry("ghat", 0, 0)) == X[5]
    assert numbers(run.entry("w", 0, 1)) == X[1]
    both = recorded(sequences={"x": X, "u": X[::-1], "ghat": [[NAN, NAN]] * 6})
    with pytest.raises(EvaluationError):
        both.entry("ghat", 0, 0)
    for name in ("x_", "v"):
        with pytest.raises(EvaluationError):
            run.entry(name, 0, 0)


def test_the_author_of_a_solver_is_told_how_to_hand_a_sequence_back() -> None:
    with pytest.raises(EvaluationError, match="hand it back"):
        recorded(own=True).entry("z", 0, 0)
    with pytest.raises(EvaluationError, match=r"not recorded: x\[0, 9\]"):
        recorded(own=True).entry("x", 0, 9)
    with pytest.raises(EvaluationError, match=r"z\[0, 0\]"):
        recorded().entry("z", 0, 0)
    known = recorded(own=True, sequences={"x": X, "u": [[NAN, NAN]] * 6})
    with pytest.raises(EvaluationError, match=r"ghat\[0, 0\]"):  # handed back under its other name
        known.entry("ghat", 0, 0)


def test_blurred_points_are_balls_as_wide_as_a_share_of_the_largest_coordinate() -> None:
    plain = recorded(sequences={"x": X, "z": [[-40.0, NAN]] * 6})
    run = plain.blurred(0.125)
    for ball, middle in zip(run.entry("x", 0, 1).entries, X[1]):
        assert float(ball.mid()) == middle
        assert 5 <= float(ball.rad()) < 5.001
    out = run.fact("output", {})
    assert [float(b.mid()) for b in out.entries] == [3, -5]
    assert all(float(b.rad()) >= 5 for b in out.entries)
    assert run.fact("iterations", {}) == plain.fact("iterations", {})
    assert float(run.fact("x_int", {}).entries[0].rad()) >= 5
    alone = recorded(sequences={"x": np.zeros((6, 2))}).blurred(1.0)  # the output counts
    assert float(alone.entry("x", 0, 0).entries[0].rad()) == pytest.approx(5, rel=1e-6)


def test_upper_points_are_all_that_were_recorded_with_the_output() -> None:
    points = recorded(sequences={"x": X, "w": X, "wbar": X, "y": X}).upper_points(2)
    assert points.shape == (1 + 3 * 6, 2)
    assert points[0].tolist() == [3, -5]
    assert points[1:7].tolist() == X
    assert recorded().upper_points(2).shape == (7, 2)
    assert recorded().upper_points(3).shape == (0, 3)
    assert recorded(sequences={"x": X, "w": [[1.0]] * 6}).upper_points(2).shape == (0, 2)


# --- counts and facts


def test_calls_are_the_counters_of_the_oracles() -> None:
    counts = {"grad_f": 3, "grad_g": 40, "hvp_yy_g": 7}
    run = recorded(counts=counts)
    assert [run.calls(kind) for kind in ("grad_f", "grad_g", "hvp_yy_g", "hess_f")] == [3, 40, 7, 0]
    assert run.calls("any") == 43
    assert recorded(counts={"grad_f": 2}).calls("any") == 2
    assert recorded(counts={"grad_g": 2}).calls("any") == 2
    assert recorded().calls("any") == 0


def test_a_solver_that_moved_without_asking_is_not_counted() -> None:
    with pytest.raises(EvaluationError, match="not recorded: calls"):
        recorded(own=True, counts={"grad_f": 0}).calls("grad_f")
    assert recorded(own=True, counts={"grad_f": 0, "hess_f": 1}).calls("grad_f") == 0
    assert RecordedRun(run_of()).calls("grad_f") == 0  # a method of ours, unless said otherwise
    still = recorded(own=True, sequences={"x": [X[0]] * 6})
    assert still.calls("grad_f") == 0


def test_facts() -> None:
    run = recorded()
    assert [run.fact("k_end", {"t": t}) for t in (0, 1, 2)] == [2, 1, 0]
    assert [run.fact("last_epoch", {"t": t}) for t in (0, 1, 2)] == [False, False, True]
    assert [run.fact("ended_by_restart", {"t": t}) for t in (0, 1, 2)] == [True, True, False]
    assert run.fact("iterations", {}) == 3  # of the trace, not the 77 that the run says
    assert recorded(thinned=3).fact("iterations", {}) == 77
    assert run.fact("epochs", {}) == 3
    assert isinstance(run.fact("epochs", {}), Fraction)
    assert numbers(run.fact("output", {})) == [3, -5]
    assert numbers(run.fact("x_int", {})) == X[0]
    later = recorded(epochs=[3, 3, 5, 5, 5, 5], ks=[0, 1, 0, 1, 2, 3])
    assert numbers(later.fact("x_int", {})) == X[0]
    assert later.fact("iterations", {}) == 4
    with pytest.raises(KeyError):
        run.fact("status", {})


def test_a_solver_of_the_user_hands_back_every_iterate_that_is_counted() -> None:
    whole = recorded(own=True)
    assert whole.fact("iterations", {}) == 3
    assert whole.fact("k_end", {"t": 1}) == 1
    gaps = {"epochs": [0, 0, 0, 1, 1, 2], "ks": [0, 1, 5, 0, 1, 0]}
    torn = recorded(own=True, **gaps)
    assert torn.fact("k_end", {"t": 1}) == 1
    for name, bound in (("iterations", {}), ("k_end", {"t": 0})):
        with pytest.raises(EvaluationError, match="not recorded: iterations"):
            torn.fact(name, bound)
    assert recorded(**gaps).fact("iterations", {}) == 6  # our own methods count themselves
    with pytest.raises(EvaluationError, match="not recorded: iterations"):
        recorded(own=True, thinned=5).fact("k_end", {"t": 0})


def test_points_of_many_digits_are_not_mixed_with_floats() -> None:
    table = np.array([[mpmath.mpf(1), mpmath.mpf(2)]] * 6, dtype=object)
    assert recorded(sequences={"x": table}).upper_points(2).shape == (0, 2)


def test_equal_points_are_one_object_whatever_their_place_is() -> None:
    run = recorded()
    assert run.entry("x", 0, 2) is run.entry("x", 1, 0)
    assert run.entry("x", 0, 2) is not run.entry("x", 0, 1)
    assert run.entry("x", 0, 2) is run.entry("x", 0, 2)
    run.forget()
    assert numbers(run.entry("x", 0, 2)) == [2.0, 1.0]
