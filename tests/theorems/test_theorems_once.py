"""Expressions are written once: no chain stands beside a quotation that the reader reads as that chain.

The reader's tree and the written one are compared without regard to notation: flat sums, signs before a product or
before its first number. A reading or a repaired form may need the two sides of the chain by themselves.
"""

from __future__ import annotations

import pytest

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.installation import theory_directory
from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import plain
from bilevel_verify.theorems.card_parts import Link
from bilevel_verify.theorems.reading import claims
from bilevel_verify.theorems.reading.declarations import Context
from bilevel_verify.theorems.reading.fields import Names, Table
from bilevel_verify.theorems.reading.from_print import display_of
from bilevel_verify.theorems.reading.reader import read_card

PAPERS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")
NEEDED = {'lemma-1, claim "value"', 'lemma-1, claim "gradient"', "lemma-9-restart"}
"""Two claims whose readings change one side; a root that the print writes as a power."""


def same(one: Link, other: Link) -> bool:
    sides = ((one.left, other.left), (one.right, other.right))
    return one.op == other.op and all(plain(a.tree) == plain(b.tree) for a, b in sides)


def test_no_chain_is_written_that_its_quotation_says(monkeypatch: pytest.MonkeyPatch) -> None:
    twice: list[str] = []
    read: list[tree.Node] = []
    usual = claims._links

    def links(table: Table, names: Names, context: Context) -> tuple[Link, ...]:
        found = usual(table, names, context)
        key, texts = display_of(table)
        if not key:
            return found
        if not table.data.keys() & {"chain", "left", "right"}:
            read.append(found[0].left.tree)
            return found
        try:
            printed = context.printed(key, texts, table.place, names)
        except BilevelVerifyError:
            return found
        if len(printed) == len(found) and all(map(same, printed, found)):
            twice.append(", ".join(table.place.parts))
        return found

    monkeypatch.setattr(claims, "_links", links)
    for key in PAPERS:
        read_card(theory_directory() / f"{key}.toml")
    assert set(twice) <= NEEDED
    assert len(read) >= 70
