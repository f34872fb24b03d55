"""The unit check applied to a card: letters, functions, definitions, settings, claims, links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.units.unit_script import unit_script
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import to_latex, to_text, tree
from bilevel_verify.theorems.card import Card, Claim, Derivation, Entry, Identity, Inequality, Statement, Step, TableRow
from bilevel_verify.theorems.origins import added_mark
from bilevel_verify.theorems.units.unit_table import mismatches, undeclared_letters, unit_table
from bilevel_verify.theorems.units.units import Mismatch, Unit, show
from bilevel_verify.theorems.vocabulary import NUMBERS


def unit_findings(card: Card, entry: Entry) -> Iterator[Finding]:
    """Findings of the unit check about one entry; nothing where the card declares no units.

    Where a formula that the card puts for a letter has another unit, that is a row of its own.
    """
    if not card.units:
        return
    for claim_id, sides, printed, local in relations(entry):
        if entry.drafted and _without_unit(card, sides, local):
            continue
        found, judged = mismatches(card, entry, sides, local)
        finding = _finding(card, entry, claim_id, sides, printed, found, _known(entry, claim_id))
        script = unit_script(unit_table(card), *judged) if finding.verdict == "refuted" else None
        yield replace(finding, script=script)
    yield from _definitions(card, entry)


def _without_unit(card: Card, sides: tuple[tree.Node, ...], local: Mapping[str, tree.Node]) -> bool:
    """Whether a letter of a drafted relation has no unit, because nobody has given it one."""
    names: set[str] = set()
    for side in (*sides, *local.values()):
        names |= {part.name for part in side.walk() if isinstance(part, tree.Letter)}
    return any(name not in NUMBERS and (name not in card.letters or card.letters[name].unit is None) for name in names)


def _definitions(card: Card, entry: Entry) -> Iterator[Finding]:
    """A row for every formula that the card puts for a letter of another unit; nothing is printed there."""
    local = {name: value.tree for name, value in entry.define.items()}
    for name in sorted(local.keys() - undeclared_letters(card, local).keys()):
        sides = tree.Letter(name), local[name]
        found = [Mismatch("weak", f"the card puts a formula of another unit: {m.message}", m.column)
                 for m in mismatches(card, entry, sides, {})[0] if m.kind == "hard"]  # fmt: skip
        if found:
            finding = _finding(card, entry, f"define/{name}", sides, "", found, False)
            marks = str(added_mark((f"{name} = {entry.define[name].text}",))), *finding.row.marks
            yield replace(finding, row=replace(finding.row, as_printed=False, marks=marks))


Relation = tuple[str, tuple[tree.Node, ...], str, Mapping[str, tree.Node]]


def relations(entry: Entry) -> Iterator[Relation]:
    """Everything of an entry whose sides must have one unit: (claim id, sides, printed LaTeX, local definitions)."""
    local = {name: value.tree for name, value in entry.define.items()}
    for name, definition in entry.parameters.items():
        yield f"parameters/{name}", (tree.Letter(name), definition.expression.tree), definition.printed, local
    match entry:
        case Inequality() | Step():
            for number, link in enumerate(entry.chain):
                yield f"link-{number + 1}", (link.left.tree, link.right.tree), link.printed, local
        case Derivation():
            yield "derivation", (entry.result.tree, entry.gives.tree), "", local
            for name, value in entry.substitute.items():
                yield f"substitute/{name}", (tree.Letter(name), value.tree), "", local
        case Identity():
            yield "identity", (entry.left.tree, entry.right.tree), "", local
        case TableRow():
            for column, value in entry.entries.items():
                yield f"column/{column}", (value.tree, tree.Letter("_one")), "", local
        case Statement():
            for claim in entry.claims:
                inner = local | {name: value.tree for name, value in claim.define.items()}
                for number, link in enumerate(claim.chain):
                    suffix = f"/{number + 1}" if len(claim.chain) > 1 else ""
                    yield claim.id + suffix, (link.left.tree, link.right.tree), link.printed, inner


def _finding(
    card: Card,
    entry: Entry,
    claim: str,
    sides: tuple[tree.Node, ...],
    printed: str,
    found: list[Mismatch],
    known: bool,
) -> Finding:
    hard = [m for m in found if m.kind == "hard"]
    weak = [m for m in found if m.kind == "weak"]
    texts = [to_text(side) for side in sides]
    display = {n: s.display for n, s in card.letters.items() if s.display}
    row = Row(
        paper=card.key,
        statement=entry.id,
        claim=claim,
        source=_source(entry, claim) or None,
        problem=None,
        method=None,
        kind="units",
        verdict="refuted" if hard else ("undecided" if weak else "holds"),
        certainty="proved" if hard or not weak else None,
        left=texts[0],
        right=texts[-1],
        where=f"column {(hard or weak)[0].column}" if found else None,
        reason="; ".join(m.message for m in hard or weak) or "homogeneous in every base unit",
        reading=entry.reading or None,
        stated=None if printed else " = ".join(to_latex(side, display) for side in sides),
        as_printed=not entry.marks,
        marks=tuple(str(mark) for mark in entry.marks),
        known_refuted=known,
    )
    witness = {"unit": hard[0].message} if hard else None
    return Finding(row, printed=printed or None, counterexample=witness)


def _source(entry: Entry, claim_id: str) -> str:
    """Where the paper prints it: the place of the claim, which may be in the proof, else that of the entry."""
    claims = entry.claims if isinstance(entry, Statement) else ()
    return next((c.source for c in claims if c.source and c.id == claim_id.partition("/")[0]), entry.source)


def _known(entry: Entry, claim_id: str) -> bool:
    """Whether the card already records a refutation of the entry or of this claim."""
    if entry.refuted is not None:
        return True
    claims = entry.claims if isinstance(entry, Statement) else ()
    return any(claim.refuted is not None and claim_id in (claim.id, *_parts(claim)) for claim in claims)


def _parts(claim: Claim) -> list[str]:
    return [f"{claim.id}/{number + 1}" for number in range(len(claim.chain))]


def describe(unit: Unit | None) -> str:
    """A unit as text."""
    return show(unit)
