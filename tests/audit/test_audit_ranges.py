"""Definitions and the ranges of their letters; assumptions; units of the printed relation."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.audit.auditor import findings_of
from bilevel_verify.audit.entries.text import executability_findings
from bilevel_verify.audit.findings.coverage import coverage
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.errors import CardError
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.reading.reader import read_card

pytestmark = pytest.mark.fast
HEAD = """
[paper]
key = "ranges"
[units]
F = "values"
X = "length"
[letters]
theta = { unit = "1", domain = "(0, 1)" }
K = { unit = "1", domain = "integers 1.." }
t = { unit = "1", domain = "[0, 3]" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user" }
sigma = { unit = "F/X", domain = "(0, oo)" }
L = { unit = "F/X**2", domain = "(0, oo)" }
rho = { unit = "F/X**3", domain = "(0, oo)" }
"""


def card_of(folder: Path, text: str) -> Card:
    path = folder / "ranges.toml"
    path.write_text(HEAD + text, encoding="utf8")
    return read_card(path)


def inequality(define: str, chain: str = '["1", "<= 2"]', more: str = "") -> str:
    return f'[[inequality]]\nid = "i"\ndefine = {{ {define} }}\ndefine_from = "(1)"\nchain = {chain}\n{more}\n'


def found(card: Card, kind: str, entry: str = "i") -> list[Finding]:
    return [f for f in findings_of(card, card.entries[entry], budget=2.0) if f.row.kind == kind]


@pytest.mark.parametrize(
    ("define", "fault"),
    [
        ('theta = "1/2"', ""),
        ('theta = "1"', "1 is not in the range (0, 1) of theta"),
        ('theta = "0"', "(0, 1) of theta"),
        ('theta = "-1/2"', "(0, 1) of theta"),
        ('K = "1"', ""),
        ('K = "3/2"', "integers 1.. of K"),
        ('K = "0"', "integers 1.. of K"),
        ('t = "3"', ""),
        ('t = "0"', ""),
        ('t = "pi"', "[0, 3] of t"),
        ('theta = "1/0"', ""),  # undefined is another matter
    ],
)
def test_numbers_outside_of_the_range_are_errors_of_the_card(tmp_path: Path, define: str, fault: str) -> None:
    if not fault:
        card_of(tmp_path, inequality(define))
        return
    with pytest.raises(CardError) as error:
        card_of(tmp_path, inequality(define))
    assert fault in str(error.value)
    assert "i, define" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[definitions]\ntheta = '2'",
        "[settings.s.parameters]\ntheta = '2'",
        '[[theorem]]\nid = "i"\nparameters = { theta = "2" }',
        '[[theorem]]\nid = "i"\n[[theorem.claim]]\nid = "c"\nover = "parameters"\ndefine = { theta = "2" }\n'
        'left = "theta"\nright = "3"',
    ],
)
def test_every_place_that_gives_a_number_is_looked_at(tmp_path: Path, text: str) -> None:
    with pytest.raises(CardError, match=r"2 is not in the range \(0, 1\) of theta"):
        card_of(tmp_path, text)


def test_a_quantified_letter_has_its_own_range(tmp_path: Path) -> None:
    card_of(tmp_path, '[[inequality]]\nid = "i"\nfor = { theta = "[1, 2]" }\nchain = ["theta", "<= 2"]\n')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("define", "rows"),
    [
        ('theta = "1/(1 + K)"', 0),
        ('theta = "1/K"', 1),  # 1 at K = 1
        ('theta = "t/4"', 1),  # 0 at t = 0
        ('t = "3*theta"', 0),
        ('t = "4*theta"', 1),
    ],
)
def test_formulas_that_may_leave_the_range_are_rows(tmp_path: Path, define: str, rows: int) -> None:
    undecided = found(card_of(tmp_path, inequality(define)), "definedness")
    assert [f.verdict for f in undecided] == ["undecided"] * rows
    for finding in undecided:
        assert "may leave the range" in (finding.row.reason or "")
        assert not finding.row.as_printed


def test_the_coverage_names_what_is_not_printed(tmp_path: Path) -> None:
    """Formulas of the card, perhaps out of range or of another unit, and pseudo-code with an input that is taken."""
    cases = {"definedness, added": ('theta = "t/4"', '["1", "<= 2"]'), "units, added": ('eps = "L"', '["eps", "<= L"]')}
    for kind, (define, chain) in cases.items():
        card = card_of(tmp_path, inequality(define, chain))
        rows = [f.row for f in findings_of(card, card.entries["i"], budget=2.0)]
        assert all(bool(row.marks) != row.as_printed for row in rows)
        assert any(kind in line.verdicts for line in coverage(card, rows))
    card = load_card("agm-bio")
    (entry,) = [entry for entry in card.entries.values() if entry.id == "algorithm-1"]
    rows = [f.row for f in executability_findings(card, entry)]
    assert any(row.marks[:1] == (f"reading: {row.reading}",) for row in rows)
    assert any("executability, reading" in line.verdicts for line in coverage(card, rows))


def test_formulas_outside_for_all_letters_are_errors_of_the_card(tmp_path: Path) -> None:
    card = card_of(tmp_path, inequality('theta = "1 + K"'))
    with pytest.raises(CardError, match=r"i, define/theta: 1 \+ K is not in the range \(0, 1\) of theta"):
        findings_of(card, card.entries["i"])


def test_hypotheses_of_the_entry_count(tmp_path: Path) -> None:
    card = card_of(tmp_path, inequality('theta = "1/K"', more='where = ["K >= 2"]'))
    assert not found(card, "definedness")


def test_norms_are_not_negative(tmp_path: Path) -> None:
    claim = (
        '[[theorem]]\nid = "i"\n[[theorem.claim]]\nid = "c"\nover = "run"\ndefine = { t = "min(norm(output), 3)" }\n'
    )
    assert not found(card_of(tmp_path, claim + 'left = "t"\nright = "3"\n'), "definedness")
    assert found(card_of(tmp_path, claim.replace("min(norm(output), 3)", "norm(output)") + 'left = "t"\nright = "3"\n'),
                 "definedness")  # fmt: skip


# --- assumptions


def test_an_assumption_is_never_refuted(tmp_path: Path) -> None:
    false = '[[inequality]]\nid = "i"\nassumed = true\nchain = ["L/L + 1", "<= 1"]\n'
    *others, row = [f.row for f in found(card_of(tmp_path, false), "inequality")]
    assert row.verdict == "not applicable"
    assert all(other.verdict != "refuted" for other in others)
    assert "assumed, not claimed" in (row.reason or "")
    *_, row = [f.row for f in found(card_of(tmp_path, false.replace("true", "false")), "inequality")]
    assert row.verdict == "refuted"
    true = false.replace("L/L + 1", "L/L/2")
    *_, row = [f.row for f in found(card_of(tmp_path, true), "inequality")]
    assert row.verdict == "holds"


@pytest.mark.parametrize("kind", ["assumption", "condition"])
def test_assumptions_and_conditions_are_assumed_by_rule(tmp_path: Path, kind: str) -> None:
    claim = f'[[{kind}]]\nid = "a"\n[[{kind}.claim]]\nid = "c"\nover = "parameters"\nleft = "K"\nright = "K"\n'
    (first,) = card_of(tmp_path, claim).entries["a"].claims  # type: ignore[attr-defined]
    assert first.assumed
    (second,) = card_of(tmp_path, claim + "assumed = false\n").entries["a"].claims  # type: ignore[attr-defined]
    assert not second.assumed
    with pytest.raises(CardError, match="an assumption claims nothing"):
        card_of(tmp_path, claim + 'refuted = { why = "x" }\n')
    (third,) = card_of(tmp_path, claim.replace(kind, "lemma")).entries["a"].claims  # type: ignore[attr-defined]
    assert not third.assumed


SLOW = """
[[{kind}]]
id = "s"
method = "gradient-descent"
  [[{kind}.claim]]
  id = "c"
  over = "step"
  left = "{left}"
  right = "{right}"
"""


@pytest.mark.parametrize(
    ("kind", "left", "right", "verdict", "said"),
    [
        ("theorem", "norm(x[k+1] - x[k])", "norm(x[0])/1000", "refuted", ""),
        ("condition", "norm(x[k+1] - x[k])", "norm(x[0])/1000", "not applicable", "assumed, not claimed"),
        ("theorem", "norm(x[k+1] - x[k])", "1000*norm(x[0])", "holds", ""),
        ("theorem", "norm(x[k+1] - x[k])", "f(x[k]) + 10**6", "undecided", "units"),
        ("theorem", "norm(x[k+1] - x[k])", "f(x[k])/10**6", "refuted", ""),
    ],
)
def test_verdicts_along_a_run(tmp_path: Path, kind: str, left: str, right: str, verdict: str, said: str) -> None:
    card = card_of(tmp_path, SLOW.format(kind=kind, left=left, right=right))
    problem = bv.single_level(f="x1**2 + 1", x="x1")
    rows = bv.verify(problem, card, eps=0.1, x0=[1.0], parameters={"eta": 0.1}, budget=200).claims
    (row,) = [r for r in rows if r.claim == "c"]
    assert row.verdict == verdict, row.reason
    assert said in (row.reason or "")


# --- units of what is printed


def test_a_substitution_of_the_card_is_not_a_fault_of_the_print(tmp_path: Path) -> None:
    """sigma has the unit of a gradient; the card puts eps**2 for it."""
    card = card_of(tmp_path, inequality('sigma = "eps**2"', '["sigma + eps", "<= 9*eps"]', 'where = ["eps <= 1"]'))
    rows = {f.row.claim: f.row for f in found(card, "units")}
    assert rows["link-1"].verdict == "holds"
    assert rows["define/sigma"].verdict == "undecided"
    assert "the card puts a formula of another unit" in (rows["define/sigma"].reason or "")
    assert not rows["define/sigma"].as_printed


def test_a_letter_with_a_new_meaning_has_the_unit_of_its_formula(tmp_path: Path) -> None:
    card = card_of(tmp_path, inequality('sigma = "eps/L"', '["sigma*L", "<= 2*eps"]'))
    assert {f.row.claim: f.verdict for f in found(card, "units")}["link-1"] == "holds"


def test_a_printed_slip_stays_one(tmp_path: Path) -> None:
    card = card_of(tmp_path, inequality('sigma = "eps/2"', '["sigma + eps**2", "<= 9*eps"]'))
    rows = {f.row.claim: f for f in found(card, "units")}
    assert rows["link-1"].verdict == "refuted"
    assert rows["link-1"].script is not None
    assert "define/sigma" not in rows
    card = card_of(tmp_path, inequality('sigma = "eps**2"', '["sigma + eps**3", "<= 9*eps"]'))
    assert {f.row.claim: f.verdict for f in found(card, "units")}["link-1"] == "refuted"
