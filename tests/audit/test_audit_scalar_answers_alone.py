"""Conditions for the solver, its answers and how they are read; its work, counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import z3
from audit_pieces import claim_of

from bilevel_verify.audit import patience
from bilevel_verify.audit.scalar import smt
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.smt import contradictory, prove
from bilevel_verify.audit.scalar.smt_translation import Translation, Unsupported
from bilevel_verify.audit.scalar.work import counting
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast

RANGES = "z = (-oo, oo); n = [0, oo); k = integers 0..; j = integers ..; nu = [0, 1]; w = [-1, 1]; s = [1, 2]"

# --- conditions and answers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a < b", "And(a < b)"),
        ("a <= b", "And(a <= b)"),
        ("a > b", "And(a > b)"),
        ("a >= b", "And(a >= b)"),
        ("a == b", "And(a == b)"),
        ("a < b <= z", "And(a < b, b <= z)"),
        ("a < b and b < z", "And(And(a < b), And(b < z))"),
        ("a < b or b < z", "Or(And(a < b), And(b < z))"),
        ("not a < b", "Not(And(a < b))"),
        ("True", "True"),
        ("False", "False"),
    ],
)
def test_conditions(text: str, told: str) -> None:
    problem = Translation(z3, claim_of("a + b + z <= 1", RANGES))
    node: Any = smt.tree.Truth(text == "True") if text in ("True", "False") else parse(text)
    order = {"And(b > a)": "And(a < b)"}
    assert order.get(str(problem.condition(node)), str(problem.condition(node))) == told
    with pytest.raises(Unsupported):
        problem.condition(parse("a"))


def test_hypotheses_outside_the_theory_are_left_out() -> None:
    claim = claim_of("a <= b", RANGES, "gamma(a) <= 1; a <= 1/2; b >= 1; (a if a else b) > 0")
    problem = Translation(z3, claim)
    assert [str(c) for c in problem.assumptions(claim)] == ["And(a <= 1/2)", "And(1 <= b)", "And(0 < a)", "And(0 < b)"]
    assert prove(claim).outcome == "proved"


@pytest.mark.parametrize(
    ("text", "where", "outcome", "model"),
    [
        ("a <= b", "a <= 1; b >= 1", "proved", False),
        ("a < b", "a <= 1; b >= 1", "undecided", True),
        ("a <= b", "", "undecided", True),
        ("b >= a", "a <= 1; b >= 1", "proved", False),
        ("a == b", "a <= b; b <= a", "proved", False),
        ("a == b", "a <= b", "undecided", True),
        ("z*z >= 0", "", "proved", False),
        ("z*z > 0", "", "undecided", True),
        ("a*b <= 1", "a <= 1; b <= 1", "proved", False),
        ("n**w >= 0", "", "proved", False),
        ("a/z == 1", "a == z", "proved", False),
        ("exp(a) >= 1 + a", "", "proved", False),
        ("max(a, b) >= b", "", "proved", False),
        ("pi <= 22/7", "", "proved", False),
        ("pi <= 3", "", "undecided", False),
    ],
)
def test_answers(text: str, where: str, outcome: str, model: bool) -> None:
    found = prove(claim_of(text, RANGES, where), 500)
    assert (found.outcome, found.engine, bool(found.point)) == (outcome, "smt", model)
    assert "pi" not in found.point
    if outcome == "proved":
        assert found.certificate.startswith("negation unsatisfiable (")
        assert found.certificate.endswith("auxiliary variables)")


def test_models_are_rational() -> None:
    found = prove(claim_of("z*z <= 2", "z = [0, 3]", "z*z >= 2 + 1/10**9"), 500)
    assert found.point["z"] ** 2 > 2
    found = prove(claim_of("z*z > 2", "z = [0, 3]", "z*z == 2"), 500)
    assert abs(found.point["z"] ** 2 - 2) < Fraction(1, 10**15)
    found = prove(claim_of("a + pi <= z", RANGES), 500)
    assert set(found.point) <= {"a", "z"}
    both = Translation(z3, claim_of("a <= z", RANGES))
    both.term(parse("a + z"))
    solver = z3.Solver()
    solver.add(both.letter("a") == 2)
    assert solver.check() == z3.sat
    assert both.point(solver.model()) == {"a": 2, "z": 0}


class Answers:
    """A solver as told; what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers, self.settings, self.made, self.counts = list(answers), [], [], True
        outer = self
        patience.allocated(z3)  # looks at a real solver, also later

        class Solver:
            def set(self, name: str, value: float) -> None:
                outer.settings.append((name, value))

            def add(self, *_: Any) -> None:
                pass

            def check(self) -> Any:
                answer = outer.answers.pop(0)
                if isinstance(answer, Exception):
                    raise answer
                self.answer = answer
                return z3.unknown if isinstance(answer, str) else answer

            def reason_unknown(self) -> str:
                return str(self.answer)

            def statistics(self) -> Any:
                counts = {"rlimit count": 1200.0} if outer.counts else {}
                return type(
                    "Statistics", (), {"keys": lambda _: counts.keys(), "get_key_value": lambda _, name: counts[name]}
                )()

            def model(self) -> Any:
                solver = z3.Solver.__mro__[0]
                raise AssertionError(solver)

        def tactic(name: str, ctx: Any) -> Any:
            assert ctx is not z3.main_ctx()
            outer.made.append(name)
            return type("Tactic", (), {"solver": lambda _: Solver()})()

        def plain(ctx: Any) -> Any:
            assert ctx is not z3.main_ctx()
            outer.made.append("plain")
            return Solver()

        monkeypatch.setattr(z3, "Tactic", tactic)
        monkeypatch.setattr(z3, "Solver", plain)


