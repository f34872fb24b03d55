"""The kit against slips: pseudo-code with one slip each, handed to ``assert_same_iterates`` as a solver.

A mutant is *stillborn* if it does not run at all (it reads what was never made, or mixes shapes), *equivalent* if it
does the same on every example that was tried and there is a reason why it must, and *real* otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from bilevel_verify.language import tree
from bilevel_verify.methods.trajectory import Trajectory
from bilevel_verify.testing.assertions.same_lines import compare
from bilevel_verify.testing.printed.cases import Example, example
from bilevel_verify.testing.printed.comparing import gap
from bilevel_verify.testing.printed.library import Printed, printed
from bilevel_verify.testing.printed.running import Transcript, transcribe
from bilevel_verify.testing.printed.slips import Slip, slips_of
from bilevel_verify.testing.trials.common import Function
from bilevel_verify.testing.trials.contracts import PROFILES, BrokenContract, Profile
from bilevel_verify.testing.trials.trying import examples
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import rebuild

MUTATED = (
    "restarted-agd restarted-hb restarted-agd-practical restarted-agd-perturbed agd-jin rahgd pragda ragd-gs "
    "accf2ba f2ba aid-bio itd-bio fsba lmcn agm-bio r-apm convex-until-guilty"
).split()
"""Methods whose pseudo-code gets slips."""
POOL = 60
"""Further examples, of another seed, on which a survivor must do the same to be called equivalent."""
POOL_SEED = 20_000_017
STILLBORN = ("was never assigned", "shapes", "undefined", "TypeError", "ValueError", "ParameterError", "index is")
ZERO = tree.Number(Fraction(0))
Class = Literal["real", "equivalent", "stillborn"]


@dataclass(frozen=True)
class Verdict:
    """What became of a slip: its class, the profile that caught it ("" : none), the contract broken or the reason."""

    slip: Slip
    kind: Class
    caught: str
    why: str


def as_solver(printed_: Printed) -> Function:
    """Pseudo-code as anybody's solver: it hands back x, epoch by epoch, and its output."""

    def solver(oracles: Any, x0: Any, parameters: Any) -> Trajectory:
        found = transcribe(printed_, oracles, x0, parameters)
        if found.halted or found.output is None:
            raise RuntimeError(found.halted or "no output")
        return Trajectory(found.epochs, output=found.output)

    return solver


@lru_cache(maxsize=64)
def _cases(method: str, count: int, seed: int) -> tuple[tuple[Example, Transcript], ...]:
    found = (example(method, data) for data in examples(count, seed))
    return tuple(case for case in found if case is not None)


def judged(
    slip: Slip, seed: int = 0, profiles: Sequence[Profile] = tuple(PROFILES.values()), pool: int = POOL
) -> Verdict:
    """Try a mutant as a user's solver is tried, with one profile after the other, and classify it."""
    method, solver = slip.printed.method, as_solver(slip.printed)
    source = printed(method)
    assert source is not None
    stillborn = _stillborn(slip, _cases(method, 3, seed))
    if stillborn:
        return Verdict(slip, "stillborn", "", stillborn)
    for profile in profiles[:1] if reason_of(slip) else profiles:  # no example shows what cannot show
        for case, whole in _cases(method, profile.examples, seed):
            try:
                compare(solver, source, case, whole, 1e-8, True, profile)
            except BrokenContract as failure:
                return Verdict(slip, "real", profile.name, failure.contract)
    return _survivor(slip, _cases(method, pool, POOL_SEED))


def _stillborn(slip: Slip, cases: Iterable[tuple[Example, Transcript]]) -> str:
    """Why the pseudo-code with the slip does not run at all; "" if it runs."""
    ended = [transcribe(slip.printed, case.oracles(), case.x0, case.parameters).halted for case, _ in cases]
    return ended[0] if ended and all(any(word in text for word in STILLBORN) for text in ended) else ""


def _survivor(slip: Slip, cases: Iterable[tuple[Example, Transcript]]) -> Verdict:
    """Equivalent, with the reason; or real and missed."""
    tried = 0
    for case, whole in cases:
        difference = _differs(whole, transcribe(slip.printed, case.oracles(), case.x0, case.parameters))
        if difference:
            return Verdict(slip, "real", "", difference)
        tried += 1
    reason = reason_of(slip)
    if not reason:
        return Verdict(slip, "real", "", f"the same on all {tried} further examples, and no reason is known")
    return Verdict(slip, "equivalent", "", f"{reason}; the same on all examples, {tried} further ones among them")


