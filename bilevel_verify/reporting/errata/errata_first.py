"""The defects of several papers that one would send to their authors first: the gravest, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bilevel_verify.audit.findings.causes import GRADES
from bilevel_verify.proofreading.errata.erratum import Erratum
from bilevel_verify.reporting.typesetting.prose import prose_markdown

MOST = 20


def first_of(entries: Mapping[str, Sequence[Erratum]], most: int = MOST) -> list[tuple[str, int, Erratum]]:
    """The gravest entries of all papers, as (paper, number on its errata page, entry).

    Within a grade those come first that can be seen with a script, then those that matter for more statements; of
    equals the papers take turns.
    """
    ranked = [
        (GRADES.index(one.grade), not one.files, -len(one.matters), number, paper, one)
        for paper, found in entries.items()
        for number, one in enumerate(found, 1)
    ]
    return [(paper, number, one) for *_, number, paper, one in sorted(ranked, key=lambda row: row[:5])[:most]]


def first_page(entries: Mapping[str, Sequence[Erratum]], pages: Mapping[str, str], most: int = MOST) -> str:
    """The page; ``pages`` are the names of the errata pages by paper."""
    chosen = first_of(entries, most)
    total = sum(map(len, entries.values()))
    lines = [
        "# To be sent first",
        "",
        f"{len(chosen)} of {total} defects of {len(entries)} papers, the gravest first.",
        "",
    ]
    for place, (paper, number, one) in enumerate(chosen, 1):
        lines += [*_entry(place, paper, number, one, pages.get(paper, "")), ""]
    return "\n".join(lines)


def _entry(place: int, paper: str, number: int, one: Erratum, page: str) -> Iterator[str]:
    where = f"[{paper}, entry {number}]({page})" if page else f"{paper}, entry {number}"
    yield f"{place}. **{prose_markdown(one.heading)}**: {prose_markdown(one.sentence)} (*{one.grade}*; {where})"
    formula = one.spots[0].latex or one.spots[0].stated
    if formula:
        yield from ("", f"   ${' '.join(formula.split())}$")
    if one.repair is not None:
        form = ", ".join(f"${row}$" for row in one.repair.latex.splitlines()) or "the printed formula"
        changed = "; ".join(one.repair.hypotheses) or ("" if one.repair.latex else prose_markdown(one.repair.why))
        yield from ("", f"   Nearest true form: {form}" + (f"; {changed}" if changed else ""))
    if one.files:
        yield from ("", "   Shown by " + ", ".join(f"[{name}]({name})" for name in sorted(one.files)))
