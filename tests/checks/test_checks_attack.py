"""Claims about points: what is assumed is not refuted, what is proved between unlike units is not said to hold."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.judging import attack, seeds, sweep
from bilevel_verify.checks.judging.rows import as_claimed
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.card_parts import Expression, Link

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
    broken = row_about(tmp_path, "0.5")
    assert broken.verdict == "refuted"  # one point is enough, whatever the units; they are named
    assert "; units: " in (broken.reason or "")
    assert "units" not in (row_about(tmp_path, "L/2").reason or "")
    monkeypatch.setattr(attack, "_proof", lambda case, judged: "branch and bound on 1 box")
    alike, unlike = row_about(tmp_path, "2*L"), row_about(tmp_path, "2")
    assert (alike.verdict, alike.reason) == ("holds", "branch and bound on 1 box")
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


@pytest.mark.parametrize("said", ["inconsistent", "consistent", "uninformative", "undecided"])
def test_an_assumed_order_is_not_inconsistent(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields: list[dict[str, Any]] = []
    monkeypatch.setattr(sweep, "_blocked", lambda series, claim: None)
    monkeypatch.setattr(sweep, "_sample", lambda claim, link, case, letter: sweep.Sample(case.eps, 1.0, 1.0))
    monkeypatch.setattr(sweep, "_judge", lambda link, samples: ((said, "slopes"), None))
    monkeypatch.setattr(sweep, "_row", lambda *given: fields.append({"outcome": given[5]}))
    for assumed in (False, True):
        case = case_of(F="values of f", X="length of x")
        case.eps, case.below_precision = 0.1, ""
        claim = claim_of(assumed)
        sweep._judge_link(claim, claim.chain[0], 0, [case], "eps")
    claimed, believed = (one["outcome"] for one in fields)
    assert claimed == (said, "slopes")
    kept = ("not applicable", "assumed, not claimed: slopes") if said == "inconsistent" else (said, "slopes")
    assert believed == kept


def test_every_link_of_an_outcome_must_be_homogeneous() -> None:
    claim = claim_of(False)
    zero = Link(claim.chain[0].left, ">=", Expression(parse("0"), "0"))
    case = case_of(F="values of f", X="length of x")
    assert as_claimed(case, claim, ("holds", ""), zero) == ("holds", "")
    for links in ((claim.chain[0],), (zero, claim.chain[0])):
        assert as_claimed(case, claim, ("holds", ""), *links)[0] == "undecided"
    assert as_claimed(case_of(), claim, ("holds", ""), claim.chain[0]) == ("holds", "")
    said = as_claimed(case, claim, ("refuted", "r"), zero, claim.chain[0])
    assert said[0] == "refuted"
    assert said[1].startswith("r; units: ")
    assert as_claimed(case, claim, ("refuted", "r"), zero) == ("refuted", "r")
    for verdict in ("undecided", "not applicable", "consistent", "uninformative"):
        assert as_claimed(case, claim, (verdict, "r"), claim.chain[0]) == (verdict, "r")  # type: ignore[arg-type]
