"""What the cards print, as data for the page: statements, parameters, algorithms, errata, coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

from bilevel_verify.checks.verdicts.counting import Count, in_order
from bilevel_verify.checks.verdicts.verdict import RowRecord, related
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.reporting.document import (
    AlgorithmRecord,
    ClaimRecord,
    CoverageRecord,
    PaperRecord,
    ParameterRecord,
    RefutedRecord,
    StatementRecord,
)
from bilevel_verify.theorems.notation import symbols_of
from bilevel_verify.theorems.origins import ours_of

if TYPE_CHECKING:
    from bilevel_verify.theorems.card import Algorithm, Card, Claim, Entry
    from bilevel_verify.theorems.card_parts import Condition, Definition, Expression, Link, Refuted


def paper_records(rows: Sequence[RowRecord]) -> list[PaperRecord]:
    """One record a paper that occurs in the rows, its statements in the order of the card.

    A paper without a readable card (a user's card that has moved, say) is recorded by what its rows say.
    """
    return [
        _paper(key, [r for r in rows if r["paper"] == key]) for key in sorted({r["paper"] for r in rows if r["paper"]})
    ]


def _paper(key: str, rows: Sequence[RowRecord]) -> PaperRecord:
    from bilevel_verify.theorems import load_card

    try:
        card = load_card(key)
    except BilevelVerifyError:
        names = list(dict.fromkeys(r["statement"] for r in rows if r["statement"]))
        bare = [_bare_statement(key, name, rows) for name in names]
        return {
            "key": key,
            "title": key,
            "authors": "",
            "venue": "",
            "statements": bare,
            "algorithms": [],
            "coverage": [],
        }
    display = symbols_of(card)
    wanted = {r["statement"] for r in rows}
    return {
        "key": key,
        "title": card.title,
        "authors": card.authors,
        "venue": card.venue,
        "statements": [entry_record(card, entry) for entry in card.entries.values() if entry.id in wanted],
        "algorithms": [_algorithm(a, display) for a in card.algorithms],
        "coverage": coverage(card, rows),
    }


def _bare_statement(key: str, name: str, rows: Sequence[RowRecord]) -> StatementRecord:
    claims = {r["claim"]: r for r in reversed(rows) if r["statement"] == name and r["claim"]}
    shown = [_claim_of_row(claims[c]) for c in dict.fromkeys(r["claim"] for r in rows if r["claim"] in claims)]
    return {
        "name": f"{key}/{name}",
        "id": name,
        "kind": "statement",
        "claims": shown,
        "source": "",
        "title": "",
        "text": "",
        "note": "",
        "printed": [],
        "stated": [],
        "marks": [],
        "added": [],
        "origins": [],
        "parsed": [],
        "where": [],
        "assumes": [],
        "parameters": [],
        "refuted": None,
        "method": "",
        "algorithm": "",
    }


def _claim_of_row(row: RowRecord) -> ClaimRecord:
    """A claim as one of its rows has it."""
    stated = row.get("stated")
    text = f"{row['left'] or ''} {related(row['right'], row.get('details'))}".strip()
    return bare_claim(
        row["claim"],
        over=row.get("kind") or "",
        printed=[row["printed"]] if row["printed"] else [],
        stated=[stated] if stated else [],
        reading=row.get("reading") or "",
        parsed=[_typeset(text)] if text else [],
        text=[text] if text else [],
    )


def _typeset(text: str) -> str:
    """LaTeX of the relation of a row; the text itself where it is none."""
    from bilevel_verify.language import parse, to_latex

    try:
        return to_latex(parse(text), {})
    except (BilevelVerifyError, TypeError):
        return rf"\text{{{text}}}"


class Told(TypedDict, total=False):
    """What a row tells about its claim."""

    over: str
    reading: str
    printed: list[str]
    stated: list[str]
    parsed: list[str]
    text: list[str]


def bare_claim(name: str | None, **told: Unpack[Told]) -> ClaimRecord:
    """A claim of which no card tells more than its name; the same fields as one from a card."""
    return {
        "id": name,
        "as_printed": True,
        "refuted": None,
        "over": told.get("over", ""),
        "source": "",
        "reading": told.get("reading", ""),
        "change": "",
        "why": "",
        "note": "",
        "printed": told.get("printed", []),
        "stated": told.get("stated", []),
        "marks": [],
        "added": [],
        "origins": [],
        "parsed": told.get("parsed", []),
        "text": told.get("text", []),
        "for": [],
        "where": [],
    }


def entry_record(card: Card, entry: Entry) -> StatementRecord:
    """One numbered item: what is printed, what was understood (as LaTeX), and the text it was read from."""
    display = symbols_of(card)
    return {
        "name": f"{card.key}/{entry.id}",
        "id": entry.id,
        "kind": entry.kind.replace("_", " "),
        "source": entry.source,
        "title": entry.title,
        "text": entry.text,
        "note": entry.note,
        "printed": [text for text in entry.printed if text],
        "stated": [text for text in entry.stated if text],
        "marks": [str(mark) for mark in entry.marks],
        "added": list(ours_of(entry)),
        "origins": origins(entry.where),
        "parsed": [_relation(link, display) for link in getattr(entry, "chain", ())],
        "where": [_latex(w, display) for w in entry.where],
        "assumes": list(entry.assumes),
        "method": getattr(entry, "method", ""),
        "algorithm": getattr(entry, "algorithm", ""),
        "parameters": _parameters(card, entry, display),
        "claims": [_claim(c, display) for c in _all_claims(getattr(entry, "claims", ()))],
        "refuted": _refuted(entry.refuted),
    }


def origins(where: Sequence[Condition]) -> list[str]:
    """Where the paper prints each hypothesis; "not given" for one that nobody has read."""
    return [condition.origin or ("ours" if condition.added else "not given") for condition in where]


def _all_claims(claims: Sequence[Claim]) -> list[Claim]:
    """Every claim followed by its named readings and its repaired form."""
    found = []
    for claim in claims:
        found += [claim, *claim.readings, *([claim.repaired] if claim.repaired else [])]
    return found


def _claim(claim: Claim, display: Mapping[str, str]) -> ClaimRecord:
    return {
        "id": claim.id,
        "over": claim.over,
        "source": claim.source,
        "printed": [text for text in claim.printed if text],
        "stated": [text for text in claim.stated if text],
        "marks": [str(mark) for mark in claim.marks],
        "added": list(ours_of(claim)),
        "origins": origins(claim.where),
        "parsed": [_relation(link, display) for link in claim.chain],
        "text": [str(link) for link in claim.chain],
        "for": [f"{name} in {domain}" for name, domain in claim.for_.items()],
        "where": [_latex(w, display) for w in claim.where],
        "reading": claim.reading,
        "change": claim.change,
        "why": claim.why,
        "note": claim.note,
        "as_printed": claim.as_printed,
        "refuted": _refuted(claim.refuted),
    }


def _refuted(refuted: Refuted | None) -> RefutedRecord | None:
    return None if refuted is None else {"since": refuted.since, "why": refuted.why, "at": refuted.at}


def _relation(link: Link, display: Mapping[str, str]) -> str:
    from bilevel_verify.language.latex import RELATIONS

    operator = RELATIONS.get(link.op, link.op)
    return f"{_latex(link.left, display)} {operator} {_latex(link.right, display)}"


def _latex(expression: Expression | Condition, display: Mapping[str, str]) -> str:
    """LaTeX of what was understood; the text itself (as text) where the echo has no form for it."""
    from bilevel_verify.language import to_latex

    try:
        return to_latex(expression.tree, display)
    except TypeError:
        return rf"\text{{{expression.text}}}"


def _parameters(card: Card, entry: Entry, display: Mapping[str, str]) -> list[ParameterRecord]:
    """Letters that the statement prescribes, from its own parameters and from its settings."""
    found: list[ParameterRecord] = []
    named: list[tuple[str, Mapping[str, Definition], Sequence[Condition]]] = [
        ("", getattr(entry, "parameters", {}), ())
    ]
    for name in getattr(entry, "settings", ()):
        settings = card.settings.get(name)
        if settings is not None:
            named.append((name, settings.parameters, settings.where))
    for settings_name, parameters, where in named:
        for letter, definition in parameters.items():
            found.append(
                {
                    "letter": letter,
                    "latex": display.get(letter) or _letter(letter),
                    "value": _latex(definition.expression, display),
                    "printed": definition.printed,
                    "stated": definition.stated,
                    "settings": settings_name,
                    "where": [_latex(w, display) for w in where],
                }
            )
    return found


def _letter(name: str) -> str:
    from bilevel_verify.language import letter_latex

    return letter_latex(name)


def _algorithm(algorithm: Algorithm, display: Mapping[str, str]) -> AlgorithmRecord:
    return {
        "id": algorithm.id,
        "source": algorithm.source,
        "title": algorithm.title,
        "method": algorithm.method,
        "inputs": [display.get(i) or _letter(i) for i in algorithm.inputs],
        "steps": algorithm.steps.strip("\n"),
        "note": algorithm.note,
        "reading": algorithm.reading,
        "variant_of": algorithm.variant_of,
    }


def coverage(card: Card, rows: Sequence[RowRecord]) -> list[CoverageRecord]:
    """What was decided about every numbered item of a card: its rows by kind of check and by verdict, or why none.

    ``checks`` names the kinds of check that the item gives rise to, ``by_check`` counts the verdicts of each kind that
    has rows here, ``verdicts`` those that the item shows: of its relations, as printed where one is judged so.
    """
    from bilevel_verify.theorems import checks_of

    found: dict[str, dict[str, Count]] = {}
    for row in rows:
        found.setdefault(row["statement"] or "", {}).setdefault(row["kind"], Count()).add(row)
    table: list[CoverageRecord] = []
    for entry in card.entries.values():
        kinds = found.get(entry.id, {})
        total = Count()
        for count in kinds.values():
            total.update(count)
        table.append(
            {
                "id": entry.id,
                "kind": entry.kind.replace("_", " "),
                "source": entry.source,
                "checks": list(checks_of(entry)),
                "verdicts": in_order(total.summed_up),
                "by_check": {kind: counts.to_dict() for kind, counts in kinds.items()},
                "nothing_to_decide": entry.nothing_to_decide,
            }
        )
    return table
