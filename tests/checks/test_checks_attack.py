"""Claims about points: what is assumed is not refuted, what is proved between unlike units is not said to hold."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.checks import attack, seeds
from bilevel_verify.checks.rows import as_claimed
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Expression, Link, Statement

CARD = """
[paper]
key = "points"
title = "Claims about points"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz constant of the gradient" }
[[lemma]]
id = "curvature"
"""
CLAIM = """
  [[lemma.claim]]
  id = "c"
  over = "point"
  for = {{ x = "domain" }}
  for_from = "Lemma 1"
  assumed = {assumed}
  left = "norm(hess_f(x))"
  right = "{right}"
"""


def row_about(tmp_path: Path, right: str, assumed: str = "false") -> bv.Row:
    path = tmp_path / "points.toml"
    path.write_text(CARD + CLAIM.format(right=right, assumed=assumed), encoding="utf-8")
    (row,) = bv.verify(bv.single_level(f="1 - cos(x1)", x="x1"), path, x0=[1.0]).claims
    return row


def test_a_point_refutes_what_is_claimed_and_not_what_is_assumed(tmp_path: Path) -> None:
    claimed, assumed = row_about(tmp_path, "L/2"), row_about(tmp_path, "L/2", "true")
    assert claimed.verdict == "refuted"
    assert assumed.verdict == "not applicable"
    assert (assumed.reason or "").startswith("assumed, not claimed: violated at x = ")
    assert assumed.certainty is None


def test_what_is_proved_between_unlike_units_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row_about(tmp_path, "0.5").verdict == "refuted"  # one point is enough, whatever the units
    monkeypatch.setattr(attack, "_proof", lambda case, judged: "branch and bound on 1 boxes")
    alike, unlike = row_about(tmp_path, "2*L"), row_about(tmp_path, "2")
    assert (alike.verdict, alike.reason) == ("holds", "branch and bound on 1 boxes")
    assert unlike.verdict == "undecided"
    assert (unlike.reason or "").startswith("units: ")


def claim_of(assumed: bool) -> Claim:
    link = Link(Expression(parse("f(output)"), "f(output)"), "<=", Expression(parse("1"), "1"))
    least = Expression(parse("1/2"), "1/2")
    return Claim(id="c", over="run", chain=(link,), probability=least, assumed=assumed)


def case_of(**units: str) -> Any:
    card = Card("free", "A card", Path("free.toml"), units=units)
    return SimpleNamespace(request=SimpleNamespace(card=card, statement=Statement(kind="theorem", id="t")))


def test_an_assumed_probability_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "plain_row", lambda case, **fields: fields)
    monkeypatch.setattr(seeds, "readings_of", lambda case, claim: None)
    monkeypatch.setattr(seeds, "marks_of", lambda case, claim: ())
    for assumed, verdict in ((False, "refuted"), (True, "not applicable")):
        case = case_of()
        case.method, case.eps, case.request.statement = "m", None, Statement(kind="theorem", id="t")
        found: Any = seeds._row(case, claim_of(assumed), ("refuted", "0 of 100 seeds"), None)
        assert found["verdict"] == verdict
        assert (found["certainty"] is None) == assumed


def test_every_link_of_an_outcome_must_be_homogeneous() -> None:
    claim = claim_of(False)
    zero = Link(claim.chain[0].left, ">=", Expression(parse("0"), "0"))
    case = case_of(F="values of f", X="length of x")
    assert as_claimed(case, claim, ("holds", ""), zero) == ("holds", "")
    for links in ((claim.chain[0],), (zero, claim.chain[0])):
        assert as_claimed(case, claim, ("holds", ""), *links)[0] == "undecided"
    assert as_claimed(case_of(), claim, ("holds", ""), claim.chain[0]) == ("holds", "")
    for verdict in ("refuted", "undecided", "not applicable"):
        assert as_claimed(case, claim, (verdict, "r"), claim.chain[0]) == (verdict, "r")  # type: ignore[arg-type]
