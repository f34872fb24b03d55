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
from bilevel_verify.testing.printed.library import CARDS
from bilevel_verify.theorems import card
from bilevel_verify.theorems.card import Statement
from bilevel_verify.worst.family import Candidate
from bilevel_verify.worst.finding import request_for
from bilevel_verify.worst.screening import screen, targets_of

PAGE, WORST = "promises.md", "worst.json"
NEAR = 0.8
ALONG = ("step", "epoch", "run")
_PAPER = "restarted-agd-hb"
_T1, _T4 = f"{_PAPER}/theorem-1:", f"{_PAPER}/theorem-4:"
LOOSE: Mapping[str, str] = {
    f"{_T1}equation-6b": "at most sqrt(1 + 2/N)/2, N = ceil(K): the last epoch has N steps whose squares add up to S "
    "with N S <= B^2; y[k] - x[0] is a sum of at most N - 1 of them, the last one 2 - theta times, so that its norm is "
    "at most sqrt(N + 2) sqrt(S)",
    f"{_T1}equation-17": "at most about 0.76: the left side is at most 2/(eta K) (a + theta s), a the shortest move of "
    "the second half, s the way until it; with N S <= B^2 the best choice of both halves gives 0.746, the errors of "
    "the model less than 0.01",
    f"{_T1}equation-18": "equality needs a first half that stands still and a second one of equal steps; from rest the "
    "steps of a quadratic reach 0.66 (differential evolution over curvatures and starts, K = 12)",
    f"{_T1}output": "0.52 is the most over curvatures and starts of a quadratic (as for (18)), to which an epoch is "
    "close: the Hessian changes by at most theta^2/(16 eta) in it",
    f"{_T1}output-distance": "a mean of norms that grow like the root of k: below 0.45 for N >= 8",
    f"{_T1}equation-16": "friction alone loses about theta/eta S = 16 rho B^3, sixteen times the bound",
    f"{_T4}drift/2": "at most 2/3: an epoch of one step has two zero terms and 4 B, a longer one at most B + 5/4 B + B",
    f"{_PAPER}/lemma-3:per-step": "below 1/2 whatever the errors are (both sides are quadratic forms of q_0 and the "
    "errors: right - 2 left is positive semidefinite), at most 1/4 between negative sides; without errors it is "
    "r/(2 + r), x[k+1] - v = (1 + r)(x[k] - v), most where theta = 1/4: 0.23",
}
"""Why a claim cannot come near its bound."""
KINDS: tuple[tuple[str, str], ...] = (
    (
        r"(1 - 1/sqrt|1 - 2/\(1 \+ sqrt|sqrt\(kappa\) - 1)",
        "the printed rate is that of the worst function, the examples are near quadratics: there the square of the "
        "error of AGD falls like the square of the factor, and CG is exact after d_y steps",
    ),
    (
        r"^norm\((([yzwv]\[k\] - [yv]_star)|(grad_\w+\([wx]\[k\]\) - (u|ghat)\[k\])|hess_).*<= .*(sigma|eps)"
        r"|\+ ell\*norm\(v\[k\] - v_star\(w\[k\], y\[k\]\)\) <= sigma",
        "an error of the inner solvers: they take the number of steps that the printed rate asks for, which on these "
        "examples is far too many",
    ),
    (
        r"<= 1e-\d+\*[^<]*$|>= -(1e-\d+\*|near_x)[^<]*$",
        "an equality or a sign, up to rounding: the bound is what rounding is allowed",
    ),
)
"""Relations of one kind (a pattern), and why they cannot come near either."""


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
