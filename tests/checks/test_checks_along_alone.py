"""Along a run, each step alone: what is run and how far, what stops it, what is judged, what becomes a premise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flint import ctx

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally, undecided
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.evidence.digits import ITERATIONS, SOME_EPOCHS
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import along, conditions
from bilevel_verify.errors import InfeasibleError, InputError, MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.oracles import BudgetExhausted
from bilevel_verify.theorems.card import Claim, Statement
from bilevel_verify.theorems.card_parts import Expression, Link

pytestmark = pytest.mark.fast


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def claim_of(id_: str = "c", over: Any = "step", left: str = "f(x[k])", right: str = "10", **more: Any) -> Claim:
    return Claim(id=id_, over=over, chain=(Link(expression(left), "<=", expression(right)),), **more)


STEP, RUN = claim_of("step"), claim_of("run", "run")
ORDER, EPOCHS = claim_of("order", "order"), claim_of("epochs", "epoch", right="O(1/eps)")
LIKELY = claim_of("likely", "run", probability=expression("1/2"))
FALSE, OPEN, TRUE = (Premise(v, v, f"because {v}") for v in ("not applicable", "undecided", "holds"))  # type: ignore[arg-type]


def case_of(*premises: Premise, claims: tuple[Claim, ...] = (), **changes: Any) -> Any:
    statement = Statement(kind="theorem", id="t", claims=claims)
    base: dict[str, Any] = {
        "request": SimpleNamespace(statement=statement, card=SimpleNamespace(settings={}), values={}),
        "resolved": SimpleNamespace(letters={}, why_missing=lambda names: f"no {', '.join(names)}"),
        "premises": list(premises),
        "rows": [],
        "trouble": "",
        "below_precision": "",
        "digits": None,
        "run": None,
        "trajectory": None,
        "in_blocks": None,
        "seen": None,
        "contained": None,
        "evaluator": lambda claim: Evaluator({}),
        "evaluator_again": lambda claim: Evaluator({}),
        "forget": lambda: None,
        "letters": dict,
        "instance": SimpleNamespace(local=(), truth="the truth"),
        "problem": SimpleNamespace(x=["x1"], y=["y1"], dx=1, kind="bilevel"),
    }
    return SimpleNamespace(**{**base, **changes})


class Asked:
    """Stands in the place of what makes and judges runs, and remembers what it was asked."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, below_precision: str = "", error: Exception | None = None
    ) -> None:
        self.error, self.said = error, []
        self.trajectory = SimpleNamespace(run=SimpleNamespace(status="finished"), thinned=False)
        monkeypatch.setattr(along, "unresolved", lambda case: self.say("unresolved", below_precision))
        monkeypatch.setattr(along, "in_many_digits", lambda case, n: self.make("digits", n))
        monkeypatch.setattr(along, "run_of", lambda case: self.make("run"))
        monkeypatch.setattr(along, "recorded", lambda case, found: found)
        monkeypatch.setattr(along, "_judge_run", lambda case, claims: self.say("judged", ctx.prec))
        monkeypatch.setattr(along, "row_of", lambda case, judged, outcome: (judged.claim.id, judged.number, outcome))

    def say(self, word: str, value: Any) -> Any:
        self.said.append((word, value))
        return value

    def make(self, word: str, value: Any = None) -> Any:
        self.say(word, value)
        if self.error is not None:
            raise self.error
        return self.trajectory

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.said]


# --- the run


def test_a_run_in_floats_is_made_recorded_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, case = Asked(monkeypatch), case_of()
    along.judge_along(case, [STEP])
    assert asked.said == [("unresolved", ""), ("run", None), ("judged", 256)]
    assert (case.run, case.trajectory) == (asked.trajectory.run, asked.trajectory)
    assert (case.trouble, case.below_precision, case.rows) == ("", "", [])


@pytest.mark.parametrize(("digits", "bits"), [(None, 256), (50, 256), (64, 256), (65, 260), (100, 400)])
def test_what_float64_does_not_resolve_is_run_in_many_digits(
    monkeypatch: pytest.MonkeyPatch, digits: int | None, bits: int
) -> None:
    asked, case = Asked(monkeypatch, below_precision="r is small"), case_of(digits=digits)
    along.judge_along(case, [STEP])
    assert asked.said == [("unresolved", "r is small"), ("digits", ITERATIONS), ("judged", bits)]
    assert (case.run, case.trouble, case.below_precision) == (None, "precision: r is small", "r is small")
    assert case.trajectory is asked.trajectory


