"""Every joint of a drafted paper, judged: citations, totals, tables, cases, hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bilevel_verify.proofreading.counted.columns import column_joints
from bilevel_verify.proofreading.counted.contraries import contrary_joints
from bilevel_verify.proofreading.counted.counts import count_joints
from bilevel_verify.proofreading.counted.enumerated import enumerated_joints
from bilevel_verify.proofreading.counted.factors import factor_joints
from bilevel_verify.proofreading.counted.inductions import induction_joints
from bilevel_verify.proofreading.counted.lines import line_joints
from bilevel_verify.proofreading.counted.parts import part_joints
from bilevel_verify.proofreading.counted.ranges import ranged_joints
from bilevel_verify.proofreading.counted.recurrences import recurrence_joints
from bilevel_verify.proofreading.counted.samples import sampled_joints
from bilevel_verify.proofreading.counted.tables import table_joints
from bilevel_verify.proofreading.following.citing import cited_joints
from bilevel_verify.proofreading.instances.links import link_joints
from bilevel_verify.proofreading.instances.narrow import narrow_joints
from bilevel_verify.proofreading.joints.bases import base_joints
from bilevel_verify.proofreading.joints.carrying import carried_joints
from bilevel_verify.proofreading.joints.combined import combined_joints
from bilevel_verify.proofreading.joints.distinctions import distinction_joints
from bilevel_verify.proofreading.joints.epochs import epoch_joints
from bilevel_verify.proofreading.joints.equalities import equality_joints
from bilevel_verify.proofreading.joints.exchanged import exchanged_joints
from bilevel_verify.proofreading.joints.independence import independence_joints
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import order_joints
from bilevel_verify.proofreading.joints.parameters import parameter_joints
from bilevel_verify.proofreading.joints.quoting import quoted_joints
from bilevel_verify.proofreading.joints.summing import added_joints, summed_joints
from bilevel_verify.proofreading.promises.conclusions import conclusion_joints
from bilevel_verify.proofreading.promises.in_place import in_place_joints
from bilevel_verify.proofreading.promises.loose import loose_joints
from bilevel_verify.proofreading.promises.needed import needed_joints
from bilevel_verify.proofreading.promises.promised_orders import promised_order_joints
from bilevel_verify.proofreading.promises.put_in import put_in_joints
from bilevel_verify.proofreading.promises.special import special_joints
from bilevel_verify.proofreading.promises.supposed import supposed_joints
from bilevel_verify.proofreading.promises.together import together_joints
from bilevel_verify.proofreading.source import Paper
from bilevel_verify.proofreading.words.amounts import amount_joints
from bilevel_verify.proofreading.words.cited import item_joints
from bilevel_verify.proofreading.words.constants import spoken_joints
from bilevel_verify.proofreading.words.instanced import instanced_joints
from bilevel_verify.proofreading.words.plausible import plausible_joints
from bilevel_verify.proofreading.words.worked import worked_joints

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

OF_WORDS: tuple[Callable[[Paper], Iterator[Judged]], ...] = (
    carried_joints, base_joints, quoted_joints, summed_joints, order_joints, table_joints, epoch_joints,
    distinction_joints, exchanged_joints, independence_joints, added_joints, conclusion_joints, factor_joints,
    promised_order_joints, plausible_joints, spoken_joints, amount_joints, count_joints,
    contrary_joints, induction_joints, put_in_joints, worked_joints, part_joints, enumerated_joints, ranged_joints,
    column_joints, sampled_joints, item_joints, line_joints, recurrence_joints, in_place_joints,
    combined_joints,
)  # fmt: skip
OF_SCOPES: tuple[Callable[[Paper, Draft], Iterator[Judged]], ...] = (
    parameter_joints, together_joints, special_joints, equality_joints, needed_joints,
    supposed_joints, loose_joints,
    link_joints, instanced_joints, narrow_joints, cited_joints,
)  # fmt: skip


def judged_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every joint that was found, in the order of the kinds; a hypothesis that two rules miss at one place, once."""
    missed: set[tuple[str, str]] = set()
    for of_words in OF_WORDS:
        yield from of_words(paper)
    for of_scopes in OF_SCOPES:
        for joint in of_scopes(paper, draft):
            key = joint.place, joint.subject
            if key not in missed:
                yield joint
            missed |= {key} if joint.subject else set()
