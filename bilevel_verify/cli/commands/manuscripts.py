"""``fidelity`` and ``coverage``: a card beside the print of its paper."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.manuscript.coverage import Walk
    from bilevel_verify.manuscript.formulas import Print
    from bilevel_verify.theorems.card import Card


def fidelity_command(arguments: argparse.Namespace) -> int:
    """Is what the cards quote in the papers, and is it what they judge?"""
    from bilevel_verify.manuscript import BAD, counts, fidelity

    rows = [row for card, source in _pairs(arguments) for row in fidelity(card, source, arguments.statement)]
    if arguments.statement and not rows:
        raise InputError(f"nothing under {arguments.statement!r} is a quotation")
    status = 1 if any(row.outcome in BAD for row in rows) else 0
    if arguments.json:
        output.print_json({"rows": [row.to_dict() for row in rows], "counts": counts(rows)})
        return status
    shown = rows if arguments.all or arguments.statement else [r for r in rows if r.outcome in (*BAD, "not read")]
    lines = [
        [r.outcome, f"{r.paper}/{r.statement} {r.part}".strip(), r.latex, r.reason or "; ".join(r.marks)] for r in shown
    ]
    if lines:
        output.table("", ["outcome", "where", "quotation", "why"], lines)
    for paper in dict.fromkeys(row.paper for row in rows):
        found = counts([row for row in rows if row.paper == paper])
        output.show(f"{paper}: {', '.join(f'{n} {what}' for what, n in found.items())}")
    return status


def coverage_command(arguments: argparse.Namespace) -> int:
    """Which row judges each printed relation, or why none does."""
    from bilevel_verify.audit import audit
    from bilevel_verify.manuscript.coverage import coverage_by_print

    walks, seconds = [], {}
    for card, source in _pairs(arguments):
        begin = _processor()
        output.say(f"{card.key}: audit of the card, then of what is only printed")
        jobs = arguments.jobs or os.cpu_count() or 1
        findings = audit(card, quick=not arguments.full, jobs=jobs)
        walks.append((card, source, coverage_by_print(card, source, [f.row for f in findings], jobs=jobs)))
        seconds[card.key] = _processor() - begin
    if arguments.out:
        _write(walks, seconds, Path(arguments.out))
    if arguments.json:
        output.print_json({"papers": [walk.to_dict() for *_, walk in walks]})
        return 0
    for *_, walk in walks:
        if arguments.all:
            cells = [[ln.name, ln.place, ln.by, ln.verdict, ln.entry, ln.text, ln.reason] for ln in walk.lines]
            output.table(walk.paper, ["relation", "place", "by", "verdict", "entry", "as read", "reason"], cells)
        output.show(walk.summary())
    return 0


def _write(walks: Sequence[tuple[Card, Print, Walk]], seconds: dict[str, float], folder: Path) -> None:
    """A page and its data for each paper, and the table of all."""
    from bilevel_verify.files import slug
    from bilevel_verify.manuscript.kept import kept_text
    from bilevel_verify.manuscript.table import coverage_table
    from bilevel_verify.reporting.manuscript import write_manuscript, write_page
    from bilevel_verify.version import VERSION

    for card, source, walk in walks:
        output.say(f"page: {write_manuscript(card, walk, folder)}")
        data = kept_text(card, source, walk, VERSION)
        output.say(f"data: {write_page(folder, f'{slug(card.key)}.json', data)}")
    table = coverage_table([walk for *_, walk in walks], seconds)
    output.say(f"table: {write_page(folder, 'coverage.md', table)}")


def _processor() -> float:
    """Seconds of processor time of this process and of those that it has ended: that of the engines is ended first."""
    from bilevel_verify.audit.limits import close

    close()
    return sum(os.times()[:4])


def _pairs(arguments: argparse.Namespace) -> Sequence[tuple[Card, Print]]:
    """Cards with their prints; a card of one's own needs ``--print``."""
    from bilevel_verify.manuscript import load_print
    from bilevel_verify.theorems.library import load_card, shipped

    names = arguments.paper or list(shipped())
    if arguments.print and len(names) != 1:
        raise InputError("--print is the print of one paper: name its card")
    return [(card := load_card(name), load_print(arguments.print or card.key)) for name in names]
