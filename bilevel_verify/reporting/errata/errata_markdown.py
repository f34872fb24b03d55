"""The errata of a paper as Markdown, formulas between dollar signs: to be pasted into a letter or an issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bilevel_verify.proofreading.errata.erratum import Erratum, Repair, Spot, Witness
from bilevel_verify.reporting.typesetting.prose import capital, latex_of, prose_markdown

if TYPE_CHECKING:
    from bilevel_verify.manuscript.fidelity import Row as Quoted
    from bilevel_verify.theorems.card import Card


def errata_markdown(card: Card, entries: Sequence[Erratum], counts: str, quoted: Sequence[Quoted] = ()) -> str:
    """The whole page: contents, entries, and last what was judged and how the quotations stand beside the print."""
    lines = [f"# Errata: {card.title or card.key}", ""]
    if not entries:
        lines += ["Nothing was refuted.", ""]
    else:
        many = f"{len(entries)} defects" if len(entries) > 1 else "One defect"
        lines += [f"{many}, each told once with every place where it shows, the gravest first.", ""]
        grade = ""
        for number, entry in enumerate(entries, 1):
            if entry.grade != grade:
                grade = entry.grade
                lines += ["", f"**{grade.capitalize()}**", ""]
            lines.append(f"{number}. {prose_markdown(entry.heading)}: {prose_markdown(entry.sentence)}")
        lines.append("")
    for number, entry in enumerate(entries, 1):
        lines += [*_entry(number, entry), ""]
    return "\n".join([*lines, "## What was judged", "", f"{counts}.", "", *(_quotations(quoted) if quoted else ())])


def _quotations(rows: Sequence[Quoted]) -> Iterator[str]:
    """Counts, and a line for each quotation that is not simply what is judged."""
    from bilevel_verify.manuscript import counts

    yield from ("## Quotations beside the print", "")
    yield from (", ".join(f"{n} {outcome}" for outcome, n in counts(rows).items()) + ".", "")
    for row in rows:
        if not row.outcome.startswith(("same", "quoted")):
            why = "; ".join((*row.marks, *([row.reason] if row.outcome == "differs" else [])))
            yield f"- {row.outcome}: {row.statement} {row.part}".rstrip() + (f" ({prose_markdown(why)})" if why else "")
    yield ""


def _entry(number: int, one: Erratum) -> Iterator[str]:
    whole = one.spots[0].sentence
    yield from (f"## {number}. {prose_markdown(one.heading)}", "")
    yield prose_markdown(capital(whole) + ("" if whole.endswith(".") else "."))
    yield from (
        "",
        f"*{one.grade.capitalize()}.*"
        + (f" It matters for: {prose_markdown('; '.join(one.matters))}." if one.matters else ""),
    )
    for spot in one.spots:
        yield from _spot(spot, whole, len(one.spots) > 1 or one.heading != one.place)
    if one.witness is not None:
        yield from _witness(one.witness)
    for line in one.evidence:
        formula = latex_of(line)
        yield from ("", f"Shown by: `{line}`" if formula is None else f"Shown by: ${formula}$")
    if one.repair is not None:
        yield from _repair(one.repair)
    if one.files:
        yield from ("", "To see it by yourself: " + ", ".join(f"[{name}]({name})" for name in sorted(one.files)) + ".")
    if one.command:
        yield from ("", f"Again: `{one.command}`")


def _spot(spot: Spot, whole: str, several: bool) -> Iterator[str]:
    formula = spot.latex or spot.stated
    if not (formula or several):
        return
    read = " (as we read it)" if spot.stated and not spot.latex else ""
    said = f": {prose_markdown(spot.sentence)}." if spot.sentence != whole else ":" if formula else "."
    yield from ("", f"{prose_markdown('; '.join((spot.place, *spot.also)))}{read}{said}")
    if formula:
        yield from ("", f"$${' '.join(formula.split())}$$")
    if spot.marks:
        yield from ("", f"Judged: {prose_markdown('; '.join(spot.marks))}.")


def _witness(one: Witness) -> Iterator[str]:
    yield from ("", "What shows it:")
    if one.problem:
        yield from ("", prose_markdown(capital(one.problem)) + ".")
    if one.values:
        yield from ("", ", ".join(f"${name} = {latex_of(value) or value}$" for name, value in one.values))
    if one.relation:
        yield from ("", f"$${one.relation}$$")
    if one.sides is not None:
        where = f" ({prose_markdown(one.where)})" if one.problem and one.where else ""
        yield from ("", f"Left side {one.sides[0]:.6g}, right side {one.sides[1]:.6g}{where}.")
    if one.letters:
        yield from (
            "",
            *(f"* ${name}$" + (f": {prose_markdown(meaning)}" if meaning else "") for name, meaning in one.letters),
        )


def _repair(one: Repair) -> Iterator[str]:
    marked = " (what changed is underlined)" if r"\underline" in one.latex else ""
    stays = "" if one.latex else " the printed formula" + (", with" if one.hypotheses else "")
    yield from ("", f"Nearest true form{marked}:{stays}", "")
    yield from (f"$${row}$$" for row in one.latex.splitlines())
    yield from (f"* {line}" for line in one.hypotheses)
    verdict = f" This form: {one.verdict}." if one.verdict else " This form was not judged here."
    yield from ("", (f"{prose_markdown(one.why)}." if one.why else "") + verdict)
