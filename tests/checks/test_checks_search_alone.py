"""The search for a point that violates a claim: places, letters over their ranges, what is skipped, what is said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import attack
from bilevel_verify.checks.judging.attack import (
    Letter,
    _between,
    _describe,
    _letter,
    _outcome,
    _place,
    _search,
    _stretch,
)
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link

pytestmark = pytest.mark.fast
UNIT = Domain("[0, 1]", "interval", Expression(parse("0"), ""), Expression(parse("1"), ""))


def link(text: str) -> Link:
    node: Any = parse(text)
    (left, right), (op,) = node.operands, node.operators
    return Link(Expression(left, ""), op, Expression(right, ""))


def judged_of(
    text: str, letters: dict[str, Any] | None = None, where: tuple[str, ...] = (), **ranges: Domain
) -> Judged:
    conditions = tuple(Condition(parse(one), one) for one in where)
    claim = Claim(id="c", over="point", chain=(link(text),), for_=ranges, where=conditions)
    return Judged(claim, claim.chain[0], 0, Tally(), Evaluator(letters or {}))


def case_of(**changes: Any) -> Any:
    problem = SimpleNamespace(
        kind="constrained_bilevel", set_of_x=None, dx=2, dy=1, x=("x1", "x2"), y=("y1",), variables=("x1", "x2", "y1")
    )
    instance = SimpleNamespace(local=(), truth=None)
    return SimpleNamespace(**{"problem": problem, "instance": instance, "functions": None, "premises": [], **changes})


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


# --- letters


@pytest.mark.parametrize(
    ("low", "high", "ends", "middle"),
    [
        (0.0, 1.0, (0.0, 1.0), 0.5),
        (-3.0, 5.0, (-3.0, 5.0), 1.0),
        (1.0, 100.0, (1.0, 100.0), 50.5),  # not long enough for a log scale
        (1.0, 10_000.0, (1.0, 10_000.0), 100.0),
        (0.0, 10_000.0, (0.0, 10_000.0), 5_000.0),  # no logarithm of 0
        (2.0, inf, (2.0, 2.0 + 2e9), 2.0 + 2 * np.expm1(4.0)),
        (0.5, inf, (0.5, 0.5 + 1e9), 0.5 + np.expm1(4.0)),
        (-2.0, inf, (-2.0, -2.0 + 2e9), -2.0 + 2 * np.expm1(4.0)),
        (-inf, -4.0, (-4.0 - 4e9, -4.0), -4.0 - 4 * np.expm1(4.0)),
        (-inf, 0.0, (-1e9, 0.0), -np.expm1(4.0)),
        (-inf, inf, (-1e9, 1e9), 0.0),
    ],
)
def test_the_unit_interval_over_a_range(low: float, high: float, ends: Any, middle: float) -> None:
    assert (_between(0.0, low, high), _between(1.0, low, high)) == pytest.approx(ends)
    assert _between(0.5, low, high) == pytest.approx(middle, abs=1e-12)
    found = [_between(float(u), low, high) for u in np.linspace(0, 1, 101)]
    assert all(low <= value <= high for value in found)
    assert found == sorted(found)
    assert all(abs(value) < 1e5 for value in found[1:-1])  # only a corner is far away


def test_the_unit_cube_over_all_of_space() -> None:
    found = _stretch(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert found == pytest.approx([-np.expm1(3), -np.expm1(1.5), 0.0, np.expm1(1.5), np.expm1(3)])


def ends_of(low: str | None, high: str | None, kind: Any, letters: dict[str, Any] | None = None) -> Any:
    domain = Domain("", kind, *(None if e is None else Expression(parse(e), "") for e in (low, high)))
    letter = _letter("a", domain, case_of(), Evaluator(letters or {}))
    assert (letter.name, letter.size) == ("a", 1)
    return [letter.build(np.array([u])) for u in (0.0, 0.5, 1.0)]


def test_letters_of_intervals_and_whole_numbers_stay_in_their_ranges() -> None:
    assert [float(a) for a in ends_of("0", "1", "interval")] == [0.0, 0.5, 1.0]
    wide = {"m": (arb(3.5, 0.25), "certified"), "n": (arb(6.5, 0.25), "certified")}
    # a range whose ends are enclosures: what surely belongs to it
    assert [float(a) for a in ends_of("m", "n", "interval", wide)] == pytest.approx([3.75, 5.0, 6.25], rel=1e-6)
    assert ends_of("m", "n", "integers", wide) == [4, 5, 6]
    assert ends_of("1", "3", "integers") == [1, 2, 3]
    assert ends_of("2", None, "integers") == [2, 8, 14]
    assert ends_of("2", "oo", "integers") == [2, 8, 14]
    assert ends_of(None, "4", "integers") == [0, 2, 4]
    assert ends_of(None, "-4", "integers") == [-16, -10, -4]
    assert ends_of(None, "0", "integers") == ends_of(None, "1/2", "integers") == [0, 0, 0]
    assert ends_of("5/2", "5", "integers") == [3, 4, 5]
    assert ends_of("1", "7/2", "integers") == [1, 2, 3]
    assert ends_of("-7/2", "-1/2", "integers") == [-3, -2, -1]
    assert ends_of("2", "2", "integers") == [2, 2, 2]
    assert all(isinstance(a, Fraction) for a in ends_of("1", "3", "integers"))
    assert [float(a) for a in ends_of(None, None, "interval")] == [-1e9, 0.0, 1e9]
    assert [float(a) for a in ends_of("-oo", "oo", "interval")] == [-1e9, 0.0, 1e9]
    with pytest.raises(v.EvaluationError, match="not attacked here"):
        ends_of("0", "1", "weights")


@pytest.mark.parametrize(
    ("low", "high", "closed", "ends"),
    [
        ("0", "1", "(]", (0.0, 1.0)), ("0", "1", "[)", (0.0, 1.0)), ("0", "1", "()", (0.0, 1.0)),
        ("1", "10**6", "()", (1.0, 1e6)), ("2", "oo", "()", (2.0, inf)),
        ("-oo", "-1", "()", (-inf, -1.0)), ("-3", "-2", "()", (-3.0, -2.0)),
    ],
)  # fmt: skip
def test_an_open_end_is_come_close_to_and_never_taken(low: str, high: str, closed: str, ends: Any) -> None:
    domain = Domain(
        "", "interval", Expression(parse(low), ""), Expression(parse(high), ""), closed[0] == "[", closed[1] == "]"
    )
    letter = _letter("a", domain, case_of(), Evaluator({}))
    found = sorted(float(letter.build(np.array([u]))) for u in (0.0, 1.0))
    for value, end, taken in zip(found, ends, (closed[0] == "[", closed[1] == "]")):
        if taken:
            assert value == end
        elif abs(end) == inf:
            assert abs(value) > 1e8
        else:
            assert ends[0] < value < ends[1]
            assert value == pytest.approx(end, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize(
    ("low", "high", "closed", "whole", "found"),
    [
        ("2", "1", "[]", False, None), ("2", "2", "(]", False, None), ("2", "2", "[)", False, None),
        ("2", "2", "[]", False, [2, 2]), ("7/2", "15/4", "[]", True, None), ("3", "4", "()", True, None),
        ("3", "5", "()", True, [4, 4]), ("3", "5", "(]", True, [4, 5]), ("3", "5", "[)", True, [3, 4]),
        ("5/2", "9/2", "()", True, [3, 4]), ("4", "3", "[]", True, None), ("1/3", "1/3", "[]", False, None),
    ],
)  # fmt: skip
def test_an_empty_range_is_no_range(low: str, high: str, closed: str, whole: bool, found: Any) -> None:
    ends = Expression(parse(low), ""), Expression(parse(high), "")
    domain = Domain("r", "integers" if whole else "interval", *ends, closed[0] == "[", closed[1] == "]")
    if found is None:
        with pytest.raises(v.EvaluationError, match="budget: no number that is surely in the range"):
            _letter("a", domain, case_of(), Evaluator({}))
        return
    letter = _letter("a", domain, case_of(), Evaluator({}))
    assert [float(letter.build(np.array([u]))) for u in (0.0, 1.0)] == found


def test_letters_of_points_have_the_size_of_their_space() -> None:
    ranges = {"x1": (-1, 1), "x2": (0, inf), "y1": (-inf, 2)}
    case = case_of()
    case.problem.range_of = ranges.__getitem__
    for space, size, low, high in (
        ("x", 2, [-1, 0], [1, 12]), ("y", 1, [-10], [2]), ("xy", 3, [-1, 0, -10], [1, 12, 2]),
    ):  # fmt: skip
        letter = _letter("p", Domain("", "domain", space=space), case, Evaluator({}))  # type: ignore[arg-type]
        assert letter.size == size
        assert [float(e) for e in letter.build(np.zeros(size)).entries] == low
        assert [float(e) for e in letter.build(np.ones(size)).entries] == high
    case.problem.range_of = lambda symbol: (-inf, inf)
    letter = _letter("p", Domain("", "domain", space="x"), case, Evaluator({}))
    assert [float(e) for e in letter.build(np.array([0.0, 1.0])).entries] == [-attack.REACH, attack.REACH]
    for space, size in (("x", 2), ("y", 1)):
        letter = _letter("u", Domain("", "vectors", space=space), case, Evaluator({}))  # type: ignore[arg-type]
        assert letter.size == size
        assert [float(e) for e in letter.build(np.full(size, 0.5)).entries] == [0.0] * size


def test_points_of_the_upper_level_are_projected_onto_the_feasible_set(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.truth.sets import projections

    case = case_of()
    point = np.array([3.0, 4.0])
    assert attack._feasible(case, point) is point
    case.problem.set_of_x = SimpleNamespace(contains=lambda entries: sum(e * e for e in entries) <= 25.0)
    monkeypatch.setattr(projections, "project", lambda where, given: given / 2)
    assert attack._feasible(case, point).tolist() == [1.5, 2.0]
    assert attack._feasible(case, np.array([1.0])).tolist() == [1.0]  # another space
    here, there = v.vector([3.0, 4.0]), v.vector([3.0, 4.5])
    ranges = {"a": Domain("", "domain", space="x"), "b": Domain("", "domain", space="x"),
              "w": Domain("", "vectors", space="x"), "y": Domain("", "domain", space="y")}  # fmt: skip
    for place, outside in (
        ({"a": here, "b": here, "w": there, "y": there}, False),
        ({"a": here, "b": there, "w": here, "y": here}, True),
        ({"a": there, "b": here, "w": here, "y": here}, True),
    ):
        assert attack._outside(case, ranges, place) is outside
    case.problem.set_of_x = None
    assert attack._outside(case, ranges, {"a": there, "b": there}) is False


def test_equal_points_are_one_object_and_numbers_are_not() -> None:
    letters = [Letter(n, 2, v.vector) for n in "ab"] + [Letter("t", 1, lambda u: v.ball(float(u[0])))]
    place = _place(letters, np.array([1.0, 2.0, 1.0, 2.0, 1.0]))
    assert place["a"] is place["b"]
    assert float(place["t"]) == 1.0
    apart = _place(letters, np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
    assert [float(e) for e in apart["b"].entries] == [1.0, 3.0]
    assert _describe(apart) == "a = [1, 2]; b = [1, 3]; t = 1"


# --- places


def test_a_place_is_judged_skipped_or_open() -> None:
    letters = {"c": (v.ball(2.0), "computed")}
    for text, where, counts in (
        ("a <= c", (), (1, 0, True)),
        ("a <= 1", (), (1, 0, False)),
        ("a <= c", ("a <= 4",), (1, 0, True)),
        ("a <= 1", ("a <= 4", "a >= 3"), (0, 1, None)),  # a condition that does not hold
        ("a <= 1", ("a <= nobody",), (1, 0, None)),  # one that has no answer
        ("a <= nobody", (), (1, 0, None)),
        ("1/(a - a) <= 1", (), (1, 0, None)),
    ):
        judged = judged_of(text, letters, where)
        found = attack._attack(judged, {"a": v.ball(1.5)}, case_of())
        tally = judged.tally
        assert (tally.places, tally.skipped) == counts[:2], text
        assert (None if found is None else found.answer) is counts[2], text
        if found is not None and text.endswith("c"):
            assert (found.where, found.certainty) == ("a = 1.5", "computed")


def test_what_was_computed_at_one_place_is_forgotten_at_the_next() -> None:
    forgotten: list[int] = []
    case = case_of(functions=SimpleNamespace(forget=lambda: forgotten.append(1)))
    judged = judged_of("a <= c", {"c": (v.ball(2.0), "sampled")})
    judged.evaluator._memory["before"] = (Fraction(1), "proved")
    attack._attack(judged, {"a": v.ball(1.0)}, case)
    assert not judged.evaluator._memory
    plain = judged_of("a <= 2")
    plain.evaluator.note("sampled")
    found = attack._attack(plain, {"a": v.ball(1.0)}, case)
    assert len(forgotten) == 2
    assert found is not None
    assert found.certainty != "sampled"  # of the place before


def test_a_point_outside_of_the_feasible_set_decides_nothing() -> None:
    case = case_of()
    case.problem.set_of_x = SimpleNamespace(contains=lambda entries: entries[0] <= 1.0)
    judged = judged_of("1 <= 0", None, (), x=Domain("", "domain", space="x"))
    assert attack._attack(judged, {"x": v.vector([2.0, 0.0])}, case) is None
    assert (judged.tally.places, judged.tally.skipped) == (0, 1)
    assert attack._attack(judged, {"x": v.vector([1.0, 0.0])}, case) is not None
    assert judged.tally.violated


@pytest.mark.parametrize(("draws", "polish", "least"), [(24, 0, 24), (96, 0, 96), (4, 10, 4 + 20)])
def test_so_many_draws_and_local_searches(draws: int, polish: int, least: int) -> None:
    judged = judged_of("a + b <= 3", None, (), a=UNIT, b=UNIT)
    letters = [_letter(n, UNIT, case_of(), judged.evaluator) for n in "ab"]
    largest = _search(judged, letters, case_of(), generator(), draws, polish)
    places = judged.tally.places
    assert places == draws if not polish else least <= places <= draws + 3 * polish + 9
    assert 0 < largest < 2 / 3 + 1e-12
    if draws > 90:
        assert largest == pytest.approx(2 / 3)  # corners are drawn


def test_local_search_climbs_from_the_best_draws() -> None:
    """A narrow peak: ratio 1/(1 + 400 (a - 0.37)^2), found to within a thousandth by Nelder and Mead alone."""
    judged = judged_of("1 <= 1 + 400*(a - 37/100)**2", None, (), a=UNIT)
    letters = [_letter("a", UNIT, case_of(), judged.evaluator)]
    without = _search(judged_of("1 <= 1 + 400*(a - 37/100)**2"), letters, case_of(), generator(), 6, 0)
    largest = _search(judged, letters, case_of(), generator(), 6, 40)
    assert without < largest <= 1.0
    assert largest > 0.999


def test_a_claim_without_letters_is_judged_once() -> None:
    judged = judged_of("1 <= 4")
    assert _search(judged, [], case_of(), generator(), 96, 60) == pytest.approx(0.25)
    assert judged.tally.places == 1


# --- what is said


def premise(verdict: Any) -> Premise:
    return Premise("h", verdict, f"because {verdict}", "certified")


HELD = Judgement(True, 1.0, 4.0, 0.75, "", "certified", "x = 1")
BROKEN = Judgement(False, 4.0, 1.0, -0.75, "", "proved", "x = 2", 1.0)
OPEN = Judgement(None, nan, nan, nan, "precision", "computed", "x = 3")


@pytest.mark.parametrize(
    ("places", "premises", "local", "points", "proof", "said"),
    [
        ([HELD], [], (), False, None, ("undecided", "survived 1 attacks, largest ratio 0.25")),
        ([HELD, OPEN], [], (), False, None, ("undecided", "survived 2 attacks, largest ratio 0.25")),
        ([HELD], [], (), False, "p", ("holds", "p")),
        ([HELD], ["holds"], (), False, "p", ("holds", "p")),
        ([HELD], [], ("L",), False, "p", ("holds", "p; local constants")),
        ([HELD], ["undecided"], (), False, "p", ("undecided", "because undecided")),
        ([HELD], ["holds", "not applicable"], (), False, "p", ("not applicable", "because not applicable")),
        ([BROKEN], ["not applicable"], (), False, None, ("not applicable", "because not applicable")),
        ([BROKEN], ["undecided"], (), False, None, ("undecided", "because undecided")),
        ([HELD, BROKEN], [], (), False, None, ("refuted", "violated at x = 2 (found after 2 attacks)")),
        ([BROKEN], [], (), False, "p", ("refuted", "violated at x = 2 (found after 1 attacks)")),
        ([BROKEN], [], ("L",), True, None, ("refuted", "violated at x = 2 (found after 1 attacks)")),
        ([BROKEN], [], ("L",), False, None, ("undecided", "local: violated at x = 2, but L holds on a box only")),
        ([BROKEN], [], ("L", "M"), False, None, ("undecided", "local: violated at x = 2, but L, M hold on a box only")),
        ([], [], (), False, None, ("not applicable", "")),
        ([], [], (), False, "p", ("not applicable", "")),
        ([], ["not applicable"], (), False, None, ("not applicable", "because not applicable")),
    ],
)
def test_what_a_search_decides(
    places: list[Judgement], premises: list[str], local: Any, points: bool, proof: Any, said: Any
) -> None:
    judged = judged_of("1 <= 2")
    judged = replace(judged, claim=replace(judged.claim, points=points))
    for one in places:
        judged.tally.take(one)
    case = case_of(premises=[premise(p) for p in premises])
    case.instance.local = local
    verdict, reason = _outcome(case, judged, 0.25, proof)
    assert verdict == said[0]
    assert reason.startswith(said[1])


def test_a_largest_ratio_that_is_no_number_is_none() -> None:
    judged = judged_of("1 <= 2")
    judged.tally.take(HELD)
    for largest in (inf, -inf, nan):
        assert _outcome(case_of(), judged, largest, None)[1] == "survived 1 attacks, largest ratio none"


def test_a_proof_is_tried_only_where_every_hypothesis_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.checks.judging import boxes

    monkeypatch.setattr(boxes, "prove", lambda case, judged: "p")
    for premises, proof in (([], "p"), (["holds"], "p"), (["undecided"], None), (["holds", "not applicable"], None)):
        assert attack._proof(case_of(premises=[premise(p) for p in premises]), judged_of("1 <= 2")) == proof


@pytest.mark.parametrize(("text", "tried"), [("a <= 2", True), ("a <= 1/2", False)])
def test_a_claim_is_searched_again_where_it_is_neither_violated_nor_proved(
    text: str, tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[tuple[int, int]] = []
    proofs: list[Any] = []

    def search(judged: Judged, letters: Any, case: Any, rng: Any, draws: int, polish: int) -> float:
        searches.append((draws, polish))
        return _search(judged, letters, case, rng, draws, 0)

    monkeypatch.setattr(attack, "_search", search)
    monkeypatch.setattr(attack, "row_of", lambda case, judged, outcome: outcome)
    monkeypatch.setattr(attack, "as_claimed", lambda case, claim, outcome, *links: outcome)
    monkeypatch.setattr(attack, "_proof", lambda case, judged: proofs.append(judged) or "p")
    judged = judged_of(text, None, (), a=UNIT)
    case = case_of(request=SimpleNamespace(options={"seed": 3}, name="n"), evaluator=lambda claim: judged.evaluator)
    ((verdict, _),) = attack._attack_claim(case, judged.claim)
    assert (verdict, bool(proofs)) == (("holds", True) if tried else ("refuted", False))
    assert searches == [(24, 0)] if tried else [(24, 0), (96, 60)]
    monkeypatch.setattr(attack, "_proof", lambda case, judged: None)
    searches.clear()
    ((verdict, reason),) = attack._attack_claim(case, judged.claim)
    assert verdict == ("undecided" if tried else "refuted")
    assert searches == [(24, 0), (96, 60)]
    if tried:
        assert reason == "survived 120 attacks, largest ratio 0.5"


@pytest.mark.parametrize(
    ("premises", "searches"), [(["not applicable"], []), (["undecided"], [(24, 0)]), (["holds"], [(24, 0), (96, 60)])]
)
def test_nothing_is_searched_where_a_hypothesis_is_false_and_little_where_one_is_open(
    premises: list[str], searches: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(attack, "_search", lambda *given: done.append(given[-2:]) or 0.5)
    monkeypatch.setattr(attack, "row_of", lambda case, judged, outcome: outcome[0])
    monkeypatch.setattr(attack, "as_claimed", lambda case, claim, outcome, *links: outcome)
    monkeypatch.setattr(attack, "_proof", lambda case, judged: None)
    judged = judged_of("a <= 2", None, (), a=UNIT)
    judged.tally.take(HELD)
    request = SimpleNamespace(options={}, name="n")
    case = case_of(request=request, evaluator=lambda claim: judged.evaluator, premises=[premise(p) for p in premises])
    attack._attack_claim(case, judged.claim)
    assert done == searches


def test_a_range_that_cannot_be_attacked_leaves_its_claim_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "row_of", lambda case, judged, outcome: (judged.tally.places, *outcome))
    monkeypatch.setattr(attack, "as_claimed", lambda case, claim, outcome, *links: outcome)
    judged = judged_of("a <= 2", None, (), a=Domain("all weights", "weights"))
    case = case_of(request=SimpleNamespace(options={}, name="n"), evaluator=lambda claim: judged.evaluator)
    assert attack._attack_claim(case, judged.claim) == [
        (1, "undecided", "budget: a ranges over all weights, which is not attacked here")
    ]
