"""The proofreader at work: every kind of defect over one paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.decorations import decoration_defects
from bilevel_verify.proofreading.names.ends import end_defects
from bilevel_verify.proofreading.names.indices import index_defects
from bilevel_verify.proofreading.names.meanings import meaning_defects
from bilevel_verify.proofreading.names.shapes import shape_defects
from bilevel_verify.proofreading.source import Paper, paper_of_card, paper_of_draft

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.theorems.card import Card

NAMES: tuple[Callable[[Paper], Iterator[Defect]], ...] = (
    index_defects, end_defects, meaning_defects, shape_defects, decoration_defects,
)  # fmt: skip


def proofread(card: Card) -> list[Defect]:
    """Everything that the proofreader finds in a paper with a card and, if it has one, a print."""
    from bilevel_verify.manuscript.formulas import has_print, load_print

    found: list[Defect] = []
    if has_print(card.key):
        found += read_paper(paper_of_card(card, load_print(card.key)))
    return found


def proofread_draft(draft: Draft) -> list[Defect]:
    """Everything that the proofreader finds in a paper's source."""
    return read_paper(paper_of_draft(draft))


def read_paper(paper: Paper) -> list[Defect]:
    """Defects of names and indices of a paper."""
    return [defect for kind in NAMES for defect in kind(paper)]
