"""Judgements and the row that carries them: reasons at their limits, defaults, closed lists, to JSON and back."""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from math import inf, isnan, nan
from typing import Any, get_args

import numpy as np
import pytest
from flint import arb

from bilevel_verify.checks.claims import decide
from bilevel_verify.checks.claims.decide import Judgement, Tally, judge, margin_of, undecided
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.verdicts import verdict
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import MathematicalError

pytestmark = pytest.mark.fast

WIDE, TIE = "precision: the enclosures are too wide", "tie"


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (arb(1, 0.75e-6), arb(1), WIDE),
        (arb(1), arb(1, 0.75e-6), WIDE),
        (arb(1, 0.4e-6), arb(1), TIE),
        (arb(-1, 1e-3), arb(-1, 1e-3), WIDE),
        (arb(-1, 1e-9), arb(-1, 1e-9), TIE),
        (arb(0, 1e-9), Fraction(0), WIDE),
        (arb(1e-30, 1e-33), arb(1e-30, 1e-40), WIDE),
        (Fraction(1, 3), arb(1) / 3, TIE),
    ],
)
def test_wide_or_a_tie_is_relative(left: Any, right: Any, reason: str) -> None:
    assert judge(left, "<=", right).reason == reason
    assert judge(right, ">=", left).reason == reason


@pytest.mark.parametrize("op", ["<=", "<", "==", ">=", ">"])
@pytest.mark.parametrize(("measured", "bound"), [(1.0, inf), (inf, 1.0), (-inf, 1.0), (1.0, -inf), (-inf, inf)])
def test_margins_at_infinity(op: str, measured: float, bound: float) -> None:
    good = measured > bound if op in (">=", ">") else measured < bound
    assert margin_of(measured, op, bound) == (1.0 if good else -1.0)


@pytest.mark.parametrize("op", ["<=", "<", "==", ">=", ">"])
@pytest.mark.parametrize("other", [1.0, inf, -inf, nan])
def test_margins_of_nan_are_nan(op: str, other: float) -> None:
    assert isnan(margin_of(nan, op, other))
    assert isnan(margin_of(other, op, nan))


@pytest.mark.parametrize("op", ["<=", "<", "==", ">=", ">"])
def test_what_is_open_has_no_room(op: str) -> None:
    for left, right in ((arb(1, 0.5), arb(1.25, 0.5)), (arb(1.25, 0.5), arb(1, 0.5)), (arb(1) / 3, Fraction(1, 3))):
        found = judge(left, op, right)
        assert found.answer is None
        assert found.margin <= 0
    assert isnan(judge(arb("nan"), op, arb(1)).margin)
    assert isnan(judge(arb(1), op, arb("nan")).margin)


def test_defaults_say_no_more_than_is_known() -> None:
    open_ = undecided("tie")
    assert (open_.answer, open_.gap, open_.where, open_.certainty) == (None, 0.0, "", "computed")
    assert all(isnan(number) for number in (open_.measured, open_.bound, open_.margin))
    assert Judgement(True, 1.0, 2.0, 0.5) == Judgement(True, 1.0, 2.0, 0.5, "", "proved", "", 0.0)
    assert decide.guarded(MathematicalError("tie"), "k = 1").certainty == "computed"
    assert decide.guarded(MathematicalError("lost"), "k = 1").reason == "precision: lost"
    assert decide.reason_of(EvaluationError("budget: x")) == "budget: x"
    fresh = Tally()
    assert (fresh.places, fresh.skipped, fresh.held, fresh.violated, fresh.open_count) == (0, 0, 0, 0, 0)
    assert (fresh.certainty, fresh.tightest, fresh.worst, fresh.first, fresh.first_epoch) == ("proved", *[None] * 4)


def test_a_tally_counts_every_kind_of_place() -> None:
    tally = Tally()
    for number, answer in enumerate([True, None, False, True, None, None, False]):
        tally.take(Judgement(answer, 0, 0, nan if answer is None else number - 10.0, "tie"), epoch=number)
    tally.skip("certified")
    tally.skip("computed")
    counted = (tally.places, tally.skipped, tally.held, tally.violated, tally.open_count)
    assert counted == (7, 2, 2, 2, 3)
    assert (tally.excluded, tally.certainty) == ("computed", "computed")
    assert tally.first_epoch == 2
    assert tally.first is tally.worst
    assert tally.open_ is not None
    assert tally.open_.reason == "tie"
    assert tally.tightest is not None
    assert tally.tightest.margin == -10.0


