"""Edges of rows and claims: noise and ties, what a refutation is new of, units in a reason, eigenvalues from below."""

from __future__ import annotations

from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from bilevel_verify.checks.claims import claims, linear, tensors
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.decide import NOISE, Judgement, Tally, _is_noise, ratio_of
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.judging import rows, stationarity
from bilevel_verify.checks.verdicts.counting import is_new_refutation
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast


# --- places


@pytest.mark.parametrize(
    ("measured", "bound", "answer", "noise"),
    [
        (NOISE / 2, NOISE / 4, False, True),
        (-NOISE / 2, NOISE / 4, False, True),
        (NOISE, NOISE / 4, False, False),
        (-NOISE, NOISE / 4, False, False),
        (NOISE / 4, NOISE, False, False),
        (NOISE / 4, -1.0, False, False),
        (1.0, NOISE / 4, False, False),
        (NOISE / 2, NOISE / 4, None, False),
        (NOISE / 2, NOISE, True, False),
        (nan, NOISE / 4, False, False),
    ],
)
def test_a_violation_is_noise_only_if_both_sides_are_tiny(
    measured: float, bound: float, answer: Any, noise: bool
) -> None:
    assert _is_noise(Judgement(answer, measured, bound, -1.0)) is noise


@pytest.mark.parametrize(
    ("judgement", "share"),
    [
        (Judgement(None, 2.0, 2.0, 0.0, "tie"), 1.0),
        (Judgement(None, -2.0, -2.0, 0.0, "tie"), 1.0),
        (Judgement(None, -1e-300, 1e-5, 0.0, "tie"), -inf),  # of either sign: nothing is used up
        (Judgement(None, 1e-5, -1e-5, 0.0, "tie"), -inf),
        (Judgement(None, 0.0, 1.0, 0.0, "tie"), -inf),
        (Judgement(None, 2.0, 2.0, 0.0, "precision"), -inf),
        (Judgement(True, 0.0, 0.0, 0.0), -inf),
        (Judgement(True, 0.0, 2.0, 1.0), 0.0),
        (Judgement(True, 2.0, 2.0, 0.0), 1.0),
        (Judgement(True, 1.0, 4.0, 0.75), 0.25),
        (Judgement(False, 4.0, 1.0, -0.75), 4.0),
        (Judgement(False, 1.0, -1.0, -1.0), inf),
        (Judgement(False, 1.0, -1.0, -2.0), inf),
        (Judgement(True, 1.0, nan, nan), -inf),
        (None, -inf),
    ],
)
def test_the_share_of_a_bound_that_is_used_up(judgement: Judgement | None, share: float) -> None:
    assert ratio_of(judgement) == share


def test_a_tally_of_nothing_shows_nothing() -> None:
    assert (Tally().shown, Tally().places) == (None, 0)


# --- which refutations are new


@pytest.mark.parametrize(
    ("verdict", "known", "printed", "marks", "new"),
    [
        ("refuted", False, True, (), True),
        ("inconsistent", False, True, (), True),
        ("refuted", True, True, (), False),
        ("inconsistent", True, True, (), False),
        ("holds", False, True, (), False),
        ("undecided", False, True, (), False),
        ("not applicable", False, True, (), False),
        ("consistent", False, True, (), False),
        ("refuted", False, False, (), False),
        ("refuted", False, False, ("special: k = 2",), True),
        ("refuted", False, False, ("part: b",), True),
        ("refuted", False, False, ("reading: ours",), False),
        ("refuted", False, False, ("repaired: a factor",), False),
        ("refuted", False, False, ("special: k = 2", "repaired: a factor"), False),
        ("refuted", False, True, ("reading: ours",), False),
        ("refuted", True, False, ("special: k = 2",), False),
        ("undecided", False, False, ("special: k = 2",), False),
        ("refuted", False, True, None, True),
        ("refuted", False, False, None, False),
    ],
)
def test_which_refutation_is_new_of_a_paper(verdict: str, known: bool, printed: bool, marks: Any, new: bool) -> None:
    row = {"verdict": verdict, "known_refuted": known, "as_printed": printed, "marks": marks}
    assert is_new_refutation(row) is new