@pytest.mark.parametrize(
    ("claims", "iterations"),
    [((), None), ((STEP,), None), ((ORDER,), None), ((claim_of(right="O(1)"),), None), ((STEP, EPOCHS), SOME_EPOCHS)],
)
def test_without_claims_some_epochs_show_what_an_epoch_costs(
    monkeypatch: pytest.MonkeyPatch, claims: tuple[Claim, ...], iterations: int | None
) -> None:
    asked, case = Asked(monkeypatch, below_precision="r is small"), case_of(claims=claims)
    along.judge_along(case, [])
    assert case.trouble == "precision: r is small"
    made = [] if iterations is None else [("digits", iterations), ("judged", 256)]
    assert asked.said == [("unresolved", "r is small"), *made]


def test_a_false_hypothesis_asks_for_no_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    for premises, said in (((FALSE,), ["run", "judged"]), ((OPEN,), ["unresolved", "digits", "judged"])):
        asked, case = Asked(monkeypatch, below_precision="r is small"), case_of(*premises)
        along.judge_along(case, [STEP])
        assert asked.words == said
    asked, case = Asked(monkeypatch, below_precision="r is small"), case_of(TRUE)
    along.judge_along(case, [STEP])
    assert asked.words == ["unresolved", "digits", "judged"]


def test_letters_without_numbers_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, case = Asked(monkeypatch), case_of()
    case.request.statement = SimpleNamespace(parameters={"a": 1}, settings=("s",), claims=())
    case.request.card = SimpleNamespace(settings={"s": SimpleNamespace(parameters={"c": 1, "b": 1})})
    case.resolved.letters = {"a": 1}
    along.judge_along(case, [STEP, RUN])
    assert case.trouble == "hypothesis: no b, c"
    assert case.rows == [(name, 0, ("undecided", "hypothesis: no b, c")) for name in ("step", "run")]
    assert asked.said == []
    case.resolved.letters = {"a": 1, "b": 1, "c": 1}
    assert along._missing(case) == ""
    case.resolved.letters = {"b": 1, "c": 1}
    assert along._missing(case) == "no a"


@pytest.mark.parametrize(
    ("error", "premises", "below_precision", "trouble", "outcome"),
    [
        (ParameterError("bad"), (), "", "hypothesis: bad", ("undecided", "hypothesis: bad")),
        (ParameterError("bad"), (OPEN,), "", "hypothesis: bad", ("undecided", "because undecided")),
        (ParameterError("bad"), (TRUE,), "", "hypothesis: bad", ("undecided", "hypothesis: bad")),
        (InputError("odd"), (OPEN,), "", "hypothesis: odd", ("undecided", "because undecided")),
        (InputError("odd"), (FALSE,), "", "hypothesis: odd", ("not applicable", "because not applicable")),
        (ZeroDivisionError("zero"), (), "", "precision: zero", ("undecided", "precision: zero")),
        (MathematicalError("lost"), (), "", "precision: lost", ("undecided", "precision: lost")),
        (NotImplementedError("no"), (), "r", "precision: r", ("undecided", "precision: r")),
        (TypeError("no"), (), "", "precision: no", ("undecided", "precision: no")),
        (BudgetExhausted("end"), (), "", "budget: end", ("undecided", "budget: end")),
        (BudgetExhausted("end"), (), "r", "precision: r", ("undecided", "precision: r")),
        (InfeasibleError("no cut"), (), "", "precision: no cut", ("not applicable", "no cut")),
        (InfeasibleError("no cut"), (OPEN,), "", "precision: no cut", ("undecided", "because undecided")),
    ],
)
def test_a_run_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch, error: Exception, premises: Any, below_precision: str, trouble: str, outcome: Any
) -> None:
    asked, case = Asked(monkeypatch, below_precision, error), case_of(*premises)
    along.judge_along(case, [STEP])
    assert case.trouble == trouble
    assert case.rows == [("step", 0, outcome)]
    assert "judged" not in asked.words
    assert case.run is None


