"""Errata pages: for each paper every defect once, the gravest first, as HTML and as Markdown.

The HTML is one self-contained file without scripts or outside resources. Everything that comes from a card passes
through autoescape or :mod:`reporting.typesetting.mathml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.checks.verdicts.counting import count_of
from bilevel_verify.errors import InputError
from bilevel_verify.files import slug
from bilevel_verify.proofreading.errata.collecting import defect_script, errata, is_of_the_print, script_name
from bilevel_verify.proofreading.errata.erratum import Erratum, Spot, Witness
from bilevel_verify.reporting.errata.errata_first import first_page
from bilevel_verify.reporting.errata.errata_markdown import errata_markdown
from bilevel_verify.reporting.html import content_policy, template
from bilevel_verify.reporting.typesetting.mathml import mixed_to_html, to_mathml
from bilevel_verify.reporting.typesetting.prose import capital, prose

if TYPE_CHECKING:
    from bilevel_verify.audit.findings.coverage import Line
    from bilevel_verify.audit.findings.finding import Finding
    from bilevel_verify.checks.verdicts.verdict import Row
    from bilevel_verify.manuscript.fidelity import Row as Quoted
    from bilevel_verify.proofreading.report import Report
    from bilevel_verify.theorems.card import Card

__all__ = ["defect_script", "errata_page", "script_name", "write_errata"]
STYLE = """main, header.top { max-width: 860px; } main { margin: 0 auto; padding: 1rem 1.25rem 4rem; }
td, th { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; }
section { border-top: 1px solid var(--line); padding-top: .4rem; margin-top: 1.6rem; } .wide { overflow-x: auto; }
section h2 { margin: .6rem 0 .2rem; } .said { margin: .2rem 0; } nav li { margin: .25rem 0; }
a, code { overflow-wrap: anywhere; } .wide > p { margin: .3rem 0; }
dt { color: var(--soft); margin-top: .6rem; } dd { margin: 0 0 .3rem; } dd ul { margin: .3rem 0; padding-left: 1.2rem; }
"""
"""What an errata page has besides the style of the report."""


def write_errata(
    findings: Sequence[Finding], lines: Sequence[Line], cards: Sequence[Card], folder: Path,
    reports: Mapping[str, Report] | None = None, quoted: Mapping[str, Sequence[Quoted]] | None = None,
) -> list[Path]:  # fmt: skip
    """Write ``errata-PAPER.html`` and ``.md`` for each card, its scripts and instance files; the paths of the HTML.

    Of several cards also ``errata-first.md``, the gravest entries of all.

    Parameters
    ----------
    findings : of the audit.
    lines : the coverage table (``audit.coverage.Line``).
    cards : the papers.
    folder : where the pages go; created if it is not there.
    reports : key of a card -> what the proofreader found in its paper.
    quoted : key of a card -> its quotations beside the print, from :func:`quotations`.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    quoted = quotations(cards) if quoted is None else quoted
    pages, found = [], {}
    for card in cards:
        mine, report = [f for f in findings if f.row.paper == card.key], (reports or {}).get(card.key)
        entries = found[card.key] = errata(card, mine, report)
        beside = quoted.get(card.key, ())
        text = _page(card, mine, [line for line in lines if line.paper == card.key], report, entries, beside)
        path = folder / f"errata-{slug(card.key)}.html"
        files = {path.name: text, path.with_suffix(".md").name: errata_markdown(card, entries, _counts(mine), beside)}
        _write(folder, files | {name: content for entry in entries for name, content in entry.files.items()})
        pages.append(path)
    if len(found) > 1:
        names = {key: path.with_suffix(".md").name for key, path in zip(found, pages, strict=True)}
        _write(folder, {"errata-first.md": first_page(found, names)})
    return pages


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None


def errata_page(card: Card, findings: Sequence[Finding], lines: Sequence[Line], report: Report | None = None) -> str:
    """One page as text; ``report`` is what the proofreader found, or None."""
    quoted = quotations([card]).get(card.key, ())
    return _page(card, findings, lines, report, errata(card, findings, report), quoted)


def quotations(cards: Iterable[Card]) -> dict[str, list[Quoted]]:
    """Key of a card whose paper's print is there -> its quotations beside the print."""
    from bilevel_verify.manuscript import fidelity, has_print, load_print

    return {card.key: fidelity(card, load_print(card.key)) for card in cards if has_print(card.key)}