# --- units and assumptions in an outcome


@pytest.mark.parametrize(
    ("outcome", "assumed", "faults", "said"),
    [
        (("holds", "r"), False, (), ("holds", "r")),
        (("holds", "r"), False, ("", ""), ("holds", "r")),
        (("holds", "r"), False, ("", "u"), ("undecided", "units: u; that it holds here says nothing in other units")),
        (("refuted", "r"), False, ("u", "w"), ("refuted", "r; units: u")),
        (("refuted", "r"), False, ("", "w"), ("refuted", "r; units: w")),
        (("refuted", "r"), False, ("", ""), ("refuted", "r")),
        (("undecided", "r"), False, ("u",), ("undecided", "r")),
        (("inconsistent", "r"), False, ("u",), ("inconsistent", "r")),
        (("not applicable", "r"), True, ("u",), ("not applicable", "r")),
        (("refuted", "r"), True, ("u",), ("not applicable", "assumed, not claimed: r")),
        (("inconsistent", "r"), True, (), ("not applicable", "assumed, not claimed: r")),
        (("holds", "r"), True, ("",), ("holds", "r")),
        (("undecided", "r"), True, ("",), ("undecided", "r")),
    ],
)
def test_an_outcome_as_it_may_be_said(
    outcome: Any, assumed: bool, faults: tuple[str, ...], said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "claim_fault", lambda card, statement, claim, link: link)
    case: Any = SimpleNamespace(request=SimpleNamespace(card=None, statement=None))
    claim: Any = SimpleNamespace(assumed=assumed)
    assert rows.as_claimed(case, claim, outcome, *faults) == said  # type: ignore[arg-type]


# --- points


def test_a_truth_that_is_known_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def value(number: Any, error: float) -> Any:
        return SimpleNamespace(value=number, error=error)

    known: Any = SimpleNamespace(
        grad_phi=lambda x: value(np.array([3.0, 4.0]), 0.5), lambda_min_hess_phi=lambda x: value(-2.0, 0.25)
    )
    made: list[Any] = []
    monkeypatch.setattr(stationarity, "truth", lambda problem: made.append(problem) or known)
    found = stationarity.second_order_point("p", [1.0, 2.0], 5.5, 2.25, known)  # type: ignore[arg-type]
    assert not made
    assert (found.verdict, found.reason) == ("holds", "")
    assert stationarity.second_order_point("p", [1.0, 2.0], 4.0, 1.0).reason == (  # type: ignore[arg-type]
        "|grad phi| >= 4.5 > 4; lambda_min <= -1.75 < -1"
    )
    assert made == ["p"]


# --- matrices, tensors, memory


def matrix(*parts: Any) -> linear.Matrix:
    return linear.Matrix(tuple(tuple(arb(entry) for entry in part) for part in parts))


