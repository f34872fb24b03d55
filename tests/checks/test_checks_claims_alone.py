"""Claims along a run: which places are judged, which are given up and why; on runs made by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from bilevel_verify.checks.claims import claims as c
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.language import parse
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link

pytestmark = pytest.mark.fast


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def claim(
    left: str, right: str, over: Any = "step", where: tuple[str, ...] = (), name: str = "c", **more: Any
) -> Claim:
    ranges = {n: Domain("", "integers", *map(expression, ends)) for n, ends in more.pop("for_", {}).items()}
    conditions = tuple(Condition(parse(text), text) for text in where)
    links = (Link(expression(left), "<=", expression(right)),)
    return Claim(id=name, over=over, chain=links, for_=ranges, where=conditions, **more)


def run_of(lengths: tuple[int, ...], thinned: int | None = None, epochs: int | None = None) -> RecordedRun:
    """Epochs of so many rows; x[t, k] = 10*t + k."""
    rows = [(t, k) for t, size in enumerate(lengths) for k in range(size)]
    stamps, ks = (np.array([row[i] for row in rows]) for i in (0, 1))
    trace = Trace(stamps, ks, {"x": np.array([[10.0 * t + k] for t, k in rows])}, {}, thinned)
    count = len(lengths) if epochs is None else epochs
    return RecordedRun(Run("m", "p", np.zeros(1), "finished", {}, 0, count, trace, {}), restarts=True)


LETTERS: dict[str, Any] = {"w": (arb(1, 0.5), "certified"), "a": (Fraction(2), "proved")}


def judged(claims: list[Claim], run: RecordedRun, **more: Any) -> list[c.Judged]:
    def tool(one: Claim) -> Evaluator:
        return Evaluator(LETTERS, {n: e.tree for n, e in one.define.items()}, None, run)

    return c.judge_claims(claims, tool, run, more.pop("forget", lambda: None), **more)


def places(claim_: Claim, run: RecordedRun, **more: Any) -> list[tuple[int, int]]:
    """(t, k) at which a claim ``x[k] <= ...`` was judged, read off the values of its left side."""
    seen: list[tuple[int, int]] = []

    class Spy(Evaluator):
        def value(self, node: Any, bound: Any = None) -> Any:
            if node is claim_.chain[0].left.tree:
                seen.append((bound.get("t"), bound.get("k")))
            return super().value(node, bound)

    c.judge_claims([claim_], lambda one: Spy(LETTERS, {}, None, run), run, lambda: None, **more)
    return seen


def test_a_step_claim_is_judged_before_every_iterate_but_the_last_of_its_epoch() -> None:
    step = claim("norm(x[k+1] - x[k])", "1")
    assert places(step, run_of((3, 1, 2))) == [(0, 0), (0, 1), (2, 0)]
    (found,) = judged([step], run_of((3, 1, 2)))
    assert (found.tally.places, found.tally.held) == (3, 3)
    assert found.tally.outcome() == ("holds", "")


def test_an_epoch_claim_is_judged_once_at_the_end_of_each_epoch() -> None:
    assert places(claim("norm(x[k])", "99", "epoch"), run_of((3, 2))) == [(0, 2), (1, 1)]
    assert places(claim("norm(x[k])", "99", "epoch", for_={"k": ("0", "k_end")}), run_of((3, 2))) == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1),
    ]  # fmt: skip
    assert places(claim("norm(x[k])", "99", "step", for_={"k": ("1", "k_end - 1")}), run_of((3, 2))) == [(0, 1)]


def test_a_run_claim_is_judged_once_in_the_last_epoch() -> None:
    run_claim = claim("iterations", "99", "run")
    assert places(run_claim, run_of((3, 2))) == [(1, None)]
    assert places(run_claim, run_of((3, 2), thinned=1)) == [(1, None)]  # whatever was thinned


def test_the_last_epoch_of_a_run_that_was_cut_short_is_no_epoch() -> None:
    run = run_of((3, 2))
    assert places(claim("norm(x[k])", "99", "epoch"), run, truncated=True) == [(0, 2)]
    assert places(claim("norm(x[k+1] - x[k])", "9"), run, truncated=True) == [(0, 0), (0, 1), (1, 0)]
    assert places(claim("k", "k_end"), run, truncated=True) == [(0, 0), (0, 1)]
    assert places(claim("norm(x[k])", "99", "epoch"), run_of((3, 1)), truncated=True) == [(0, 2)]
    assert places(claim("norm(x[k+1])", "99", for_={"k": ("0", "0")}), run_of((3, 1)), truncated=True) == [(0, 0)]
    assert len(places(claim("norm(x[k])", "99", for_={"k": ("0", "0")}), run_of((3, 1)))) == 2


def test_thinned_epochs_are_given_up_with_a_reason() -> None:
    step, run_claim = claim("norm(x[k+1] - x[k])", "1"), claim("iterations", "99", "run")
    first, second = judged([step, run_claim], run_of((3, 2, 2), thinned=4))
    verdict, reason = first.tally.outcome()
    assert verdict == "undecided"
    assert reason.startswith("not recorded: epochs 1 on were thinned")
    assert (first.tally.held, first.tally.open_count) == (2, 1)
    assert second.tally.outcome()[0] == "holds"


def test_work_that_is_spent_gives_up_the_rest_and_says_which() -> None:
    step, run_claim = claim("norm(x[k+1] - x[k])", "1"), claim("iterations", "99", "run")
    first, second = judged([step, run_claim], run_of((3, 2, 2)), work=-1)
    assert first.tally.outcome()[1].startswith("budget: epochs 0 to 2 were not judged")
    assert (first.tally.held, first.tally.open_count) == (0, 1)
    assert second.tally.outcome()[0] == "holds"


def test_iterates_of_which_nobody_said_where_an_epoch_begins() -> None:
    flat = run_of((4,), epochs=0)
    by_epoch, run_claim = claim("norm(x[k])", "99", "epoch"), claim("norm(output)", "99", "run")
    first, second = judged([by_epoch, run_claim], flat)
    assert first.tally.outcome()[1].startswith("not recorded: epochs (hand back a list of epochs")
    assert first.tally.places == 1
    assert second.tally.outcome()[0] == "holds"


def test_running_sums_and_kept_values_are_dropped_after_every_epoch() -> None:
    forgotten: list[int] = []
    run = run_of((3, 2))
    (found,) = judged(
        [claim("sum(norm(x[i]), (i, 0, k))", "21")], run, forget=lambda: forgotten.append(len(run._cache))
    )
    assert forgotten == [0, 0]
    assert found.tally.violated == 0
    assert found.tally.places == 3
    assert found.evaluator._memory == {}


def test_a_violated_place_is_a_violation_and_where_is_said() -> None:
    (found,) = judged([claim("norm(x[k])", "10")], run_of((3, 3)))
    assert found.tally.outcome()[0] == "refuted"
    assert (found.tally.held, found.tally.violated, found.tally.first_epoch) == (3, 1, 1)
    assert found.tally.worst is not None
    assert found.tally.worst.where == "epoch 1, k = 1"


def test_conditions_that_are_false_skip_and_open_ones_leave_a_place_open() -> None:
    (found,) = judged([claim("norm(x[k])", "0", where=("k >= 1", "k <= 0"))], run_of((3,)))
    assert (found.tally.places, found.tally.skipped) == (0, 2)
    (found,) = judged([claim("norm(x[k])", "99", where=("k >= 1",))], run_of((3,)))
    assert (found.tally.held, found.tally.skipped) == (1, 1)
    (found,) = judged([claim("norm(x[k])", "99", where=("w < 1",))], run_of((3,)))
    assert found.tally.outcome()[0] == "undecided"
    assert found.tally.open_count == 2
    assert found.tally.shown is not None
    assert found.tally.shown.reason == "tie: a condition of the claim is not decided"
    (found,) = judged([claim("norm(x[k])", "99", where=("w < 1", "1 < 0"))], run_of((3,)))
    assert found.tally.skipped == 2  # one false condition is enough


def test_a_side_without_a_value_leaves_the_place_open() -> None:
    (found,) = judged([claim("norm(y[k])", "99")], run_of((3,)))
    assert found.tally.outcome() == ("undecided", "not recorded: y[0, 0] (2 of 2 places)")


def test_what_is_not_settled_is_judged_again_in_full_precision_and_only_that() -> None:
    run, made = run_of((3,)), []

    def again(one: Claim) -> Evaluator:
        made.append(one)
        return Evaluator({"w": (Fraction(1), "proved")}, {}, None, run)

    tie, clear = claim("w", "1", name="tie"), claim("norm(x[k])", "99", name="clear")
    first, second = judged([tie, clear], run, again=again)
    assert first.tally.outcome()[0] == "holds"
    assert second.tally.outcome()[0] == "holds"
    assert made == [tie]  # once, and not for what holds
    assert first.again is not None
    assert first.again() is first.again()
    (alone,) = judged([tie], run)
    assert alone.tally.outcome()[0] == "undecided"


def test_the_certainty_of_a_place_is_its_own() -> None:
    (found,) = judged([claim("k", "a + 5")], run_of((3,)))
    assert found.tally.certainty == "proved"
    (found,) = judged([claim("w", "a")], run_of((3,)))
    assert found.tally.certainty == "certified"


def test_parameters_need_no_run_and_every_link_is_judged() -> None:
    links = tuple(Link(expression(x), "<=", expression(y)) for x, y in (("1", "a"), ("a", "1")))
    found = c.judge_parameters([Claim(id="p", over="parameters", chain=links)], lambda one: Evaluator(LETTERS))
    assert [(j.number, j.tally.outcome()[0]) for j in found] == [(0, "holds"), (1, "refuted")]
    ranged = claim("i", "3", "parameters", for_={"i": ("1", "4")})
    (one,) = c.judge_parameters([ranged], lambda one: Evaluator(LETTERS))
    assert (one.tally.held, one.tally.violated) == (3, 1)


# --- ranges


def expanded(for_: dict[str, tuple[str, str]], start: Any = None) -> list[dict[str, Any]]:
    ranges = {n: Domain("", "integers", *map(expression, ends)) for n, ends in for_.items()}
    return list(c.expand(ranges, Evaluator(LETTERS), dict(start or {})))


def test_all_places_of_the_quantified_letters() -> None:
    assert expanded({}, {"t": 4}) == [{"t": 4}]
    assert expanded({"i": ("1", "3")}) == [{"i": 1}, {"i": 2}, {"i": 3}]
    assert expanded({"i": ("1/2", "5/2")}) == [{"i": 1}, {"i": 2}]
    assert expanded({"i": ("3", "2")}) == []
    assert expanded({"i": ("2", "2")}) == [{"i": 2}]
    assert expanded({"i": ("1", "2"), "j": ("i", "2")}, {"t": 0}) == [
        {"t": 0, "i": 1, "j": 1}, {"t": 0, "i": 1, "j": 2}, {"t": 0, "i": 2, "j": 2},
    ]  # fmt: skip


def test_ranges_without_integers_or_ends_are_not_enumerated() -> None:
    tool = Evaluator(LETTERS)
    for low, high in ((None, expression("2")), (expression("1"), None)):
        with pytest.raises(EvaluationError, match="budget: the range of i has no end"):
            list(c.expand({"i": Domain("", "integers", low, high)}, tool, {}))
    real = {"i": Domain("", "integers", *map(expression, "12")), "z": Domain("[0, 1]", "interval")}
    with pytest.raises(EvaluationError, match="budget: z ranges over"):
        list(c.expand(real, tool, {}))
    (found,) = judged([claim("i", "9", for_={"i": ("unknown", "2")})], run_of((3,)))
    assert found.tally.outcome()[0] == "undecided"
    assert found.tally.open_count == 2


def test_there_are_not_too_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c, "MOST_PLACES", 5)
    (found,) = judged([claim("i", "9", for_={"i": ("1", "4")})], run_of((3,)))
    assert found.tally.places == 5


def test_places_and_letters_as_text_and_names() -> None:
    assert c.describe({"t": 3, "k": 17}) == "epoch 3, k = 17"
    assert c.describe({"q": Fraction(1, 2), "p": arb(1)}) == "q = 1/2"
    (found,) = judged([claim("i", "0", "run", for_={"i": ("1", "1")})], run_of((3,)))
    assert found.tally.shown is not None
    assert found.tally.shown.where == "i = 1"  # of a run: no epoch
    local = claim("b*i", "d", where=("e < 1",), for_={"i": ("f", "g")}, define={"d": expression("h")})
    chance = claim("1", "2", probability=expression("delta"))
    assert c.letters_used([local, chance]) == {"b", "e", "f", "g", "h", "delta"}
    reading, repaired = claim("1", "2", name="r"), claim("1", "2", name="s")
    whole = claim("1", "2", readings=(reading,), repaired=repaired)
    assert [one.id for one in c.all_claims((whole, reading))] == ["c", "r", "r", "s"]