def test_wrong_use_is_an_error_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for premises in ((), (TRUE,)):
        Asked(monkeypatch, error=InputError("names no method"))
        with pytest.raises(InputError, match="names no method"):
            along.judge_along(case_of(*premises), [STEP])


def test_every_link_of_every_claim_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    Asked(monkeypatch)
    chain = Claim(id="chain", over="step", chain=STEP.chain * 3)
    for premises, blocked, outcome in (
        ((), None, ("undecided", "why")),
        ((TRUE,), None, ("undecided", "why")),
        ((OPEN,), None, ("undecided", "because undecided")),
        ((OPEN,), FALSE, ("not applicable", "because not applicable")),
        ((), FALSE, ("not applicable", "because not applicable")),
    ):
        case = case_of(*premises)
        along._all_undecided(case, [chain, STEP], "why", blocked)
        assert case.rows == [("chain", 0, outcome), ("chain", 1, outcome), ("chain", 2, outcome), ("step", 0, outcome)]


# --- judging


def seen_by_judge_run(monkeypatch: pytest.MonkeyPatch, thinned: bool, blocks: Any) -> tuple[Any, dict[str, Any]]:
    seen: dict[str, Any] = {}
    condition = claim_of("condition")
    monkeypatch.setattr(
        along, "assumed", lambda card, statement: [Statement(kind="condition", id="a", claims=(condition,))]
    )
    monkeypatch.setattr(along, "_tabulate", lambda case, claims: seen.update(table=[c.id for c in claims]))
    monkeypatch.setattr(along, "_symbols", lambda case, claims: {c.id for c in claims})
    monkeypatch.setattr(
        along,
        "judge_in_blocks",
        lambda case, claims, names: seen.update(blocks=([c.id for c in claims], names)) or blocks,
    )
    monkeypatch.setattr(along.hyp, "containment", lambda *given: seen.update(containment=given) or TRUE)
    monkeypatch.setattr(along, "_judge_conditions", lambda case: seen.update(conditions=True))
    monkeypatch.setattr(along, "probability_rows", lambda case, claims, run: [("likely", [c.id for c in claims])])
    monkeypatch.setattr(along, "_judged", lambda case, claims: [SimpleNamespace(claim=c) for c in claims])
    monkeypatch.setattr(along, "verdict_of", lambda case, judged, along_run: ("holds", along_run))
    monkeypatch.setattr(along, "row_of", lambda case, judged, outcome: (judged.claim.id, outcome))
    case = case_of(trajectory=SimpleNamespace(thinned=thinned), run="run", functions="functions", rows=["first"])
    along._judge_run(case, [STEP, LIKELY, RUN])
    return case, seen


def test_a_run_is_judged_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    case, seen = seen_by_judge_run(monkeypatch, False, None)
    assert seen["table"] == ["step", "likely", "run", "condition"]
    assert "blocks" not in seen
    assert seen["containment"] == (case.instance, case.trajectory, "functions")
    assert seen["conditions"]
    assert case.contained is TRUE
    assert case.rows == ["first", ("likely", ["likely"]), ("step", ("holds", True)), ("run", ("holds", True))]


def test_a_thinned_run_is_judged_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = SimpleNamespace(contained=OPEN)
    case, seen = seen_by_judge_run(monkeypatch, True, blocks)
    assert seen["blocks"] == (["step", "run", "condition"], {"step", "run", "condition"})
    assert "containment" not in seen
    assert (case.in_blocks, case.contained) == (blocks, OPEN)
    assert len(case.rows) == 4
    case, seen = seen_by_judge_run(monkeypatch, True, None)  # a method that gives no blocks
    assert case.contained is TRUE


