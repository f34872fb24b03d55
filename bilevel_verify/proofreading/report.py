"""The proofreader at work: every kind of defect over one paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bilevel_verify.proofreading.algorithms.branches import branch_defects
from bilevel_verify.proofreading.algorithms.consistent import consistency_defects
from bilevel_verify.proofreading.algorithms.counting import count_defects
from bilevel_verify.proofreading.algorithms.outputs import said_in
from bilevel_verify.proofreading.algorithms.reading import Algorithm, algorithm_defects, algorithms_of
from bilevel_verify.proofreading.algorithms.turned import turned_defects
from bilevel_verify.proofreading.counted.identities import identity_defects
from bilevel_verify.proofreading.counted.per_pass import pass_defects
from bilevel_verify.proofreading.defect import Defect, Group, grouped
from bilevel_verify.proofreading.instances.remainders import remainder_defects
from bilevel_verify.proofreading.instances.scales import scale_defects
from bilevel_verify.proofreading.joints.cases import case_defects
from bilevel_verify.proofreading.joints.citations import citation_defects
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.nearly import nearly_equal_defects
from bilevel_verify.proofreading.joints.places import named_place_defects
from bilevel_verify.proofreading.joints.steps import least_defects, step_defects
from bilevel_verify.proofreading.joints.totals import total_defects
from bilevel_verify.proofreading.judging import judged_joints
from bilevel_verify.proofreading.names.closed_forms import closed_form_defects
from bilevel_verify.proofreading.names.decorations import decoration_defects
from bilevel_verify.proofreading.names.ends import end_defects
from bilevel_verify.proofreading.names.hapax import letter_defects
from bilevel_verify.proofreading.names.idle import idle_defects
from bilevel_verify.proofreading.names.indices import index_defects
from bilevel_verify.proofreading.names.meanings import meaning_defects
from bilevel_verify.proofreading.names.odd_terms import odd_term_defects
from bilevel_verify.proofreading.names.shapes import shape_defects
from bilevel_verify.proofreading.promises.hypotheses import consistency
from bilevel_verify.proofreading.promises.introduced import introduction_defects
from bilevel_verify.proofreading.promises.quantified import quantified_defects
from bilevel_verify.proofreading.promises.twins import twin_defects
from bilevel_verify.proofreading.script import script_of
from bilevel_verify.proofreading.source import Paper, paper_of_card, paper_of_draft
from bilevel_verify.proofreading.words.about import about_defects
from bilevel_verify.proofreading.words.behind import behind_defects
from bilevel_verify.proofreading.words.headings import heading_defects
from bilevel_verify.proofreading.words.premises import premise_defects
from bilevel_verify.proofreading.words.roles import role_defects
from bilevel_verify.proofreading.words.sources import source_defects

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.theorems.card import Card

PRINT: tuple[Callable[[Paper], Iterator[Defect]], ...] = (
    index_defects, end_defects, meaning_defects, letter_defects, shape_defects, decoration_defects,
    step_defects, quantified_defects, closed_form_defects, least_defects, named_place_defects,
    citation_defects, case_defects, total_defects, nearly_equal_defects, twin_defects, idle_defects,
    remainder_defects, scale_defects, premise_defects, source_defects,
    introduction_defects, identity_defects, heading_defects,
    behind_defects, odd_term_defects, about_defects, role_defects,
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What the proofreader found in a paper, and what it could not read of it.

    ``scripts`` show findings by themselves, as far as their kind has one.
    ``joints`` are the citations, cases, totals, cells and hypotheses that were judged, with all verdicts.
    ``witnesses`` are points that meet the scalar hypotheses of the statements of a card: these are not void.
    """

    paper: str
    defects: tuple[Defect, ...]
    formulas: int
    unread: tuple[str, ...] = ()
    witnesses: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[Defect, str] = field(default_factory=dict, repr=False)
    joints: tuple[Judged, ...] = ()

    @property
    def groups(self) -> tuple[Group, ...]:
        """Defects of one cause together, the gravest first."""
        return grouped(self.defects)

    def to_dict(self) -> dict[str, object]:
        """For JSON: one entry for each group."""
        counts = Counter(group.first.kind for group in self.groups)
        return {
            "paper": self.paper,
            "formulas": self.formulas,
            "unread": list(self.unread),
            "counts": dict(counts),
            "witnesses": dict(self.witnesses),
            "joints": [joint.to_dict() for joint in self.joints],
            "defects": [group.to_dict() | {"script": self.scripts.get(group.first)} for group in self.groups],
        }


def proofread(card: Card) -> Report:
    """Proofread a paper with a card: names over its print, if there is one, and algorithms as the card has them."""
    from bilevel_verify.manuscript.formulas import has_print, load_print

    paper = paper_of_card(card, load_print(card.key)) if has_print(card.key) else None
    algorithms = [
        Algorithm(a.id, a.source or a.id, a.program, frozenset(a.needs))
        for a in card.algorithms
        if a.program is not None and not a.variant_of
    ]
    found = _report(card.key, paper, algorithms, [])
    defects, points = consistency(card)
    return replace(found, defects=(*found.defects, *defects), witnesses=points)


def proofread_draft(draft: Draft) -> Report:
    """Proofread a paper's source: names, algorithms, citations."""
    paper = paper_of_draft(draft)
    algorithms, missing = algorithms_of(paper.listings, paper.notation, paper.given, paper.below, said_in(paper))
    found = _report(draft.key, paper, algorithms, missing)
    return _with_joints(found, tuple(judged_joints(paper, draft)))


def _with_joints(report: Report, joints: tuple[Judged, ...]) -> Report:
    """A report with the joints that were judged; what is refuted is a defect with its script."""
    known = {(d.kind, d.place, d.title) for d in report.defects}
    broken = [j for j in joints if j.defect is not None and (j.kind, j.place, j.defect.title) not in known]
    defects = tuple(dict.fromkeys([*report.defects, *(j.defect for j in broken if j.defect is not None)]))
    scripts = {j.defect: j.script for j in broken if j.defect is not None and j.script}
    return replace(report, defects=defects, joints=joints, scripts={**report.scripts, **scripts})


def _report(key: str, paper: Paper | None, algorithms: list[Algorithm], missing: list[str]) -> Report:
    found = [defect for kind in PRINT for defect in kind(paper)] if paper is not None else []
    found += [defect for algorithm in algorithms for defect in algorithm_defects(algorithm)]
    found += (
        [
            *count_defects(paper, algorithms),
            *pass_defects(paper, algorithms),
            *turned_defects(paper, algorithms),
            *consistency_defects(paper),
            *branch_defects(paper, algorithms),
        ]
        if paper is not None
        else []
    )
    unread = [f"{s.place}: {s.read.reason}: {s.read.message}" for s in paper.unread] if paper is not None else []
    count = 0 if paper is None else len(paper.sentences)
    defects = tuple(dict.fromkeys(found))
    scripts = {group.first: text for group in grouped(defects) if (text := script_of(group.first, paper))}
    return Report(key, defects, count, (*unread, *missing), scripts=scripts)
