"""How much of every printed claim the examples of ``assert_keeps_promises`` use up, for the right method.

A claim that stays far below its bound on every example catches nothing. The table shows the largest share of each, the
example, and beside it the largest share that the search of the room ``worst`` has found on anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bilevel_verify.methods import METHODS
from bilevel_verify.testing.assertions.promises import EXAMPLES, examples_for, kind_of
from bilevel_verify.testing.controls.reasons import KINDS, LOOSE
from bilevel_verify.testing.printed.library import CARDS
from bilevel_verify.theorems import card
from bilevel_verify.theorems.card import Statement
from bilevel_verify.worst.family import Candidate
from bilevel_verify.worst.finding import request_for
from bilevel_verify.worst.screening import screen, targets_of

PAGE, WORST = "promises.md", "worst.json"
NEAR = 0.8
ALONG = ("step", "epoch", "run")


@dataclass(frozen=True)
class Reached:
    """The largest share of a claim, the number of its example (-1: none decides it), and where on it."""

    claim: str
    over: str
    relation: str
    share: float
    example: int
    where: str


def reached(statement: str, many: int = EXAMPLES["thorough"]) -> list[Reached]:
    """Every claim along a run of a statement, on the examples that ``assert_keeps_promises`` takes."""
    paper, _, entry = statement.partition("/")
    request = request_for((card(paper), card(paper).statement(entry)))
    targets = [target for target in targets_of(request).values() if target.claim.over in ALONG]
    best = {target.name: Reached(target.name, target.claim.over, str(target.link), 0.0, -1, "") for target in targets}
    for number, (instance, start, eps) in enumerate(examples_for(kind_of(statement), many)):
        found = screen(request, targets, Candidate(f"example {number}", instance.problem(), tuple(start), eps))
        for name, share in found.shares.items():
            if share.ratio > best[name].share:
                best[name] = replace(best[name], share=share.ratio, example=number, where=share.where)
    return list(best.values())


def with_steps() -> tuple[str, ...]:
    """Every statement of the cards that is about a method of this package and has a claim about steps."""
    return tuple(
        f"{key}/{name}"
        for key in CARDS
        for name, entry in card(key).entries.items()
        if isinstance(entry, Statement)
        and str(entry.method).partition(":")[0] in METHODS
        and any(claim.over == "step" for claim in entry.claims)
    )


def write(folder: Path, statements: Sequence[str]) -> tuple[int, int]:
    """``promises.md`` in a folder; how many claims along a run come near their bound, of how many."""
    data = folder / WORST
    elsewhere = _elsewhere(json.loads(data.read_text(encoding="utf8"))) if data.exists() else {}
    rows = [(statement, one) for statement in statements for one in reached(statement)]
    near = sum(one.share >= NEAR for _, one in rows)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text("\n".join(_page(rows, near, elsewhere)) + "\n", encoding="utf8")
    return near, len(rows)


def _elsewhere(found: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """Largest shares that the search of worst cases has found, by ``statement:claim``."""
    best: dict[str, float] = {}
    for entry in found:
        claims = entry["claims"]
        assert isinstance(claims, list)
        best |= {f"{entry['statement']}:{claim['claim']}": float(claim["ratio"]) for claim in claims}
    return best


def _page(rows: Sequence[tuple[str, Reached]], near: int, elsewhere: Mapping[str, float]) -> Iterator[str]:
    yield "# How much of every promise the kit's examples use up"
    yield ""
    yield "The largest share of each claim along a run over the examples of `assert_keeps_promises`, right method;"
    yield "*searched*: the largest share in worst.json, over all families there. 1 is the bound itself. Written by"
    yield "`python -m bilevel_verify.testing --part promises`."
    yield ""
    yield "Two-level claims about the errors of inner solvers stay far below: the numbers of inner steps that a theorem"
    yield "prescribes make them far more exact than it asks."
    yield ""
    yield f"{near} of {len(rows)} come within 20 % of their bound."
    yield ""
    yield "| claim | over | relation | share | example | searched | why not nearer |"
    yield "|---|---|---|---:|---:|---:|---|"
    for statement, one in rows:
        name = f"{statement}:{one.claim}"
        searched = f"{elsewhere[name]:.3g}" if name in elsewhere else ""
        why = "" if one.share >= NEAR else _why(name, one)
        share, example = (f"{one.share:.3g}", str(one.example)) if one.example >= 0 else ("", "none decides it")
        yield f"| {name} | {one.over} | `{one.relation}` | {share} | {example} | {searched} | {why} |"


def _why(name: str, one: Reached) -> str:
    """Why a claim stays below; "not known" of a step claim without a reason."""
    kind = next((why for pattern, why in KINDS if re.search(pattern, one.relation)), "")
    return LOOSE.get(name.split(" (")[0], kind or ("not known" if one.over == "step" else ""))