@pytest.mark.parametrize(
    ("status", "cut"),
    [(s, True) for s in ("budget", "diverged", "not finite", "interrupted", "precision")]
    + [("finished", False), ("stationary", False)],
)
def test_places_of_a_run(monkeypatch: pytest.MonkeyPatch, status: str, cut: bool) -> None:
    def judge_claims(claims: Any, *given: Any, again: Any, seen: Any) -> list[Any]:
        assert given == (case.evaluator, case.trajectory, case.forget, cut)
        assert again is case.evaluator_again
        assert seen is case.seen
        return [("whole", claim.id) for claim in claims]

    monkeypatch.setattr(along, "judge_claims", judge_claims)
    case = case_of(trajectory=SimpleNamespace(run=SimpleNamespace(status=status)), seen=lambda *place: None)
    assert along._judged(case, [STEP, RUN, EPOCHS]) == [("whole", "step"), ("whole", "run"), ("whole", "epochs")]
    case.in_blocks = SimpleNamespace(judged=lambda claims: [("block", claim.id) for claim in claims])
    found = along._judged(case, [STEP, RUN, EPOCHS])
    assert found == [("block", "step"), ("block", "run"), ("block", "epochs"), ("whole", "run")]


@pytest.mark.parametrize(
    ("local", "y", "lam", "more"),
    [
        ((), ["y1"], 3, set()),
        (("L",), [], 3, set()),
        ((), [], 3, set()),
        (("L",), ["y1"], 3, {"y_star", "y_star_lam"}),
        (("L",), ["y1"], None, {"y_star"}),
    ],
)
def test_symbols_of_the_claims_and_of_containment(local: Any, y: Any, lam: Any, more: set[str]) -> None:
    letters = {} if lam is None else {"lam": (lam, None)}
    problem = SimpleNamespace(x=["x1"], y=y)
    case = case_of(instance=SimpleNamespace(local=local), problem=problem, letters=lambda: letters)
    assert along._symbols(case, [claim_of(left="phi(x[k])"), claim_of(left="sin(iterations)")]) == {"phi"} | more


def test_truth_is_tabulated_at_the_points_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def functions(*given: Any) -> Any:
        made.append(given)
        return SimpleNamespace(lam=f"lam of {len(made)}")

    monkeypatch.setattr(along, "ProblemFunctions", functions)
    monkeypatch.setattr(along, "tabulate", lambda *given: ("table", *given))
    monkeypatch.setattr(along, "_symbols", lambda case, claims: {c.id for c in claims})
    trajectory = SimpleNamespace(upper_points=lambda dx: f"points in {dx} dimensions")
    case = case_of(trajectory=trajectory, letters=lambda: {"lam": (3, "proved")}, functions=None, precise=None)
    case.problem.dx = 2
    along._tabulate(case, [STEP])
    table = ("table", "the truth", {"step"}, "points in 2 dimensions", "lam of 1")
    assert made == [(case.problem, "the truth", 3), (case.problem, "the truth", 3, table)]
    assert (case.precise.lam, case.functions.lam) == ("lam of 1", "lam of 2")
    case.letters = dict
    along._tabulate(case, [STEP])
    assert made[2] == (case.problem, "the truth", None)


def test_a_simple_bilevel_problem_has_functions_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along, "functions_of", lambda problem, truth: (problem, truth))
    case = case_of(trajectory=SimpleNamespace())
    case.problem.kind = "simple_bilevel"
    along._tabulate(case, [STEP])
    assert case.functions is case.precise
    assert case.functions == (case.problem, "the truth")


# --- conditions along the run


def test_conditions_become_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    given = claim_of("given", given_by=("alpha", "r"))
    claims = (STEP, claim_of("point", "point"), RUN, EPOCHS, given, claim_of("epoch", "epoch"))
    other = Statement(kind="condition", id="other", claims=(claim_of("last"),))
    monkeypatch.setattr(
        along, "assumed", lambda card, statement: [Statement(kind="condition", id="one", claims=claims), other]
    )

    def judged(case: Any, claims: list[Claim]) -> list[Judged]:
        tally = Tally()
        tally.take(Judgement(True, 1.0, 2.0, 0.5, "", "certified", "k = 1"))
        return [Judged(claim, claim.chain[0], 0, tally, Evaluator({})) for claim in claims]

    monkeypatch.setattr(along, "_judged", judged)
    proved = SimpleNamespace(certainty="proved", chosen=False)
    case = case_of(OPEN, trajectory=SimpleNamespace())
    case.resolved.letters = {"alpha": proved, "r": proved}
    along._judge_conditions(case)
    assert case.premises[0] is OPEN
    assert case.premises[1] == Premise("one, given: f(x[k]) <= 10", "holds", "", "proved", "proof of alpha, r")
    names = [premise.text.partition(":")[0] for premise in case.premises[2:]]
    assert names == ["one, step", "one, run", "one, epoch", "other, last"]
    found = {(p.verdict, p.certainty, p.margin, p.along) for p in case.premises[2:]}
    assert found == {("holds", "certified", 0.5, True)}
    assert not case.premises[1].along  # a proof is one for the whole run
    assert [p.source for p in case.premises[2:]] == ["one", "one", "one", "other"]
    case.request.values = {"r": 1}
    case.premises.clear()
    along._judge_conditions(case)
    assert [p.text.partition(":")[0] for p in case.premises[:3]] == ["one, step", "one, run", "one, given"]