@pytest.mark.parametrize("refused", [0, 1, 5])
def test_the_smallest_eigenvalue_from_below_is_verified(refused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    true = linear._positive_definite

    def strict(value: Any, shift: Any) -> bool:
        asked.append(float(shift))
        return len(asked) > refused and true(value, shift)

    monkeypatch.setattr(linear, "_positive_definite", strict)
    found = linear.lambda_min(matrix([2, 1], [1, 2]))
    assert len(asked) == refused + 1
    assert asked == sorted(asked, reverse=True)
    low, high = v.ends(found)
    assert low <= asked[-1] + 1e-30
    assert low <= 1 <= high


def test_no_lower_bound_of_an_eigenvalue_without_a_factorisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_positive_definite", lambda value, shift: False)
    with pytest.raises(v.EvaluationError, match="smallest eigenvalue could not be bounded"):
        linear.lambda_min(matrix([2, 1], [1, 2]))


def test_stacks_of_one_matrix_and_of_unlike_sides() -> None:
    one = tensors.stacked([matrix([1, 2, 3], [4, 5, 6])])
    assert one.shape == (2, 3, 1)
    two = tensors.stacked([matrix([1, 2]), matrix([3, 4])])
    assert [[[float(a) for a in line] for line in part.rows] for part in two.slices] == [[[1.0, 3.0], [2.0, 4.0]]]


@pytest.mark.parametrize("length", [1.0, 2.0, 0.5])
def test_a_tensor_is_bounded_from_below_at_unit_vectors(length: float, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[[arb(3), arb(0)], [arb(0), arb(1)]], [[arb(0), arb(0)], [arb(0), arb(0)]]], dtype=object)
    monkeypatch.setattr(tensors, "_alternate", lambda rough, vectors: [np.array([length, 0.0])] * 3)
    found = tensors._form_from_below(table)
    assert found.overlaps(arb(3))
    assert float(found.rad()) < 1e-10


@pytest.mark.parametrize("sizes", [(1.0, 0.98, 0.97), (0.98, 1.0, 0.97)])
def test_the_best_of_all_starts_is_taken(sizes: tuple[float, ...]) -> None:
    """A diagonal tensor has a maximiser for every entry: some starts end at the smaller ones, early or late."""
    table = np.array([[[arb(0)] * 3] * 3] * 3, dtype=object)
    for i, size in enumerate(sizes):
        table[i, i, i] = arb(size)
    assert abs(float(tensors._form_from_below(table)) - 1.0) < 1e-9


def test_a_small_tensor_is_bounded_as_well_as_a_large_one() -> None:
    for size in (0.25, 1.0, 8.0):
        table = np.array([[[arb(0)] * 2] * 2] * 2, dtype=object)
        table[1, 1, 1] = arb(size)
        assert abs(float(tensors._form_from_below(table)) - size) < 1e-9 * size


@pytest.mark.parametrize(
    ("left", "right", "where", "nodes"), [("a", "b + c*2", (), 6), ("b + c*2", "a", (), 6), ("a", "b", ("a <= c",), 5)]
)
def test_the_work_of_a_place_is_the_size_of_all_its_trees(left: str, right: str, where: Any, nodes: int) -> None:
    link: Any = SimpleNamespace(left=SimpleNamespace(tree=parse(left)), right=SimpleNamespace(tree=parse(right)))
    claim: Any = SimpleNamespace(where=[SimpleNamespace(tree=parse(one)) for one in where])
    assert claims._work_of(claim, link) == claims.PLACE_WORK + nodes
    assert claims.Judged(claim, link, 0, Tally(), Evaluator({})).work == 1


@pytest.mark.parametrize("work", [1, 7])
@pytest.mark.parametrize(("right", "again", "times"), [("1", True, 0), ("3", True, 1), ("3", False, 0)])
def test_what_is_judged_again_is_work_again(right: str, again: bool, times: int, work: int) -> None:
    sides = [SimpleNamespace(tree=parse(text)) for text in (right, "2")]
    link: Any = SimpleNamespace(left=sides[0], op="<=", right=sides[1])
    claim: Any = SimpleNamespace(where=(), over="step")
    more = (lambda: Evaluator({})) if again else None
    judged = claims.Judged(claim, link, 0, Tally(), Evaluator({}), more, work)
    claims._at_place(judged, {})
    assert judged.tally.work == work * (1 + claims.AGAIN_WORK * times)


def test_a_tree_that_was_asked_for_its_names_is_kept_so_that_its_number_stays_its_own() -> None:
    tool = Evaluator({}, {"twice": parse("2*k")})
    nodes = [parse("twice + t"), parse("1")]
    assert [tool._names(node) for node in nodes] == [("k", "t", "twice"), ("t",)]
    assert all(tool._depends[id(node)][0] is node for node in nodes)