CLAIM = ("a <= b", RANGES)


@pytest.mark.parametrize(
    ("answers", "made", "outcome", "over"),
    [
        ([z3.unsat], ["qfnra-nlsat"], "proved", ""),
        (["incomplete", z3.unsat], ["qfnra-nlsat", "plain"], "proved", ""),
        (["incomplete", "incomplete"], ["qfnra-nlsat", "plain"], "undecided", ""),
        (["canceled", z3.unsat], ["qfnra-nlsat", "plain"], "proved", ""),
        ([z3.Z3Exception(b"lost")], ["qfnra-nlsat"], "undecided", ""),
    ],
)
def test_two_solvers_one_after_the_other(
    answers: list[Any], made: list[str], outcome: str, over: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = Answers(monkeypatch, *answers)
    with counting(10.0) as work:
        found = prove(claim_of(*CLAIM), 100)
    assert (found.outcome, solver.made, work.ended) == (outcome, made, over)
    assert solver.settings == [("rlimit", 60_000)] * len(made)  # no limit on real time: answers depend on no load
    assert work.spent >= 0


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Answers(monkeypatch, "incomplete", "incomplete", "incomplete", "incomplete")
    prove(claim_of(*CLAIM))
    contradictory(claim_of(*CLAIM))
    assert solver.settings[0] == ("rlimit", 2_400_000)
    assert solver.settings[2] == ("rlimit", 1_200_000)


@pytest.mark.parametrize(("answers", "units"), [([z3.unsat], 2.0), (["incomplete", z3.unsat], 4.0)])
def test_work_is_counted_in_milliseconds(answers: list[Any], units: float, monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Answers(monkeypatch, *answers)
    with counting(10.0) as work:
        prove(claim_of(*CLAIM), 100)
    assert work.spent == pytest.approx(units)
    solver.answers, solver.counts = list(answers), False
    with counting(10.0) as work:
        prove(claim_of(*CLAIM), 100)
    assert work.spent == 0


def test_a_late_answer_has_one_cost_and_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Answers(monkeypatch, z3.unsat, z3.unsat)
    asked: list[float] = []

    def late(_: Any, solver: Any, units: float, context: Any) -> patience.Answer:
        asked.append(units)
        return patience.Answer(z3.unknown, True)

    monkeypatch.setattr(smt, "ask", late)
    with counting(10.0) as work:
        found = prove(claim_of(*CLAIM), 100)
    assert (found.outcome, found.certificate) == ("undecided", "no proof by nlsat (2 letters, 0 auxiliary variables)")
    assert (asked, work.spent, work.ended) == ([400, 400], 400, "smt was ended after 200 units of work")
    assert solver.made == ["qfnra-nlsat", "plain"]


def test_work_depends_on_no_question_asked_before() -> None:
    """Contexts of their own: the counts of three questions are the same in any order."""
    claims = {t: claim_of(t, RANGES) for t in ("z**4 + 1 >= 2*z*z", "a*b <= (a*a + b*b)/2", "a*z <= a*a + z*z")}

    def cost(text: str) -> float:
        with counting(10.0) as work:
            assert prove(claims[text], 500).outcome == "proved"
        return work.spent

    first = {text: cost(text) for text in claims}
    again = {text: cost(text) for text in reversed(claims)}
    assert first == again
    assert min(first.values()) > 0


@pytest.mark.parametrize(
    ("where", "domains", "answer"),
    [
        ("a <= 0", "", True),
        ("b <= 1; a <= 0", "", True),
        ("a <= 1", "", False),
        ("a <= 1; a >= 2", "", True),
        ("a < 1; a >= 1", "", True),
        ("a <= 1; a >= 1", "", False),
        ("z*z < 0", RANGES, True),
        ("z*z <= 0", RANGES, False),
        ("a >= 2", "a = [0, 1]", True),
        ("a >= 1", "a = [0, 1)", True),
        ("", "a = [2, 1]", True),
        ("", "", False),
    ],
)
def test_contradictions(where: str, domains: str, answer: bool) -> None:
    assert contradictory(claim_of("a <= b", domains, where), 300) is answer


def test_facts_of_a_branch_hold_only_there() -> None:
    problem = Translation(z3, claim_of("a <= b"))
    a, b = problem.letter("a"), problem.letter("b")
    with problem.under(a > 1):
        problem.add(b > 2)
        with problem.under(b < 5):
            problem.add(a < 3, a < 4)
    problem.add(a > 0)
    assert [str(f) for f in problem.facts] == ["Implies(And(a > 1), b > 2)", "Implies(And(a > 1, b < 5), a < 3)",
                                               "Implies(And(a > 1, b < 5), a < 4)", "a > 0"]  # fmt: skip
    with pytest.raises(ZeroDivisionError), problem.under(a > 1):
        raise ZeroDivisionError
    assert problem.guards == []
    assert isinstance(claim_of("a <= b"), ScalarClaim)
