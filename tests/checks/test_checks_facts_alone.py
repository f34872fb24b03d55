"""What a claim asks of a run: wherever it asks, on either side, in a condition, in a range, in a definition."""

from __future__ import annotations

from typing import Any

import pytest

from bilevel_verify.checks.claims.facts import (
    conditions_of,
    needs_epochs,
    rests_on_the_end,
    rests_on_the_epoch,
    trees_of,
)
from bilevel_verify.language import parse, to_text
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link

pytestmark = pytest.mark.fast

PLAIN = "f(x[k])"


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def span(low: str | None, high: str | None) -> Domain:
    ends = [None if end is None else expression(end) for end in (low, high)]
    return Domain("integers", "integers", ends[0], ends[1])


def places(text: str, over: Any) -> list[Claim]:
    """Claims that ask for something at one place each, and for nothing else."""

    def claim(left: str = PLAIN, right: str = "10", then: str = "11", **more: Any) -> Claim:
        links = tuple(Link(expression(a), "<=", expression(b)) for a, b in ((left, right), (right, then)))
        return Claim(id="c", over=over, chain=links, **more)

    condition = Condition(parse("1 < 2"), "1 < 2")
    asking = Condition(parse(f"{text} < 2"), "")
    return [
        claim(left=text),
        claim(right=text),
        claim(then=text),
        claim(where=(condition, asking)),
        claim(for_={"i": span("1", "2"), "j": span("1", text)}),
        claim(for_={"i": span(text, None)}),
        claim(define={"a": expression("1"), "b": expression(text)}),
    ]


@pytest.mark.parametrize("over", ["step", "epoch", "run"])
@pytest.mark.parametrize(
    ("text", "epoch", "end"),
    [
        ("a", False, False),
        ("k", False, False),
        ("k_end", True, False),
        ("ended_by_restart", True, False),
        ("last_epoch", True, False),
        ("output", False, True),
        ("norm(output)", False, True),
        ("status", False, True),
        ("lambda_min_output", False, True),
        ("iterations", False, True),
        ("epochs", False, True),
        ("calls(grad_f)", False, True),
        ("1 + calls(grad_f, hvp)", False, True),
        ("norm(y[t, k])", False, False),
    ],
)
def test_when_it_is_known(text: str, epoch: bool, end: bool, over: str) -> None:
    for claim in places(text, over):
        assert rests_on_the_epoch(claim) is (epoch or over == "epoch")
        assert rests_on_the_end(claim) is (end or over == "run")


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("a", False, False),
        ("k_end", True, True),
        ("last_epoch", True, True),
        ("t", True, True),
        ("epochs", True, True),
        ("iterations", True, False),
        ("output", False, False),
        ("calls(grad_f)", False, False),
        ("norm(y[k])", True, False),
        ("norm(y[t, k])", True, True),
    ],
)
def test_what_needs_epochs(text: str, known: bool, unknown: bool) -> None:
    def bare(claim: Claim, left: str) -> Claim:
        """The claim without its own entry of x, unless that is what is asked for."""
        links = tuple(
            Link(expression("0") if str(link.left) == PLAIN else link.left, link.op, link.right) for link in claim.chain
        )
        return Claim(id=left, over=claim.over, chain=links, for_=claim.for_, where=claim.where, define=claim.define)

    for claim in places(text, "run"):
        one = bare(claim, text)
        assert needs_epochs(one, True) is known
        assert needs_epochs(one, None) is unknown
        assert needs_epochs(one, False) is False
    for over, steps, epochs in (("step", True, unknown), ("epoch", True, True)):
        for claim in places(text, over):
            assert needs_epochs(bare(claim, text), True) is steps
            assert needs_epochs(bare(claim, text), None) is epochs
            assert needs_epochs(bare(claim, text), False) is False


def test_everything_that_a_claim_mentions_in_its_order() -> None:
    chain = (Link(expression("a"), "<=", expression("b")), Link(expression("b"), "<", expression("c")))
    ranges = {"i": span("d", "n"), "j": span("o", None), "k": span(None, "p")}
    where = (Condition(parse("q < 1"), ""), Condition(parse("r < 1"), ""))
    claim = Claim(id="c", over="run", chain=chain, for_=ranges, where=where, define={"s": expression("u")})
    conditions = ["d", "n", "o", "p", "q < 1", "r < 1"]
    assert [to_text(one) for one in conditions_of(claim)] == conditions
    assert [to_text(one) for one in trees_of(claim)] == ["a", "b", "b", "c", *conditions, "u"]
