"""Exact paired tests against other ways to compute them, verdicts of sentences, the search over a grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from bilevel_verify.experiments.claims import cost, judge, targets
from bilevel_verify.experiments.files import Claim, Entry, Experiment, Size
from bilevel_verify.experiments.instances import detector
from bilevel_verify.experiments.paired import compare
from bilevel_verify.experiments.running import Finished, Search, thinned


@pytest.mark.parametrize("seed", range(6))
def test_signed_ranks_against_scipy(seed: int) -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.normal(size=8)), np.exp(rng.normal(size=8) + 0.5)
    found = compare(a.tolist(), b.tolist())
    for side, value in (("less", found.less), ("greater", found.more)):
        known = wilcoxon(np.log(a), np.log(b), alternative=side, method="exact").pvalue
        assert value == pytest.approx(known, rel=1e-12)


def test_ties_and_infinities_by_hand() -> None:
    inf = math.inf
    found = compare([1, 2, inf, inf, 4], [2, 4, inf, 3, 4])
    # differences -log 2, -log 2, 0 (left out), +inf, 0 (left out): ranks 1.5, 1.5, 3
    patterns = [sum(r for r, s in zip((1.5, 1.5, 3), signs) if s) for signs in itertools.product((0, 1), repeat=3)]
    assert found.pairs == 3
    assert found.less == sum(p <= 3 for p in patterns) / 8
    assert found.more == sum(p >= 3 for p in patterns) / 8
    assert found.effect == 0.0
    assert compare([1.0] * 5, [2.0] * 5).less == 1 / 32
    assert compare([1.0] * 5, [2.0] * 5).effect == -1.0
    assert compare([1.0], [1.0]).less == compare([1.0], [1.0]).more == 1.0


@pytest.mark.parametrize("bad", [([1.0], [1.0, 2.0]), ([math.nan], [1.0]), ([-1.0], [1.0])])
def test_bad_costs_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="cost"):
        compare(*bad)


def test_detector_by_counting_pairs() -> None:
    scores, wrong = np.array([3.0, 1.0, 2.0, 2.0]), np.array([True, False, True, False])
    pairs = [(s > t) + 0.5 * (s == t) for s in scores[wrong] for t in scores[~wrong]]
    assert detector(scores, wrong) == pytest.approx(np.mean(pairs))
    assert math.isnan(detector(scores, np.zeros(4, dtype=bool)))


def _answer(calls: list[int], values: list[float | None]) -> dict[str, Any]:
    return {"curve": [{"calls": c, "loss": v} for c, v in zip(calls, values)]}


def _finished(kind: str, reach: dict[str, list[int]], seeds: int = 5, missing: tuple[str, ...] = ()) -> Finished:
    """Methods that come from 1 to 0 at the given calls (0: never)."""
    entries = {name: Entry(name, name, {}, {}, "", ("small",)) for name in reach}
    size = Size({}, seeds, 100, 100, 1, 9, 1.0, {"fraction": 0.9}, False, {})
    claim = Claim("a is best", kind, ("a",), tuple(n for n in reach if n != "a"), ("",), missing, "")
    one = Experiment("e", "p", "s", "t", "cleaning", "loss", (), {"": {}}, {"small": size}, entries, (claim,))
    answers: dict[tuple[str, str], list[dict[str, Any] | None]] = {
        ("", name): [_answer([1, max(c - 1, 2), c or 99], [1.0, 1.0, 0.0 if c else 0.9]) for c in calls]
        for name, calls in reach.items()
    }
    return Finished(one, "small", (), answers, {}, True)


@pytest.mark.parametrize(
    ("kind", "reach", "verdict"),
    [
        ("faster", {"a": [10] * 5, "b": [20] * 5}, "supported"),
        ("faster", {"a": [20] * 5, "b": [10] * 5}, "reversed"),
        ("faster", {"a": [10, 10, 10, 10, 30], "b": [20] * 5}, "not supported"),
        ("faster", {"a": [10] * 5, "b": [20] * 5, "c": [10] * 5}, "not supported"),
        ("faster", {"a": [20] * 5, "b": [10] * 5, "c": [30] * 5}, "not supported"),  # 1/32 > 0.05/2
        ("faster", {"a": [10] * 5, "b": [0] * 5}, "supported"),
        ("faster", {"a": [0] * 5, "b": [0] * 5, "c": [10] * 5}, "not comparable"),
        ("comparable", {"a": [10] * 5, "b": [11, 9, 12, 15, 8]}, "supported"),
        ("comparable", {"a": [10] * 5, "b": [40] * 5}, "reversed"),
        ("comparable", {"a": [10] * 5, "b": [10, 10, 10, 10, 90]}, "not supported"),
        ("lower", {"a": [10] * 5, "b": [0] * 5}, "supported"),
    ],
)
def test_verdicts_of_sentences(kind: str, reach: dict[str, list[int]], verdict: str) -> None:
    (found,) = judge(_finished(kind, reach))
    assert found.verdict == verdict, found.reason


def test_nothing_is_supported_by_few_seeds_or_against_rivals_that_did_not_run() -> None:
    few = {"a": [10] * 4, "b": [20] * 4}
    assert judge(_finished("faster", few, seeds=4))[0].verdict == "not comparable"
    missing = judge(_finished("faster", {"a": [10] * 5, "b": [20] * 5}, missing=("PZOBO",)))[0]
    assert (missing.verdict, "PZOBO" in missing.reason) == ("not comparable", True)
    assert judge(_finished("faster", {"a": [20] * 5, "b": [10] * 5}, missing=("PZOBO",)))[0].verdict == "reversed"
    failed = _finished("faster", {"a": [10] * 5, "b": [20] * 5})
    failed.answers["", "b"][2] = None
    assert judge(failed)[0].verdict == "not comparable"


def test_an_instance_that_one_method_solves_in_its_first_step_decides_nothing() -> None:
    found = _finished("faster", {"a": [20] * 5, "b": [10] * 5})
    assert judge(found)[0].verdict == "reversed"
    for answer in found.answers["", "b"]:
        assert answer is not None
        answer["curve"] = [{"calls": 1, "loss": 1.0}, {"calls": 4, "loss": 0.0}]
    judged = judge(found)[0]
    assert (judged.verdict, judged.reason[:2]) == ("not comparable", "b:")
    first = found.answers["", "b"][0]
    assert first is not None
    first["curve"][1]["loss"] = 0.95
    assert judge(found)[0].verdict != "not comparable", "one start is not special"


def test_targets_and_costs() -> None:
    found = _finished("faster", {"a": [10] * 5, "b": [0] * 5})
    assert targets(found, "") == pytest.approx([0.1] * 5)
    assert cost(_answer([1, 5, 9], [None, 0.3, 0.2]), "loss", 0.3) == (1, 5)
    assert cost(_answer([1], [0.4]), "loss", 0.3) == (1, math.inf)
    assert cost(None, "loss", 0.3) == (0, math.inf)


def test_a_crossing_between_two_rows_decides_nothing_against_one_in_the_same_gap() -> None:
    found = _finished("faster", {"a": [18] * 5, "b": [20] * 5})
    for answers in found.answers.values():
        for answer in answers:
            assert answer is not None
            del answer["curve"][1]
    for answers in found.answers.values():
        for answer in answers:
            assert answer is not None
            answer["curve"].insert(1, {"calls": 10, "loss": 0.95})
    assert judge(found)[0].verdict == "not supported"  # a in (10, 18], b in (10, 20]
    for answer in found.answers["", "b"]:
        assert answer is not None
        answer["curve"].insert(2, {"calls": 19, "loss": 0.95})
    assert judge(found)[0].verdict == "supported"  # b in (19, 20]


def test_the_search_takes_one_letter_after_the_other_and_survives_divergence() -> None:
    found = _finished("faster", {"a": [10] * 5})
    entry = Entry("a", "a", {}, {"inner": (0.1, 1.0), "eta": (1.0, 5.0), "gd": (5.0, 10.0, 20.0)}, "", ("small",))
    search = Search(found.experiment, "small", "", entry)
    pairs = [{"inner": i, "eta": e, "gd": 10.0} for i in (0.1, 1.0) for e in (1.0, 5.0)]
    assert search.round(0) == pairs
    search.learn(list(zip(pairs, [{"score": 0.5}, {"score": None}, None, {"score": 0.4}])))
    assert search.best == pairs[3]
    assert search.round(1) == [{**pairs[3], "gd": v} for v in (5.0, 10.0, 20.0)]
    search.learn([({**pairs[3], "gd": 5.0}, {"score": 0.3})])
    assert search.best == {**pairs[3], "gd": 5.0}
    assert search.round(2) == []
    assert len(search.tried) == 5
    assert thinned((1, 2, 3, 4, 5, 6), 3) == (1, 3, 6)
    assert thinned((1, 2, 3), 1) == (2,)
