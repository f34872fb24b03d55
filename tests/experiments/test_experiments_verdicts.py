"""Exact paired tests against other ways to compute them, verdicts of sentences, the search over a grid."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilevel_verify.experiments.alike import points
from bilevel_verify.experiments.claims import at_common_calls, judge, targets
from bilevel_verify.experiments.files import Claim, Entry, Experiment, Size
from bilevel_verify.experiments.instances import detector
from bilevel_verify.experiments.paired import compare
from bilevel_verify.experiments.report import write
from bilevel_verify.experiments.running import Finished, Search, thinned
from bilevel_verify.experiments.targets import cost


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
        ("comparable", {"a": [10] * 5, "b": [40] * 5}, "not supported"),
        ("comparable", {"a": [10] * 5, "b": [40] * 5, "c": [10] * 5}, "not supported"),  # 1/32 > 0.05/2
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
    assert judged.pairs["a", "b"].pairs == 5, "the test is shown all the same"
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


def test_at_a_target_that_is_a_value_the_tuning_takes_the_fewest_calls() -> None:
    found = _finished("faster", {"a": [10] * 5})
    one = found.experiment
    size = dataclasses.replace(one.size["small"], target={"value": [0.3, 0.1]})
    entry = Entry("a", "a", {}, {"eta": (1.0, 2.0, 3.0)}, "", ("small",))
    runs = [([1, 50], [1.0, 0.0]), ([1, 20], [1.0, 0.1]), ([1, 5], [1.0, 0.2])]
    tried = [({"eta": float(i + 1)}, {**_answer(*run), "score": run[1][1]}) for i, run in enumerate(runs)]
    for target, best in ((size.target, 2.0), ({"fraction": 0.9}, 1.0)):
        here = dataclasses.replace(one, size={"small": dataclasses.replace(size, target=target)})
        search = Search(here, "small", "", entry)
        search.learn(tried)
        assert search.best == {"eta": best}


# --- whether arms are alike -------------------------------------------------------------------------------------------


def _with(found: Finished, name: str, best: float = 2.0, **fields: Any) -> Finished:
    """A method with other fields; one with a grid gets a search in which all values were tried and ``best`` won."""
    one = found.experiment
    entry = dataclasses.replace(one.entries[name], **fields)
    one = dataclasses.replace(one, entries={**one.entries, name: entry})
    searches = [s for s in found.searches if s.entry.name != name]
    if entry.grid:
        search = Search(one, "small", "", entry)
        search.tried = [({"eta": v}, {"score": 0.0}) for v in entry.grid["eta"]]
        search.best = {"eta": best}
        searches.append(search)
    return dataclasses.replace(found, experiment=one, searches=tuple(searches))


GRID = {"eta": (1.0, 2.0, 3.0)}
FASTER, SLOWER, MIXED = [10] * 5, [40] * 5, [30, 10, 30, 10, 30]
A_FIRST, B_FIRST = {"a": FASTER, "b": SLOWER}, {"a": SLOWER, "b": FASTER}
UNLIKE: list[dict[str, Any]] = [
    {"letters": {"B": 10}, "open": ("B",)},
    {"grid": GRID, "open": ("eta",), "best": 1.0},
    {"grid": GRID, "open": ("eta",), "best": 3.0},
]


@pytest.mark.parametrize("fields", UNLIKE)
@pytest.mark.parametrize(
    ("kind", "reach", "loser", "verdict"),
    [
        ("faster", A_FIRST, "b", "supported"),
        ("faster", B_FIRST, "a", "reversed"),
        ("faster", {"a": MIXED, "b": [20] * 5}, "a", "not supported"),
        ("comparable", {"a": [10] * 5, "b": [11] * 5}, "a", "supported"),
        ("comparable", {"a": [10] * 5, "b": [11] * 5}, "b", "supported"),
        ("comparable", A_FIRST, "b", "not supported"),
        ("comparable", B_FIRST, "a", "not supported"),
        ("comparable", {"a": MIXED, "b": [14] * 5}, "a", "not supported"),
    ],
)
def test_what_the_paper_leaves_open_is_not_held_against_the_loser(
    fields: dict[str, Any], kind: str, reach: dict[str, list[int]], loser: str, verdict: str
) -> None:
    found = _finished(kind, reach)
    assert judge(found)[0].verdict == verdict
    judged = judge(_with(found, loser, **fields))[0]
    assert judged.verdict == "not comparable"
    assert f"of {loser}" in judged.reason
    assert judged.pairs[("a", "b")].pairs == 5, "the test is shown all the same"
    if kind == "faster":
        winner = {"letters": {"B": 10}, "open": ("B",)}
        assert judge(_with(found, "ab".replace(loser, ""), **winner))[0].verdict == verdict


def test_an_open_letter_that_both_have_at_one_value_is_no_excuse() -> None:
    found = _with(_finished("faster", A_FIRST), "b", letters={"B": 10}, open=("B",))
    assert judge(found)[0].verdict == "not comparable"
    assert judge(_with(found, "a", letters={"B": 10}))[0].verdict == "supported"
    assert judge(_with(found, "a", letters={"B": 1}))[0].verdict == "not comparable"
    found = _with(found, "b", letters={"B": "2*eta"}, open=("B",))
    assert judge(_with(found, "a", letters={"B": "2*eta"}))[0].verdict == "not comparable"


def test_an_open_list_whose_best_value_is_inside_is_no_excuse() -> None:
    found = _finished("faster", A_FIRST)
    assert judge(_with(found, "b", best=2.0, grid=GRID, open=("eta",)))[0].verdict == "supported"
    assert judge(_with(found, "b", best=3.0, grid=GRID, open=()))[0].verdict == "supported", "a printed list"


@pytest.mark.parametrize(
    ("tried", "best", "verdict"),
    [
        ((1.0, 2.0), 2.0, "not comparable"),
        ((1.0, 2.0), 1.0, "supported"),
        ((2.0, 3.0), 2.0, "not comparable"),
        ((2.0, 3.0), 3.0, "supported"),
        ((2.0,), 2.0, "not comparable"),
        ((1.0, 2.0, 3.0), 3.0, "supported"),
    ],
)
def test_a_printed_list_that_this_size_cuts_is_no_printed_list_at_its_end(
    tried: tuple[float, ...], best: float, verdict: str
) -> None:
    found = _with(_finished("faster", A_FIRST), "b", best=best, grid=GRID, open=())
    one = found.experiment
    size = dataclasses.replace(one.size["small"], lists={"eta": tried})
    one = dataclasses.replace(one, size={"small": size})
    for search in found.searches:
        search.experiment = one
    (judged,) = judge(dataclasses.replace(found, experiment=one))
    assert judged.verdict == verdict
    assert ("does not try the whole list of eta" in judged.reason) == (verdict == "not comparable")


@pytest.mark.parametrize(
    ("more", "less", "verdict"), [(4, 2, "supported"), (5, 2, "not comparable"), (2, 9, "supported")]
)
def test_a_winner_with_over_twice_the_points_of_tuning_has_not_won(more: int, less: int, verdict: str) -> None:
    grids: Sequence[tuple[float, ...]] = [tuple(float(i) for i in range(n)) for n in (more, less)]
    found = _with(_finished("faster", A_FIRST), "a", grid={"eta": grids[0]})
    found = _with(found, "b", grid={"eta": grids[1]})
    assert (points(found, "", "a"), points(found, "", "b")) == (more, less)
    judged = judge(found)[0]
    assert judged.verdict == verdict
    assert (f"b had {less} points of tuning, a {more}" in judged.reason) == (verdict == "not comparable")
    found.searches[1].tried[0] = ({"eta": 0.0}, None)  # a point that failed was not tried
    assert points(found, "", "b") == less - 1


def test_one_rival_that_is_alike_is_enough_against_a_sentence_and_all_must_be_alike_for_it() -> None:
    three = {"a": SLOWER, "b": FASTER, "c": FASTER}
    found = _finished("faster", three, seeds=6)
    for answers in found.answers.values():
        answers.append(answers[0])
    assert judge(found)[0].verdict == "reversed"
    tuned = _with(found, "b", grid={"eta": (1.0, 2.0, 3.0, 4.0)})
    judged = judge(tuned)[0]
    assert (judged.verdict, judged.reason) == ("reversed", "c before a")
    assert judge(_with(tuned, "c", grid={"eta": (1.0, 2.0, 3.0, 4.0)}))[0].verdict == "not comparable"
    good = _finished("faster", {"a": FASTER, "b": SLOWER, "c": SLOWER})
    assert judge(good)[0].verdict == "supported"
    assert judge(_with(good, "c", letters={"B": 1}, open=("B",)))[0].verdict == "not comparable"


def test_the_least_value_that_there_is_is_no_end_of_a_list() -> None:
    found = _finished("faster", A_FIRST)
    fields: dict[str, Any] = {"grid": GRID, "open": ("eta",), "least": ("eta",)}
    assert judge(_with(found, "b", best=1.0, **fields))[0].verdict == "supported"
    assert judge(_with(found, "b", best=3.0, **fields))[0].verdict == "not comparable"


@pytest.mark.parametrize(
    ("other", "winner", "verdict"),
    [
        (9, 20, "not comparable"),
        (20, 20, "not comparable"),
        (21, 20, "supported"),
        (0, 20, "supported"),
        (30, None, "not comparable"),
        (40, None, "supported"),
    ],
)
def test_a_loser_with_another_point_that_is_earlier_has_not_lost(other: int, winner: int | None, verdict: str) -> None:
    def run(calls: int) -> dict[str, Any]:
        return {**_answer([1, calls or 99], [1.0, 0.05 if calls else 0.9]), "score": 0.05}

    found = _with(_finished("faster", A_FIRST), "b", grid=GRID, best=2.0)
    found.searches[0].tried = [({"eta": 1.0}, run(other)), ({"eta": 2.0}, {**run(40), "score": 0.0})]
    if winner is not None:
        found = _with(found, "a", grid=GRID, best=2.0)
        (search,) = [s for s in found.searches if s.entry.name == "a"]
        search.tried = [({"eta": 1.0}, run(1)), ({"eta": 2.0}, run(winner))]
    judged = judge(found)[0]
    assert judged.verdict == verdict
    assert ("b at eta = 1 is at the target earlier" in judged.reason) == (verdict == "not comparable")
    by_value = dataclasses.replace(found.experiment.claims[0], kind="lower")
    one = dataclasses.replace(found.experiment, claims=(by_value,))
    assert "earlier" not in judge(dataclasses.replace(found, experiment=one))[0].reason


def _at(found: Finished, *fractions: float) -> Finished:
    size = dataclasses.replace(found.experiment.size["small"], target={"fraction": list(fractions)})
    return dataclasses.replace(found, experiment=dataclasses.replace(found.experiment, size={"small": size}))


@pytest.mark.parametrize(
    ("half", "end", "verdict"),
    [
        ((10, 40), (100, 400), "supported"),
        ((40, 10), (400, 100), "reversed"),
        ((10, 40), (400, 100), "not comparable"),
        ((40, 10), (100, 400), "not comparable"),
        ((10, 40), (100, 100), "not supported"),
        ((10, 40), (0, 0), "supported"),
        ((2, 40), (100, 400), "supported"),
        ((2, 40), (0, 0), "not comparable"),
    ],
)
def test_a_verdict_that_depends_on_the_target_is_none(
    half: tuple[int, int], end: tuple[int, int], verdict: str
) -> None:
    found = _finished("faster", A_FIRST)
    for name, first, last in zip("ab", half, end):
        calls, values = [1, first - 1, first], [1.0, 1.0, 0.5]
        if first == 2:
            calls, values = [1, 2], [1.0, 0.5]
        calls, values = [*calls, *([last - 1, last] if last else [500])], [*values, *([0.5, 0.0] if last else [0.45])]
        found.answers["", name][:] = [_answer(calls, values)] * 5
    found.answers["", "c"] = [_answer([1, 2], [1.0, 0.0])] * 5  # sets the best decrease, is in no sentence
    judged = judge(_at(found, 0.5, 0.9))[0]
    assert judged.verdict == verdict, judged.reason
    if "depends" in judged.reason:
        assert "supported" in judged.reason
        assert "reversed" in judged.reason


def test_values_are_compared_after_equally_many_calls() -> None:
    found = _finished("lower", {"a": [10] * 5, "b": [10] * 5})
    for name, calls, values in (("a", [1, 10, 20, 90], [1, 0.5, 0.4, 0.1]), ("b", [1, 10, 22], [1, 0.3, 0.2])):
        found.answers["", name][:] = [_answer(calls, values)] * 5
    assert at_common_calls(found, "", ("a", "b"), "loss") == ([(0.1, 0.4)] * 5, [(0.2, 0.2)] * 5)
    assert judge(found)[0].verdict == "not supported", "a is lower in the end, after four times the calls"
    found.answers["", "b"][:] = [_answer([22], [0.2])] * 5
    found.answers["", "a"][:] = [_answer([30, 60, 90], [0.4, 0.4, 0.1])] * 5
    assert at_common_calls(found, "", ("a", "b"), "loss") == ([(0.0, math.inf)] * 5, [(0.2, 0.2)] * 5)
    assert judge(found)[0].verdict == "not supported", "nothing is known of a after 22 calls"
    found.answers["", "a"][:] = [_answer([1, 10, 20, 90], [1, 0.5, 0.4, 0.1])] * 5
    found.answers["", "b"][:] = [{**_answer([1, 10, 22], [1, 0.3, 0.2]), "status": "not finite"}] * 5
    assert judge(found)[0].verdict == "supported", "what diverged has no value, and bounds nobody's calls"
    assert at_common_calls(found, "", ("a", "b"), "loss")[0] == [(0.1, 0.1)] * 5


def test_a_measure_that_was_not_taken_decides_nothing() -> None:
    found = _finished("faster", A_FIRST)
    for row in found.answers["", "b"][3]["curve"][1:]:  # type: ignore[index]
        del row["loss"]
    judged = judge(found)[0]
    assert (judged.verdict, judged.reason) == ("not comparable", "loss is not measured for b")


@pytest.mark.parametrize(
    ("steps", "letters", "verdict"),
    [
        ([[0, 5, 9, 0, 1], [2] * 5], (), "supported"),
        ([[0, 5, 9, 0, 1], [2, 2, 2, 2, 11]], (), "not supported"),  # one seed above one in ten
        ([[0, 5, 9, 0, 1], [10] * 5], (), "not supported"),  # one in ten is not below
        ([[0, 5, 9, 0, 1], [50] * 5], (), "not supported"),  # 1/32 > 0.05/2
        ([[0, 5, 9, 0, 1]], (), "supported"),
        ([[50] * 5], (), "reversed"),
        ([[0, 5, 9, 0, 1]], ("s",), "not comparable"),
        ([[50] * 5], ("s",), "not comparable"),
    ],
)
def test_seldom_is_a_share_of_the_outer_iterations(
    steps: list[list[int]], letters: tuple[str, ...], verdict: str
) -> None:
    names = "abc"[: len(steps)]
    found = _finished("seldom", {name: [10] * 5 for name in names})
    entries = {n: dataclasses.replace(found.experiment.entries[n], letters={"s": 1}, open=letters) for n in names}
    claim = dataclasses.replace(found.experiment.claims[0], better=tuple(names), than=())
    experiment = dataclasses.replace(found.experiment, entries=entries, claims=(claim,))
    for name, counts in zip(names, steps):
        for answer, count in zip(found.answers["", name], counts):
            assert answer is not None
            answer.update({"curvature_steps": count, "iterations": 100})
    (judged,) = judge(dataclasses.replace(found, experiment=experiment))
    assert judged.verdict == verdict, judged.reason
    assert "a 0 to 0.09" in judged.reason or steps[0][0] == 50


def test_a_run_that_diverged_never_reaches() -> None:
    assert cost({**_answer([1, 5], [1.0, 0.9]), "status": "diverged"}, "loss", 0.3) == (math.inf, math.inf)
    assert cost({**_answer([1, 5], [1.0, 0.9]), "status": "budget"}, "loss", 0.3) == (5, math.inf)


def test_a_report_of_runs_that_diverge_or_grow_without_bound_is_written(tmp_path: Path) -> None:
    found = _finished("faster", A_FIRST)
    found.answers["", "b"][:] = [{**_answer([1, 5], [1.0, 1e306]), "status": "diverged"}] * 5
    for answers in found.answers.values():
        for answer in answers:
            assert answer is not None
            extra = {
                "counts": {"grad_f": 5},
                "calls": 5,
                "final": {},
                "restarts": 0,
                "curvature_steps": 0,
                "seconds": 0.1,
                "prices": {},
            }
            answer.update({"source": "made up", "status": answer.get("status", "budget"), **extra})
            spent = [{"seconds": 0.1 * row["calls"], "counts": {"grad_f": row["calls"]}} for row in answer["curve"]]
            answer["curve"] = [{**row, **more} for row, more in zip(answer["curve"], spent)]
    searches = [Search(found.experiment, "small", "", entry) for entry in found.experiment.entries.values()]
    page = write(tmp_path, [dataclasses.replace(found, searches=tuple(searches))], "a command")
    assert "diverged" in page.read_text(encoding="utf-8")
    (data,) = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    assert [run["costs"][0] for run in data["runs"]] == [[9, 10], [None, None]]
    assert (tmp_path / "e.svg").exists()
