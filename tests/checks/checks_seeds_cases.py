"""Cases, runs by seed and outcomes for the tests of promises with a probability."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flint import ctx

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally, undecided
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import seeds
from bilevel_verify.checks.requests.request import Request
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.card_parts import Expression, Link


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def link(left: str = "norm(output)") -> Link:
    return Link(expression(left), "<=", expression("10"))


def claim_of(id_: str = "c", probability: str = "9/10", links: int = 1, **more: Any) -> Claim:
    return Claim(id=id_, over="run", chain=(link(),) * links, probability=expression(probability), **more)


FALSE, OPEN, TRUE = (Premise(v, v, f"because {v}") for v in ("not applicable", "undecided", "holds"))  # type: ignore[arg-type]


def case_of(*premises: Premise, statement: dict[str, Any] | None = None, **changes: Any) -> Case:
    entry = Statement(kind="theorem", id="t", **(statement or {}))
    request = Request(Card("paper", "A paper", Path("paper.toml")), entry, method="perturbed")
    problem = SimpleNamespace(name="bowl", knobs={})
    instance: Any = SimpleNamespace(local=(), start=[1.0], problem=problem, truth="truth")
    resolved: Any = SimpleNamespace(letters={}, readings=(), reading=None)
    case = Case(request, instance, resolved, list(premises), {})
    for name, value in changes.items():
        setattr(case, name, value)
    return case


def tally_of(outcome: str, margin: float = -0.5, certainty: Any = "certified") -> Tally:
    tally = Tally()
    if outcome != "not applicable":
        answer = {"holds": True, "refuted": False}.get(outcome)
        tally.take(undecided("tie") if answer is None else Judgement(answer, 1, 2, margin, "", certainty))
    assert tally.outcome()[0] == outcome
    return tally


def links_of(claim: Claim, *outcomes: str, **more: Any) -> list[Judged]:
    return [Judged(claim, link(), k, tally_of(o, **more), Evaluator({})) for k, o in enumerate(outcomes)]


class Runs:
    """Runs by seed: how each ended and what the links of each claim say on it; what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, say: Any, ends: Any = None, digits: Any = None) -> None:
        self.say, self.ends, self.digits = say, ends or {}, digits
        self.asked: list[Any] = []
        monkeypatch.setattr(seeds, "_judged_on", self.judged_on)

    def __call__(self, case: Case, seed: int | None = None, **options: Any) -> Any:
        self.asked.append((seed, options))
        end = self.digits if "digits" in options and self.digits else self.ends.get(seed, "finished")
        if isinstance(end, Exception):
            raise end
        return SimpleNamespace(status=end, seed=seed, options=options)

    def judged_on(self, case: Case, claims: list[Claim], found: Any) -> list[Judged]:
        assert ctx.prec == (512 if "digits" in found.options else ctx.prec)
        return [one for claim in claims for one in self.say(claim, found.seed, "digits" in found.options)]


def always(*outcomes: str, **more: Any) -> Any:
    return lambda claim, seed, digits: links_of(claim, *outcomes, **more)