@pytest.mark.parametrize(("certainty", "given"), [("proved", True), ("certified", True), ("computed", False)])
def test_only_a_proof_gives_a_condition(certainty: str, given: bool) -> None:
    case = case_of()
    case.resolved.letters = {"alpha": SimpleNamespace(certainty=certainty, chosen=False)}
    assert conditions.is_given(case, claim_of(given_by=("alpha",))) is given
    assert conditions.is_given(case, claim_of(given_by=("alpha", "r"))) is False
    assert conditions.is_given(case, claim_of()) is False


def premise(*places: Judgement) -> Premise:
    tally = Tally()
    for one in places:
        tally.take(one)
    return along._premise_of("cond", Judged(STEP, STEP.chain[0], 0, tally, Evaluator({})))


def test_every_field_of_a_condition_along_the_run() -> None:
    text = "cond, step: f(x[k]) <= 10"
    held = premise(Judgement(True, 1, 2, 0.5, certainty="certified", where="k = 1"))
    assert held == Premise(text, "holds", "", "certified", "cond", 0.5, along=True)
    false = premise(Judgement(False, 2, 1, -0.5, certainty="certified", where="k = 1"))
    assert false == Premise(text, "not applicable", "cond is false on this run at k = 1", "certified", "cond", -0.5)
    assert premise(Judgement(False, 2, 1, -0.5, certainty="proved")).reason == "cond is false on this run"
    rounded = premise(Judgement(False, 2e-14, 1e-14, -0.5, certainty="certified", where="k = 1"))
    reason = "precision: cond asks for more at k = 1 than float64 resolves"
    assert rounded == Premise(text, "undecided", reason, "computed", "cond", -0.5)
    tie = premise(undecided("tie", "certified", "k = 2"))
    assert tie == Premise(text, "undecided", "precision: cond at k = 2: tie (1 of 1 places)", "computed", "cond")
    wide = premise(undecided("precision: wide", "certified"))
    assert wide.reason == "precision: cond: wide (1 of 1 places)"
    lost = premise(undecided("not recorded: z", "certified", "k = 3"))
    reason = "hypothesis: cond at k = 3: not recorded: z (1 of 1 places)"
    assert lost == Premise(text, "undecided", reason, "computed", "cond")
    nothing = premise()
    assert nothing == Premise(text, "undecided", "hypothesis: cond: vacuous", "computed", "cond")


@pytest.mark.parametrize(
    ("measured", "bound", "margin", "rounding"),
    [
        (0.9e-13, -0.9e-13, -1.0, True),
        (1.5e-13, 0.0, -1.0, False),
        (0.0, -1.5e-13, -1.0, False),
        (-0.9e-13, 0.5e-13, -1.0, True),
        (1.0, 1.0, -0.9e-13, True),
        (1.0, 1.0, -1.5e-13, False),
        (1.0, 1.0, -along.UNRESOLVED, False),
        (along.UNRESOLVED, 0.0, -1.0, False),
    ],
)
def test_rounding_ends_at_the_same_size_absolutely_and_relatively(
    measured: float, bound: float, margin: float, rounding: bool
) -> None:
    assert along._is_rounding(Judgement(False, measured, bound, margin)) is rounding


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (BudgetExhausted("b"), "budget"),
        (ParameterError("x"), "hypothesis"),
        (InputError("x"), "hypothesis"),
        (MathematicalError("x"), "precision"),
        (ArithmeticError("x"), "precision"),
    ],
)
def test_kinds_of_trouble(error: Exception, kind: str) -> None:
    assert along._kind_of(error) == kind