def test_sides_that_are_no_numbers_are_refused() -> None:
    from bilevel_verify.checks.claims.values import vector

    with pytest.raises(EvaluationError, match="a number was expected"):
        judge(vector([1, 2]), "<=", Fraction(1))
    with pytest.raises(EvaluationError, match="a number was expected"):
        judge(Fraction(1), "<=", vector([1, 2]))
    one = judge(vector([1.0]), "<=", vector([4.0]))  # a point of one entry is a number
    assert (one.answer, one.measured, one.bound, one.margin) == (True, 1.0, 4.0, 0.75)


# --- the closed lists


def test_the_words_are_closed_lists() -> None:
    words = ("holds", "refuted", "undecided", "not applicable", "consistent", "inconsistent", "uninformative")
    assert get_args(verdict.Verdict) == words
    assert words[:4] == verdict.BOUND_VERDICTS
    assert (*words[4:], *words[2:4]) == verdict.ORDER_VERDICTS


def test_what_a_kind_of_check_judges() -> None:
    others = ("units", "definedness", "bookkeeping", "executability", "hypothesis")
    assert others == verdict.NOT_THE_RELATION
    assert [verdict.judged_by(kind) for kind in others] == list(others)
    for kind in ("parameters", "point", "step", "run", "order", "probability", "identity", "hypotheses"):
        assert verdict.judged_by(kind) == "relation"


# --- rows


def row(**changes: Any) -> Row:
    base: dict[str, Any] = dict.fromkeys(("paper", "statement", "claim", "source", "problem", "method"))
    return Row(**{**base, "kind": "step", "verdict": "holds", **changes})


def test_a_row_starts_as_printed_and_unknown() -> None:
    one = row()
    assert (one.as_printed, one.known_refuted, one.marks, one.judges, one.details) == (True, False, (), "relation", {})
    for item in fields(Row):
        if item.name not in ("kind", "verdict", "as_printed", "known_refuted", "marks", "judges", "details"):
            assert getattr(one, item.name) is None, item.name
    assert row(kind="units").judges == "units"
    assert row(kind="hypothesis").judges == "hypothesis"
    with pytest.raises(TypeError, match="judges"):
        row(judges="relation")


def test_a_row_with_marks_is_never_as_printed() -> None:
    with pytest.raises(ValueError, match="never as printed"):
        row(marks=("added: k >= 1",))
    assert row(marks=("added: k >= 1",), as_printed=False).marks == ("added: k >= 1",)
    assert row(as_printed=False).marks == ()


@pytest.mark.parametrize(("number", "text"), [(inf, "inf"), (-inf, "-inf"), (nan, "nan")])
def test_numbers_that_json_has_not(number: float, text: str) -> None:
    one = row(measured=number, bound=2.5, margin=None, details={"deep": {"list": [number, 1.0, (number,)]}, 3: "x"})
    data = one.to_dict()
    assert (data["measured"], data["bound"], data["margin"]) == (text, 2.5, None)
    assert data["details"] == {"deep": {"list": [text, 1.0, [text]]}, "3": "x"}
    json.dumps(data, allow_nan=False)
    back = Row.from_dict(json.loads(json.dumps(data)))
    assert back.measured is not None
    assert back.measured == number or (isnan(back.measured) and isnan(number))
    assert (back.bound, back.margin) == (2.5, None)


def test_a_row_comes_back_from_json_as_it_was() -> None:
    one = row(
        measured=np.float64(1.5), places=np.int64(7), where="1.5", reason="2.5", kind="units", as_printed=False,
        marks=("part: a", "step: b"), verdict="undecided", details={"eps": np.float64(0.1), "none": None, "flag": True},
    )  # fmt: skip
    data = one.to_dict()
    assert type(data["measured"]) is float
    assert type(data["places"]) is int
    assert data["judges"] == "units"
    assert data["marks"] == ["part: a", "step: b"]
    back = Row.from_dict(data)
    assert back == one
    assert (type(back.where), type(back.reason), back.marks) == (str, str, ("part: a", "step: b"))
    assert Row.from_dict({k: v for k, v in row().to_dict().items() if k != "marks"}).marks == ()
    with pytest.raises(TypeError):
        Row.from_dict({**data, "unknown": 1})


def test_a_row_and_a_verification_print() -> None:
    assert "holds" in str(row())
    whole = Verification("p/t", "q", "undecided", (row(),))
    assert (whole.hypotheses, whole.runs, whole.constants, whole.truth) == ((), (), {}, {})
    assert (whole.parameters, whole.seconds) == ((), 0.0)
    assert str(whole).startswith("p/t on q: undecided")
    assert whole._repr_html_().startswith("<table>")
