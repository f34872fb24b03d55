"""The page of the defects that are sent first: by grade, those with a script before those without."""

from __future__ import annotations

from bilevel_verify.proofreading.errata.erratum import Erratum, Spot
from bilevel_verify.reporting.errata.errata_first import first_of, first_page


def entry(grade: str, place: str, **more: object) -> Erratum:
    return Erratum(grade, place, "it is wrong", (Spot(place, "it is wrong", "a<b"),), **more)  # type: ignore[arg-type]


ENTRIES = {
    "one": [entry("breaks the statement", "Theorem 1"), entry("wording", "Lemma 9")],
    "two": [
        entry("breaks the statement", "Theorem 2", files={"x.py": ""}),
        entry("local slip", "(3)"),
        entry("local slip", "(4)", matters=("Theorem 2",)),
    ],
}


def test_the_gravest_come_first_and_those_with_a_script_before_others() -> None:
    assert [one.place for _, _, one in first_of(ENTRIES)] == ["Theorem 2", "Theorem 1", "(4)", "(3)", "Lemma 9"]
    assert [(paper, number) for paper, number, _ in first_of(ENTRIES, most=2)] == [("two", 1), ("one", 1)]


def test_the_page_names_paper_entry_formula_and_script() -> None:
    page = first_page(ENTRIES, {"two": "errata-two.md"}, most=2)
    assert "2 of 5 defects of 2 papers" in page
    assert "[two, entry 1](errata-two.md)" in page
    assert "$a<b$" in page
    assert "[x.py](x.py)" in page
    assert "Lemma 9" not in page
