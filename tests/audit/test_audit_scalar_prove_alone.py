"""The order of the engines, what each answer leads to, when the work is over; engines as told."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from audit_pieces import claim_of, shown

from bilevel_verify.audit.scalar import prove
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import DEPTH, FULL, QUICK, _nothing_left, decide_here, engines, settle
from bilevel_verify.audit.scalar.work import counting, ended, over, spend

pytestmark = pytest.mark.fast

SINGLE = ("by_number", "by_identity", "by_signs", "by_roots", "by_boxes", "by_rolle", "by_calculus")
PARTED = ("by_cancelling", "by_residues", "by_monomials", "by_induction", "by_exponents", "by_raising", "by_derivative",
          "by_logarithms", "by_head_and_tail", "by_zero_apart", "by_halves", "by_scale")  # fmt: skip
OPEN = Decision("undecided", "open", "")


class Cast:
    """All engines replaced: they answer as told, ``undecided`` unless told, and keep a record."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **told: Any) -> None:
        self.told, self.asked, self.parts = told, [], []
        for name in SINGLE:
            monkeypatch.setattr(prove, name, self.single(name))
        for name in PARTED:
            monkeypatch.setattr(prove, name, self.parted(name))
        monkeypatch.setattr(prove, "by_smt", self.smt)
        monkeypatch.setattr(prove, "attack", self.attack)
        monkeypatch.setattr(prove, "contradictory", self.contradictory)
        monkeypatch.setattr(prove, "largest_ratio", lambda claim, tight: 0.5)
        monkeypatch.setattr(prove, "refutation_near", self.near)

    def answer(self, name: str) -> Any:
        found = self.told.get(name, OPEN)
        return found.pop(0) if isinstance(found, list) else found

    def single(self, name: str) -> Any:
        def engine(claim: ScalarClaim) -> Decision:
            self.asked.append(name)
            return self.answer(name)  # type: ignore[no-any-return]

        engine.__name__ = name
        return engine

    def parted(self, name: str) -> Any:
        def engine(claim: ScalarClaim, part: Any) -> Decision:
            self.asked.append(name)
            found = self.answer(name)
            if isinstance(found, ScalarClaim):
                self.told[name] = OPEN
                self.parts.append(part(found))
                return self.parts[-1]
            return found  # type: ignore[no-any-return]

        engine.__name__ = name
        return engine

    def smt(self, claim: ScalarClaim, milliseconds: int) -> Decision:
        self.asked.append(f"smt {milliseconds}")
        return self.answer("smt")  # type: ignore[no-any-return]

    def attack(self, claim: ScalarClaim, seed: int = 0, rounds: int = 4) -> Decision:
        self.asked.append(f"attack {seed} {rounds}")
        return self.told.get("attack", Decision("undecided", "attack", "survived", attacks=3, tight=({"a": 1.0},)))  # type: ignore[no-any-return]

    def contradictory(self, claim: ScalarClaim, milliseconds: int) -> bool:
        self.asked.append(f"contradictory {milliseconds}")
        return bool(self.told.get("contradictory", False))

    def near(self, claim: ScalarClaim, point: Mapping[str, Any], seed: int) -> Decision | None:
        self.asked.append(f"near {dict(point)} {seed}")
        return self.told.get("near")


CLAIM = claim_of("a <= b")
STEPS = ["cancelling", "residues", "monomials", "induction", "exponents", "raising"]
QUICKLY = ["by_signs", "by_identity", "by_roots", "smt 1000"]
WHOLE = [*QUICKLY, *(f"by_{s}" for s in STEPS), "by_boxes", "by_rolle", "by_calculus", "by_derivative", "by_logarithms",
         "smt 4000", "by_head_and_tail", "by_zero_apart", "by_halves", "by_scale"]  # fmt: skip


def test_names_and_order_of_the_engines() -> None:
    first = ["signs", "identity", "roots", "smt"]
    deep = [*first, *STEPS, "boxes", "rolle", "calculus", "derivative", "logarithms"]
    tail = ["head and tail", "zero apart", "halves", "scale"]
    assert (DEPTH, QUICK, FULL) == (3, 1000, 4000)
    for depth, milliseconds, names in (
        (3, 4000, [*deep, "smt", *tail]), (3, 1000, [*deep, *tail]), (2, 1000, deep), (1, 1000, deep),
        (2, 4000, [*deep, "smt"]),
        (0, 1000, [*first, "boxes", "rolle", "calculus"]),
            (0, 4000, [*first, "boxes", "rolle", "calculus", "smt"]),
    ):  # fmt: skip
        assert [name for name, _ in engines(CLAIM, depth, milliseconds)] == names


