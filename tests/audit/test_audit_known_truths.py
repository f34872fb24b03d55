"""``check`` on statements whose truth is known by hand: some of them drawn here, all in ``tests/thorough``."""

from __future__ import annotations

import random

import pytest
from audit_known_truths import KNOWN, contradiction
from seeds import SEED

from bilevel_verify.audit import formula
from bilevel_verify.audit.formula import check

DRAWN = 12


def objections(statements: list[tuple[str, str, bool | None]]) -> list[str]:
    found = []
    for text, ranges, truth in statements:
        link, *poles = check(text, ranges, seconds=1.5)
        wrong = contradiction(truth, link.verdict, [pole.verdict for pole in poles])
        found += [f"{text} for {ranges}: {wrong}"] if wrong else []
    return found


def test_no_verdict_contradicts_what_is_known_by_hand() -> None:
    assert not objections(random.Random(SEED).sample(KNOWN, DRAWN)), f"seed {SEED}"


@pytest.mark.parametrize("truth", [True, False])
def test_a_verdict_that_is_turned_round_is_seen(truth: bool) -> None:
    """Nearly every statement is decided, so that a wrong word has somewhere to show."""
    chosen = [(text, ranges, not truth) for text, ranges, known in KNOWN if known is truth and "vectors" in ranges]
    assert len(objections(chosen)) >= 0.8 * len(chosen)


def test_a_part_without_a_value_is_no_reason_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a relation that is said to hold where it is not defined everywhere is caught."""
    chosen = [one for one in KNOWN if one[2] is None][:4]
    assert not objections(chosen)
    monkeypatch.setattr(formula, "where_defined", lambda decision, definedness: decision)
    assert objections(chosen)