def _page(
    card: Card, findings: Sequence[Finding], lines: Sequence[Line], report: Report | None, found: Sequence[Erratum],
    quoted: Sequence[Quoted],
) -> str:  # fmt: skip
    import jinja2
    from markupsafe import Markup

    from bilevel_verify.audit.findings.coverage import decided
    from bilevel_verify.audit.findings.levels import levels_of

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    style = template("page.css") + STYLE
    rows = [f.row for f in findings]
    entries = [_entry(number, one) for number, one in enumerate(found, 1)]
    grouped = groupby(entries, key=lambda entry: str(entry["grade"]))
    return environment.from_string(template("errata.html")).render(
        card=card,
        style=Markup(style),
        policy=content_policy(style),
        entries=entries,
        contents=[(grade, list(items)) for grade, items in grouped],
        beside=[_beside(row) for row in rows if row.verdict == "refuted" and not is_of_the_print(row)],
        counts=_counts(findings),
        share=str(decided(rows)),
        levels=str(levels_of(rows)).splitlines() if any("certificate" in row.details for row in rows) else [],
        read=report.formulas if report is not None else 0,
        unread=len(report.unread) if report is not None else 0,
        not_read=list(report.unread) if report is not None else [],
        lines=[_line(line) for line in lines],
        **_quotations(quoted),
    )


def _counts(findings: Sequence[Finding]) -> str:
    return str(count_of(f.row.to_dict() for f in findings))


def _quotations(rows: Sequence[Quoted]) -> dict[str, object]:
    """The quotations of a card: counts, and those that are not simply what is judged."""
    from markupsafe import Markup

    from bilevel_verify.manuscript import counts

    shown = [
        {
            "outcome": row.outcome,
            "item": f"{row.statement} {row.part}".strip(),
            "formula": Markup(to_mathml(row.latex)),
            "why": "; ".join((*row.marks, *([row.reason] if row.outcome == "differs" else []))),
        }
        for row in rows
        if not row.outcome.startswith(("same", "quoted"))
    ]
    summed = ", ".join(f"{n} {outcome}" for outcome, n in counts(rows).items())
    return {"quotations": shown, "quoted": summed}


def _entry(number: int, one: Erratum) -> dict[str, object]:
    """An erratum with its texts and formulas set."""
    from markupsafe import Markup

    whole = one.spots[0].sentence
    return {
        "number": number,
        "anchor": slug("erratum", one.rows[0]) if one.rows else f"erratum-{number}",
        "place": Markup(prose(one.heading)),
        "short": one.heading != one.place,
        "sentence": Markup(prose(one.sentence)),
        "whole": Markup(prose(capital(whole) + ("" if whole.endswith(".") else "."))),
        "grade": one.grade,
        "places": one.places,
        "matters": Markup("; ").join(Markup(prose(place)) for place in one.matters),
        "spots": [_spot(spot, whole) for spot in one.spots],
        "witness": _witness(one.witness) if one.witness is not None else None,
        "evidence": [Markup(prose(line)) if len(line) < 200 else line for line in one.evidence],
        "repair": one.repair
        and {
            "latex": Markup("".join(to_mathml(row, block=True) for row in one.repair.latex.splitlines())),
            "hypotheses": [Markup(mixed_to_html(line)) if "$" in line else line for line in one.repair.hypotheses],
            "why": Markup(prose(one.repair.why)),
            "verdict": one.repair.verdict,
            "marked": "\\underline" in one.repair.latex,
        },
        "files": sorted(one.files),
        "command": one.command,
    }


def _spot(spot: Spot, whole: str) -> dict[str, object]:
    from markupsafe import Markup

    formula = spot.latex or spot.stated
    return {
        "place": Markup(prose("; ".join((spot.place, *spot.also)))),
        "read": bool(spot.stated and not spot.latex),
        "formula": Markup(to_mathml(formula, block=True)) if formula else "",
        "sentence": Markup(prose(spot.sentence)) if spot.sentence != whole else "",
        "marks": Markup("; ").join(Markup(prose(mark)) for mark in spot.marks),
    }


def _witness(one: Witness) -> dict[str, object]:
    from markupsafe import Markup

    return {
        "problem": Markup(prose(capital(one.problem) + ".")) if one.problem else "",
        "point": Markup(", ").join(
            Markup(to_mathml(f"{name} = {value}")) for name, value in map(plain_value, one.values)
        ),
        "relation": Markup(to_mathml(one.relation, block=True)) if one.relation else "",
        "sides": tuple(f"{side:.6g}" for side in one.sides) if one.sides is not None else (),
        "where": Markup(prose(one.where)) if one.problem else "",
        "letters": [
            Markup(to_mathml(name) + (f": {prose(meaning)}" if meaning else "")) for name, meaning in one.letters
        ],
    }


def plain_value(item: tuple[str, str]) -> tuple[str, str]:
    """A letter with its value as LaTeX: ``t**(-1)`` becomes a power."""
    from bilevel_verify.reporting.typesetting.prose import latex_of

    return item[0], latex_of(item[1]) or rf"\text{{{item[1]}}}"


def _beside(row: Row) -> str:
    return f"{row.source or row.statement}: {'; '.join(row.marks) or row.reason}"


def _line(line: Line) -> dict[str, str]:
    rest = f"with verify: {', '.join(line.elsewhere)}" if line.elsewhere else line.nothing_to_decide
    return {"id": line.id, "kind": line.kind, "source": line.source, "shown": line.shown, "rest": rest}