def test_all_engines_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch)
    with counting(1000.0) as work:
        found = settle(CLAIM, 3, 4000)
    assert cast.asked == WHOLE
    assert (found.outcome, found.engine, found.certificate) == ("undecided", "none", "no engine applies")
    assert work.spent == 5.0 * len(WHOLE)
    cast.asked.clear()
    settle(CLAIM, 0, 300)
    assert cast.asked == ["by_signs", "by_identity", "by_roots", "smt 300", "by_boxes", "by_rolle", "by_calculus"]


def test_each_engine_says_that_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was at work names the reason when a limit ends it."""
    Cast(monkeypatch)
    said: list[str] = []
    monkeypatch.setattr(prove, "note", said.append)
    with counting(1000.0):
        prove._decide(CLAIM, 0)
    assert said == ["number", "identity", "attack", *(name for name, _ in engines(CLAIM, DEPTH, FULL))]


@pytest.mark.parametrize("outcome", ["proved", "vacuous"])
@pytest.mark.parametrize("name", ["by_roots", "smt", "by_monomials", "by_boxes", "by_zero_apart"])
def test_the_first_decision_wins(name: str, outcome: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, **{name: Decision(outcome, name, "done")})
    assert settle(CLAIM, 3, 4000) == Decision(outcome, name, "done")
    last = "smt 1000" if name == "smt" else name
    assert cast.asked == WHOLE[: WHOLE.index(last) + 1]


def test_the_furthest_reason_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    point = {"a": Fraction(1)}
    Cast(
        monkeypatch,
        by_roots=Decision("undecided", "roots", "one"),
        by_boxes=Decision("undecided", "boxes", "two", point),
    )
    assert settle(CLAIM, 3, 4000) == Decision("undecided", "boxes", "two")


def test_candidates_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    point, tried = {"a": Fraction(1)}, []

    def refuted(answer: Decision | None) -> Any:
        def look(there: Mapping[str, Fraction]) -> Decision | None:
            tried.append(dict(there))
            return answer

        return look

    cast = Cast(monkeypatch, by_roots=Decision("undecided", "roots", "", point))
    false = Decision("refuted", "attack")
    assert settle(CLAIM, 3, 4000, refuted(false)) == false
    assert (cast.asked, tried) == (WHOLE[:3], [point])
    assert settle(CLAIM, 3, 4000, refuted(None)).outcome == "undecided"
    assert tried == [point, point]
    assert settle(CLAIM, 3, 4000).outcome == "undecided"


def test_sums_are_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(monkeypatch)
    seen: list[str] = []
    monkeypatch.setattr(prove, "by_signs", lambda claim: seen.append(shown(claim)) or OPEN)
    prove.by_signs.__name__ = "by_signs"
    settle(claim_of("sum(i, (i, 1, 3)) <= a"), 3, 4000)
    assert seen == ["1 + 2 + 3 <= a"]


def test_no_engine_is_started_when_the_work_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, by_identity=Decision("undecided", "identity", "the sides differ"))
    with counting(11.0):
        found = settle(CLAIM, 3, 4000)
        assert over()
    assert cast.asked == ["by_signs", "by_identity", "by_roots"]
    assert (found.outcome, found.engine, found.certificate) == ("undecided", "budget", "the work was over before smt")


# --- parts of a proof

PART = claim_of("c <= d")
LATER = ["by_signs", "by_identity", "by_roots", "smt 1000", *(f"by_{s}" for s in STEPS), "by_boxes", "by_rolle",
         "by_calculus", "by_derivative", "by_logarithms"]  # fmt: skip


def parts_of(cast: Cast, depth: int = 3) -> list[str]:
    settle(CLAIM, depth, 4000)
    start = cast.asked.index("by_cancelling") + 1
    return cast.asked[start:]


def test_a_part_is_attacked_and_settled_one_level_deeper(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, by_cancelling=PART)
    with counting(1000.0) as work:
        asked = parts_of(cast)
    assert asked == ["by_number", "attack 0 1", *LATER, *WHOLE[5:]]
    assert cast.parts[0].outcome == "undecided"
    assert work.spent == 5.0 * (len(WHOLE) + len(LATER)) + 20.0
    cast = Cast(monkeypatch, by_cancelling=PART)
    settle(CLAIM, 1, 4000)
    after = cast.asked[cast.asked.index("attack 0 1") + 1 :]
    assert after[:7] == ["by_signs", "by_identity", "by_roots", "smt 1000", "by_boxes", "by_rolle", "by_calculus"]


@pytest.mark.parametrize("outcome", ["proved", "refuted"])
def test_a_part_without_letters_is_a_number(outcome: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, by_cancelling=PART, by_number=Decision(outcome, "number"))
    assert parts_of(cast)[0] == "by_number"
    assert cast.parts == [Decision(outcome, "number")]
    assert not any(name.startswith("attack") for name in cast.asked)


def test_a_part_that_is_false_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, by_cancelling=PART, attack=Decision("refuted", "attack"))
    asked = parts_of(cast)
    assert cast.parts == [Decision("refuted", "attack")]
    assert asked[:2] == ["by_number", "attack 0 1"]
    assert asked[2] == "by_residues"


@pytest.mark.parametrize(
    ("attacks", "nothing", "outcome"), [(0, True, "vacuous"), (0, False, "undecided"), (1, True, "undecided")]
)
def test_a_part_without_points(attacks: int, nothing: bool, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met = Decision("undecided", "attack", "survived", attacks=attacks)
    cast = Cast(monkeypatch, by_cancelling=PART, attack=met, contradictory=nothing)
    asked = parts_of(cast)
    assert cast.parts[0].outcome == outcome
    assert ("contradictory 1000" in asked) is (attacks == 0)
    if outcome == "vacuous":
        assert cast.parts[0] == Decision("vacuous", "smt", "no point satisfies the hypotheses")


def test_hypotheses_of_a_part_are_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    Cast(monkeypatch, by_cancelling=claim_of("c <= d", "", "c == 2*d"))
    monkeypatch.setattr(prove, "by_number", lambda claim: seen.append(shown(claim)) or OPEN)
    settle(CLAIM, 3, 4000)
    assert seen == ["2*d <= d; 2*d > 0"]


@pytest.mark.parametrize(
    ("domains", "where", "answer"),
    [
        ("k = integers 1/3..2/3", "", True), ("k = integers 1/3..1", "", False), ("k = integers 1..1", "", False),
        ("k = integers 2..1", "", True), ("k = integers 0..1/2", "", False), ("k = integers 1/3..", "", False),
        ("k = integers ..2/3", "", False), ("k = [1/3, 2/3]", "", False),
        ("k = integers 0..5", "3*k >= 4; 3*k <= 5", True),
        ("k = integers 0..5; j = integers 1/3..2/3", "j <= k", True),
    ],
)  # fmt: skip
def test_no_whole_number_is_left(domains: str, where: str, answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch)
    claim = claim_of("k <= 3", domains, where)
    assert _nothing_left(claim, 7) is answer
    assert cast.asked == ([] if answer else ["contradictory 7"])
    assert _nothing_left(claim_of("a <= b"), 7) is False
    cast.told["contradictory"] = True
    assert _nothing_left(claim_of("a <= b"), 9) is True


# --- a whole relation


def test_numbers_and_identities_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for outcome in ("proved", "refuted"):
        cast = Cast(monkeypatch, by_number=Decision(outcome, "number"))  # type: ignore[arg-type]
        assert decide_here(CLAIM) == Decision(outcome, "number")  # type: ignore[arg-type]
        assert cast.asked == ["by_number"]
    cast = Cast(monkeypatch, by_identity=Decision("proved", "identity"))
    assert decide_here(claim_of("a == b")) == Decision("proved", "identity")
    assert cast.asked == ["by_number", "by_identity"]
    cast = Cast(monkeypatch, by_identity=Decision("proved", "identity"))
    found = decide_here(CLAIM)
    assert (found.outcome, found.engine, found.attacks, found.ratio) == ("proved", "identity", 3, 0.5)
    assert cast.asked == ["by_number", "by_identity", "attack 0 4", "by_signs", "by_identity"]


def test_the_attack_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = Cast(monkeypatch, attack=Decision("refuted", "attack", "", {"b": Fraction(1)}))
    found = decide_here(claim_of("a <= b", "", "a == 2*b"), seed=5)
    assert (found.outcome, found.point) == ("refuted", {"a": Fraction(2), "b": Fraction(1)})
    assert cast.asked == ["by_number", "by_identity", "attack 5 4"]


def test_points_of_other_answers_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(monkeypatch, smt=Decision("proved", "smt", "unsat"))
    found = decide_here(claim_of("a <= b", "", "a == 2*b; c == 3"))
    assert (found.outcome, found.point) == ("proved", {})


def test_a_candidate_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Decision("undecided", "smt", "a model", {"a": Fraction(1)})
    cast = Cast(monkeypatch, smt=model, near=Decision("refuted", "attack", "", {"a": Fraction(1)}))
    assert decide_here(CLAIM, seed=2).outcome == "refuted"
    assert cast.asked[-1] == "near {'a': Fraction(1, 1)} 2"


@pytest.mark.parametrize(
    ("attacks", "nothing", "outcome"),
    [(0, True, "vacuous"), (0, False, "proved"), (3, True, "proved"), (3, False, "proved")],
)
def test_a_proof_about_nothing_is_vacuous(
    attacks: int, nothing: bool, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = Decision("undecided", "attack", "survived", attacks=attacks)
    cast = Cast(monkeypatch, by_signs=Decision("proved", "signs", "plain"), attack=met, contradictory=nothing)
    found = decide_here(CLAIM)
    assert found.outcome == outcome
    assert ("contradictory 2000" in cast.asked) is (attacks == 0)
    if outcome == "vacuous":
        assert found == Decision("vacuous", "smt", "no point satisfies the hypotheses")
    else:
        assert (found.engine, found.certificate, found.attacks, found.ratio) == ("signs", "plain", attacks, 0.5)


def test_vacuous_stays_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(monkeypatch, by_signs=Decision("vacuous", "signs", "no"))
    assert decide_here(CLAIM) == Decision("vacuous", "signs", "no")


def test_what_is_said_where_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(monkeypatch)
    found = decide_here(CLAIM)
    assert found.outcome == "undecided"
    assert (found.engine, found.certificate, found.attacks, found.ratio) == ("attack", "no engine applies", 3, 0.5)
    Cast(monkeypatch, by_boxes=Decision("undecided", "boxes", "worst box"))
    found = decide_here(CLAIM)
    assert (found.engine, found.certificate, found.attacks) == ("boxes", "worst box", 3)
    assert found.tight == ({"a": 1.0},)
    monkeypatch.setattr(prove, "settle", lambda *_: Decision("undecided", "some", ""))
    assert (decide_here(CLAIM).engine, decide_here(CLAIM).certificate) == ("some", "survived")


@pytest.mark.parametrize(("outcome", "said"), [("undecided", "worst box; budget: the clock"), ("proved", "worst box")])
def test_what_the_clock_ended_is_said(outcome: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Cast(monkeypatch)

    def by_boxes(claim: ScalarClaim) -> Decision:
        ended("the clock")
        return Decision(outcome, "boxes", "worst box")

    monkeypatch.setattr(prove, "by_boxes", by_boxes)
    assert decide_here(CLAIM).certificate == said
    Cast(monkeypatch, by_boxes=Decision("undecided", "boxes", "worst box"))
    assert decide_here(CLAIM).certificate == "worst box"


def test_effort_is_counted_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for effort, asked in ((0.0025, 4), (0.005, 6)):  # 10 and 20 units, 5 for an engine
        cast = Cast(monkeypatch)
        decide_here(CLAIM, effort=effort)
        assert len(cast.asked) == 3 + asked - 2
    cast = Cast(monkeypatch)
    monkeypatch.setattr(prove, "attack", lambda *_: spend(79_999.0) or Decision("undecided", "attack", "survived"))
    decide_here(CLAIM)
    assert cast.asked == ["by_number", "by_identity", "by_signs"]
