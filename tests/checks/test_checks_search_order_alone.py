"""The search for a violation: from which places it climbs, which seed draws them, what is handed to whom."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Tally
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.judging import attack
from bilevel_verify.checks.judging.attack import Letter
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Domain, Expression, Link

pytestmark = pytest.mark.fast
UNIT = Domain("[0, 1]", "interval", Expression(parse("0"), ""), Expression(parse("1"), ""))


def claim_of(*texts: str, **ranges: Domain) -> Claim:
    links = []
    for text in texts:
        node: Any = parse(text)
        links.append(Link(Expression(node.operands[0], ""), node.operators[0], Expression(node.operands[1], "")))
    return Claim(id="c", over="point", chain=tuple(links), for_=ranges)


def judged_of(text: str, **ranges: Domain) -> Judged:
    claim = claim_of(text, **ranges)
    return Judged(claim, claim.chain[0], 0, Tally(), Evaluator({}))


def case_of(options: dict[str, Any] | None = None, name: str = "n", **letters: Any) -> Any:
    return SimpleNamespace(
        problem=SimpleNamespace(set_of_x=None),
        instance=SimpleNamespace(local=(), truth="the truth"),
        functions=None,
        premises=[],
        request=SimpleNamespace(options=options or {}, name=name),
        letters=lambda: letters,
        evaluator=lambda claim: Evaluator({}),
    )


def letters_of(*names: str) -> list[Letter]:
    return [Letter(name, 1, lambda u: v.ball(float(u[0]))) for name in names]


# --- where the search climbs from


@pytest.mark.parametrize(
    ("text", "largest"),
    [("a <= 2", 1 / 2), ("1 - a <= 2", 1 / 2), ("a + (1 - b) <= 4", 1 / 2), ("(1 - a) + b <= 8", 1 / 4)],
)
def test_corners_at_either_end_are_drawn(text: str, largest: float) -> None:
    judged = judged_of(text)
    found = attack._search(judged, letters_of("a", "b"), case_of(), np.random.default_rng(2), 96, 0)
    assert found == pytest.approx(largest, rel=1e-12)
    inner = [
        attack._search(judged_of("a*(1 - a) <= 1"), letters_of("a"), case_of(), np.random.default_rng(s), 12, 0)
        for s in range(4)
    ]
    assert all(0 < one < 0.25 for one in inner)  # and not corners alone


def test_the_three_best_draws_are_polished_best_first(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.5, -inf, 0.9, 0.1, 0.7, 0.8]
    drawn: list[float] = []
    climbed: list[tuple[float, int]] = []

    def judge(judged: Judged, place: Any, case: Any) -> Any:
        drawn.append(values[len(drawn) % len(values)])
        return SimpleNamespace(ratio=drawn[-1])

    def polish(score: Any, start: Any, evaluations: int) -> float:
        climbed.append((starts[start.tobytes()], evaluations))
        return 0.95 if len(climbed) == 2 else 0.0

    starts: dict[bytes, float] = {}
    place = attack._place
    monkeypatch.setattr(attack, "_attack", judge)
    monkeypatch.setattr(attack, "ratio_of", lambda judgement: judgement.ratio)
    monkeypatch.setattr(attack, "_polish", polish)

    def placed(letters: Any, u: Any) -> Any:
        starts[u.tobytes()] = values[len(drawn) % len(values)]
        return place(letters, u)

    monkeypatch.setattr(attack, "_place", placed)
    found = attack._search(judged_of("1 <= 2"), letters_of("a"), case_of(), np.random.default_rng(0), 6, 17)
    assert [value for value, _ in climbed] == [0.9, 0.8, 0.7]
    assert {evaluations for _, evaluations in climbed} == {17}
    assert found == 0.95
    climbed.clear()
    assert attack._search(judged_of("1 <= 2"), letters_of("a"), case_of(), np.random.default_rng(0), 6, 0) <= 0.9
    assert not climbed


def test_draws_that_say_nothing_are_not_polished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "_attack", lambda judged, place, case: None)
    monkeypatch.setattr(attack, "_polish", lambda *given: pytest.fail("nothing to climb from"))
    found = attack._search(judged_of("1 <= 2"), letters_of("a"), case_of(), np.random.default_rng(0), 6, 17)
    assert found == -inf


@pytest.mark.parametrize("hole", [nan, inf, -inf])
def test_local_search_goes_round_what_says_nothing(hole: float) -> None:
    """The largest value of 1 - (u - 1/2)^2 where the values left of 0.3 are lost."""
    asked: list[float] = []

    def score(u: Any) -> float:
        asked.append(float(u[0]))
        return hole if u[0] < 0.3 else 1 - (float(u[0]) - 0.5) ** 2

    assert attack._polish(score, np.array([0.35]), 40) == pytest.approx(1.0, abs=1e-6)
    assert len(asked) <= 45
    for few in (5, 9):
        asked.clear()
        attack._polish(score, np.array([0.35]), few)
        assert few <= len(asked) <= few + 2


def test_places_outside_of_the_cube_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[float] = []
    place = attack._place
    monkeypatch.setattr(attack, "_place", lambda letters, u: met.append(float(u[0])) or place(letters, u))
    attack._search(judged_of("a <= 2"), letters_of("a"), case_of(), np.random.default_rng(0), 3, 30)
    assert 0.0 <= min(met) < max(met) == 1.0


# --- seeds


def drawn(case: Any, claim: Claim) -> list[float]:
    return attack._generator(case, claim).random(3).tolist()  # type: ignore[no-any-return]


def test_the_same_question_draws_the_same_places() -> None:
    claim = claim_of("1 <= 2")
    first = drawn(case_of(), claim)
    assert drawn(case_of(), claim) == drawn(case_of({"seed": 0}), claim) == first
    assert drawn(case_of({"seed": 1}), claim) != first
    assert drawn(case_of(name="m"), claim) != first
    assert drawn(case_of(), replace(claim, id="d")) != first
    assert drawn(case_of({"seed": "1"}), claim) == drawn(case_of({"seed": 1}), claim)


# --- who asks


def test_the_penalty_parameter_of_the_run_is_that_of_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(attack, "functions_of", lambda *given: made.append(given) or "functions")
    for letters, lam in (({"lam": (7, "proved")}, 7), ({"eta": (3, "proved")}, None)):
        case = case_of(**letters)
        attack._with_functions(case)
        assert case.functions == "functions"
        assert made[-1] == (case.problem, "the truth", lam)


def test_orders_are_not_attacked_and_every_link_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "_with_functions", lambda case: None)
    monkeypatch.setattr(attack, "_proof", lambda case, judged: None)
    monkeypatch.setattr(attack, "row_of", lambda case, judged, outcome: (judged.number, outcome[0]))
    monkeypatch.setattr(attack, "as_claimed", lambda case, claim, outcome, *links: outcome)
    plain, order = claim_of("1 <= 2", "3 <= 2"), claim_of("1 <= O(2)")
    assert order.is_order
    assert attack.attack_claims(case_of(), [order, plain]) == [(0, "undecided"), (1, "refuted")]


def test_the_larger_ratio_of_both_searches_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(attack, "_proof", lambda case, judged: None)
    monkeypatch.setattr(attack, "row_of", lambda case, judged, outcome: outcome)
    monkeypatch.setattr(attack, "as_claimed", lambda case, claim, outcome, *links: outcome)
    monkeypatch.setattr(
        attack, "_outcome", lambda case, judged, largest, proof: told.append(largest) or ("undecided", "")
    )
    for ratios, largest in (((0.9, 0.3), 0.9), ((0.3, 0.9), 0.9)):
        waiting = list(ratios)
        monkeypatch.setattr(attack, "_search", lambda *given, waiting=waiting: waiting.pop(0))
        attack._attack_claim(case_of(), claim_of("1 <= 2"))
        assert told[-1] == largest


def test_places_without_rows_say_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "_with_functions", lambda case: None)
    searches: list[tuple[int, int]] = []
    search = attack._search

    def counted(judged: Any, letters: Any, case: Any, rng: Any, draws: int, polish: int) -> float:
        searches.append((draws, polish))
        return search(judged, letters, case, rng, draws, 0)

    monkeypatch.setattr(attack, "_search", counted)
    claims = [claim_of("a <= 2", "a <= 1/2", a=UNIT), claim_of("1 <= 2", a=Domain("weights", "weights"))]
    first, second, third = attack.attacked_places(case_of(), claims)
    assert [one.number for one in (first, second, third)] == [0, 1, 0]
    assert (first.tally.places, first.tally.violated, bool(second.tally.violated)) == (24, 0, True)
    assert third.tally.outcome()[0] == "undecided"
    assert "not attacked here" in third.tally.outcome()[1]
    assert searches == [(24, 60), (24, 60)]
    searches.clear()
    attack.attacked_places(case_of(), claims[:1], draws=5, polish=2)
    assert searches == [(5, 2), (5, 2)]
    monkeypatch.setattr(attack, "_search", lambda *given: (_ for _ in ()).throw(MathematicalError("lost")))
    (lost, _) = attack.attacked_places(case_of(), claims[:1])
    assert lost.tally.outcome() == ("undecided", "lost (1 of 1 places)") or "lost" in lost.tally.outcome()[1]


def test_a_range_thinner_than_a_float_is_no_range() -> None:
    thin = [Expression(parse(text), "") for text in ("1", "1 + 1/2**52")]
    for closed in ((True, False), (False, True), (False, False)):
        with pytest.raises(v.EvaluationError, match="surely in the range"):
            attack._letter("a", Domain("r", "interval", *thin, *closed), case_of(), Evaluator({}))
    letter = attack._letter("a", Domain("r", "interval", *thin), case_of(), Evaluator({}))
    assert [float(letter.build(np.array([u]))) for u in (0.0, 1.0)] == [1.0, 1.0 + 2.0**-52]