REASONS = (
    (
        "range begins too early",
        "norm(x[t,i + 1] - x[t,i])**2, (i, 0 - 1,",
        "the added term is norm(x[t,0] - x[t,-1])**2 = 0: every epoch begins with two equal entries",
    ),
    ("index one too high", "x[0,0]", "x[0,-1] and x[0,0] are one point: the first epoch begins with two equal entries"),
    ("factor 1/2 too many", "0*x_int/2", "half of the zero vector is the zero vector"),
    ("factor 2 too many", "2*0*x_int", "twice the zero vector is the zero vector"),
)
"""Operator, a part of the line after it, why nothing changes."""
_EPOCHS = "t only counts the epochs: they begin at any number, and may leave some out"
_ENDLESS = "a loop without end, as before: the return ends it"
_PROOF = "line 17 cannot go on without the proof that this loop finds: it is found before j reaches k"
GUILTY = "convex-until-guilty"
ALONE = {
    (GUILTY, "1", "number one too large", "1"): _EPOCHS,
    (GUILTY, "1", "number one too small", "-1"): _EPOCHS,
    (GUILTY, "19", "number one too large", "2"): _EPOCHS,
    (GUILTY, "19", "line too late", "after if norm(grad_f(p)) <= eps"): _EPOCHS,
    (GUILTY, "2", "test strict or not", "0 <= 1"): _ENDLESS,
    (GUILTY, "2", "number one too small", "-1"): _ENDLESS,
    (GUILTY, "2", "number one too large", "2"): _ENDLESS,
    (GUILTY, "3", "number one too small", "-1"): "a flag that is compared with 1 only",
    (GUILTY, "15", "number one too small", "-1"): "a flag that is compared with 1 only",
    (GUILTY, "11", "number one too large", "2"): "a flag that is compared with 0 only",
    (GUILTY, "16", "number one too large", "2"): "a flag that is compared with 0 only",
    (GUILTY, "7", "another sequence", "x[t,0]"): "x[t,0] and y[t,0] are one point",
    (GUILTY, "13", "half of a test", "guilty == 1"): _PROOF,
    (GUILTY, "13", "test strict or not", "j <= k"): _PROOF,
}
"""Method, line, operator, the part after it: why nothing changes."""


def reason_of(slip: Slip) -> str:
    """Why a slip cannot change a run; "" if no reason is known. Lines that may change places are no slips at all."""
    if slip.operator == "test strict or not" and not _of_integers(slip):
        return "the two tests differ only where both sides are equal as floats, which no run met"
    if _only_unread_indices(slip):
        return "an index of a sequence of letters whose formula does not read it: the same number for every such index"
    alone = ALONE.get((slip.printed.method, slip.place.label, slip.operator, slip.after))
    return alone or next(
        (why for operator, part, why in REASONS if operator == slip.operator and part in slip.after), ""
    )


def _only_unread_indices(slip: Slip) -> bool:
    """Whether the slip changes nothing but such indices: ``T[1, -1]`` where every epoch has the same ``T[t, -1]``."""
    source = printed(slip.printed.method)
    assert source is not None
    families = source.algorithm.families
    unread = {name: set(indices) - tree.letters(formula.tree) for name, (indices, formula) in families.items()}
    if not any(unread.values()):
        return False

    def without(node: tree.Node) -> tree.Node:
        if isinstance(node, tree.Index) and node.base in unread:
            pairs = zip(families[node.base][0], node.indices)
            node = replace(node, indices=tuple(ZERO if name in unread[node.base] else i for name, i in pairs))
        return rebuild(node, without)

    def lines(program: script.Program) -> list[list[tree.Node]]:
        return [[without(part) for part in script.expressions_of(one)] for one in program.walk()]

    return lines(slip.printed.algorithm.program) == lines(source.algorithm.program) and not slip.place.inside


MEASURES = ("norm", "f", "dot")


def _of_integers(slip: Slip) -> bool:
    """Whether both sides of a test are counters, which meet again and again: no value is read, by name or not."""
    return not _measured(str(slip.printed.algorithm.program.text)) & set(re.findall(r"[A-Za-z]\w*", slip.before))


def _measured(text: str) -> set[str]:
    """What makes values, and the names to which a pseudo-code gives them."""
    found, size = set(MEASURES), 0
    while size < len(found):
        size = len(found)
        for name, formula in re.findall(r"(\w+)(?:\[[^]=]*\])? = ([^;#\n]*)", text):
            found |= {name} if found & set(re.findall(r"[A-Za-z]\w*", formula)) else set()
    return found


def _differs(whole: Transcript, other: Transcript) -> str:
    if other.halted or other.output is None or whole.output is None:
        return other.halted or "no output"
    if [len(epoch) for epoch in whole.epochs] != [len(epoch) for epoch in other.epochs]:
        return "another number of steps"
    pairs = [(a, b) for one, two in zip(whole.epochs, other.epochs) for a, b in zip(one, two)]
    if not all(_alike(a, b) for a, b in [*pairs, (whole.output, other.output)]):
        return "other iterates"
    kinds = (Counter(call.kind for call in run.log) for run in (whole, other))
    return "" if next(kinds) >= next(kinds) else "more calls"


def _alike(a: object, b: object) -> bool:
    return gap(np.asarray(a), np.asarray(b)) <= 1e-10


def sample(count: int, seed: int, methods: Sequence[str] = MUTATED) -> list[Slip]:
    """Slips drawn without replacement, as many from each method as there are, operators in turn."""
    rng = np.random.default_rng(seed)
    found: list[Slip] = []
    each = -(-count // len(methods))
    for method in methods:
        slips = slips_of(method)
        order = [slips[i] for i in rng.permutation(len(slips))]
        rank: Counter[str] = Counter()
        turns = []
        for slip in order:
            turns.append((rank[slip.operator], slip))
            rank[slip.operator] += 1
        found += [slip for _, slip in sorted(turns, key=lambda turn: turn[0])[:each]]
    return found[: max(count, len(methods))]
