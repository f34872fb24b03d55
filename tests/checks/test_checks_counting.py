"""What a count of verdicts counts: relations as printed, marked ones beside them, everything else apart."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bilevel_verify.checks.verdicts.counting import KEPT, ON_RECORD, Count, count_of, in_order, text_of, word_of
from bilevel_verify.checks.verdicts.verdict import NOT_THE_RELATION, Row, judged_by


def row(verdict: str = "holds", kind: str = "inequality", **fields: Any) -> Row:
    """A row of the audit."""
    blank = {"paper": "p", "statement": "s", "claim": "c", "source": None, "problem": None, "method": None}
    return Row(**blank, kind=kind, verdict=verdict, **fields)  # type: ignore[arg-type]


def marked(*marks: str, verdict: str = "holds", **fields: Any) -> Row:
    return row(verdict, marks=marks, as_printed=False, **fields)


def count(*rows: Row) -> Count:
    return count_of(r.to_dict() for r in rows)


@pytest.mark.parametrize(
    "kind", ["inequality", "identity", "derivation", "step-algebra", "run", "order", "probability"]
)
def test_these_kinds_judge_the_relation(kind: str) -> None:
    assert row(kind=kind).judges == judged_by(kind) == "relation"


@pytest.mark.parametrize("kind", NOT_THE_RELATION)
def test_these_kinds_judge_something_else_and_never_hold(kind: str) -> None:
    assert row(kind=kind).judges == kind
    found = count(row(kind=kind))
    assert not found.relations
    assert not found.summed_up
    assert not found.certainty
    assert found.apart[kind].total() == 1
    assert word_of(row(kind=kind).to_dict()).startswith(f"{kind}: ")
    assert "holds" not in word_of(row(kind=kind).to_dict())


def test_a_row_with_a_mark_is_never_as_printed() -> None:
    with pytest.raises(ValueError, match="never as printed"):
        row(marks=("special: k = 2",))


def test_rows_survive_json_with_their_marks() -> None:
    one = marked("special: k = 2", "part: a term", kind="units")
    again = Row.from_dict(one.to_dict())
    assert again == one
    assert (again.marks, again.judges) == (("special: k = 2", "part: a term"), "units")
    old = {k: v for k, v in row().to_dict().items() if k not in ("marks", "judges", "stated")}
    assert Row.from_dict(old) == row()


def test_units_agree_disagree_or_are_weak() -> None:
    rows = [row(v, "units") for v in ("holds", "holds", "refuted", "undecided")]
    assert count(*rows).to_dict()["apart"] == {"units": {"agree": 2, "disagree": 1, "weak": 1}}
    assert word_of(rows[2].to_dict()) == "units: disagree"


def test_relations_as_printed_and_marked_are_told_apart() -> None:
    found = count(row(certainty="proved"), row("refuted"), marked("added: k >= 2"), marked("special: k = 2", "part: x"))
    assert found.printed == {"holds": 1, "refuted": 1}
    assert found.marked == {"added": {"holds": 1}, "special": {"holds": 1}}
    assert found.relations == {"holds": 3, "refuted": 1}
    assert found.certainty == {"proved": 1, "computed": 2}
    assert found.summed_up == {"holds": 1, "refuted": 1}


def test_where_nothing_is_printed_a_cell_shows_marked_rows_and_repaired_ones_last() -> None:
    assert count(marked("repaired: x"), marked("special: k = 2", verdict="undecided")).summed_up == {"undecided": 1}
    assert count(marked("repaired: x")).summed_up == {"holds": 1}


def test_a_claim_refuted_on_record_is_counted_nowhere_as_holding() -> None:
    found = count(row(known_refuted=True), row("refuted", known_refuted=True), row("undecided", known_refuted=True))
    assert found.relations == {"refuted": 1, "undecided": 1}
    assert found.apart == {ON_RECORD: {KEPT: 1}}
    assert not found.certainty
    mended = count(marked("repaired: x", known_refuted=True))
    assert mended.relations == {"holds": 1}


def test_rows_of_older_stores_are_counted_by_their_kind() -> None:
    old = {k: v for k, v in row(kind="units").to_dict().items() if k not in ("marks", "judges")}
    found = Count()
    found.add(old)
    found.add({**old, "kind": "run", "as_printed": False, "reading": "mine"})
    found.add({**old, "kind": "run", "as_printed": False})
    assert found.apart == {"units": {"agree": 1}}
    assert found.marked == {"reading": {"holds": 1}, "repaired": {"holds": 1}}


def test_counts_of_two_places_add_up() -> None:
    total = count(row(), row(kind="units"), marked("added: x"))
    total.update(count(row("refuted"), row("refuted", "units"), marked("added: x"), marked("part: y")))
    assert total.printed == {"holds": 1, "refuted": 1}
    assert total.marked == {"added": {"holds": 2}, "part": {"holds": 1}}
    assert total.apart == {"units": {"agree": 1, "disagree": 1}}


def test_the_line_of_counts() -> None:
    rows = [row(certainty="proved"), row(certainty="certified"), row("refuted"), marked("added: x", certainty="proved")]
    text = str(count(*rows, row(kind="units"), row("undecided", "units")))
    assert text == ("1 refuted, 3 holds (1 certified, 2 proved); of these added: 1 holds; units: 1 agree, 1 weak")
    assert str(count()) == "no verdicts"
    assert str(count(row(kind="units"))) == "units: 1 agree"


def test_verdicts_come_in_one_order_and_none_twice() -> None:
    assert list(in_order(Counter({"holds": 1, "refuted": 2, "undecided": 0, "not applicable": 3}))) == [
        "refuted",
        "holds",
        "not applicable",
    ]
    assert text_of(count(row("refuted")).to_dict()) == "1 refuted"
