"""Random cards with known truth: no verdict contradicts it, and what once said too much is caught when planted."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import checks_own_cards as cards
import checks_own_sweeps as sweeps
import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks import engine
from bilevel_verify.checks.claims import claims, decide, growth, recorded
from bilevel_verify.checks.evidence import confirm, runs
from bilevel_verify.checks.instances import hypotheses
from bilevel_verify.checks.judging import along, rows, sweep
from bilevel_verify.checks.solvers import kinds, own_solver
from bilevel_verify.theorems.letters import given

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", "20"))
DECIDED = ("holds", "refuted", "not applicable")


@pytest.fixture(autouse=True)
def _no_kept_runs() -> None:
    runs._RUNS.clear()


def test_no_verdict_contradicts_what_is_known(tmp_path: Path) -> None:
    found = cards.ask(SEED, 2, tmp_path, sweeps.MAKERS)
    assert not found.contradicted, f"seed {SEED}: {found.contradicted}"
    assert found.rows >= 50
    # what no solver should hand back, and what rests on computed truths alone, stays open more often than not
    plain = {
        at: n
        for at, n in found.said.items()
        if not at[0].startswith(("odd", "at rest", "condition", "elsewhere", "orders"))
    }
    assert sum(n for (_, verdict), n in plain.items() if verdict in DECIDED) >= 0.8 * sum(plain.values())
    assert {kind for kind, _ in found.said} >= {
        "tight",
        "letter",
        "budget",
        "counts",
        "callable",
        "epochs",
        "kind",
        "truth",
        "loose",
        "condition",
        "at rest",
        "elsewhere",
        "orders",
        "own epochs",
        "assumed",
    }


def nothing(*arguments: Any, **options: Any) -> list[Any]:
    return []


def believed(name: str, value: Any, *_: Any) -> given.Given:
    """A truth that is as somebody says."""
    return given.Given(name, value, True, source="truth")


def about(left: Any, operator: str, right: Any) -> bool | None:
    """A comparison that forgives a millionth."""
    a, b = Fraction(float(left)), Fraction(float(right))
    return bool(a <= b + abs(b) / 10**5) if operator == "<=" else None


def by_its_name(judged: Any) -> bool:
    """What decided before that counts only grow: the text of the left side."""
    return "calls(" in str(judged.link.left)


def held_if_open(tally: decide.Tally) -> tuple[str, str]:
    """The outcome of places of which the open ones count for nothing."""
    return ("refuted", "violated") if tally.violated else ("holds", "")


def skipped(tally: decide.Tally, certainty: str) -> None:
    """A place that is left out, and by what is forgotten."""
    tally.skipped += 1


def from_left_to_right(link: Any) -> tuple[str, str, bool, bool]:
    """What an order asserts, whichever way its relation points."""
    return "O", "right", True, False


def first_epoch(run: recorded.RecordedRun) -> list[int]:
    """The epochs of a run of which nobody looks at the later ones."""
    return sorted(run._last)[:1]


LAST, FACT = recorded.RecordedRun.k_end, recorded.RecordedRun.fact


def one_more(run: recorded.RecordedRun, epoch: int) -> int:
    """The number of rows of an epoch in the place of the index of its last one."""
    return LAST(run, epoch) + 1


def always_last(run: recorded.RecordedRun, name: str, bound: Any) -> Any:
    """Whether an epoch is the last one: yes."""
    return True if name == "last_epoch" else FACT(run, name, bound)


def first_point(run: recorded.RecordedRun, name: str, epoch: int) -> Any:
    """Where x starts, whatever the sequence."""
    return run._raw("x", epoch, 0)


Patch = tuple[Any, str, Any]
FAULTS: dict[str, tuple[list[Patch], Callable[..., Any], int]] = {
    "counts only grow": (
        [(rows, "stays_violated", lambda judged: True), (confirm, "stays_violated", lambda judged: True)],
        cards.budget_cut,
        8,
    ),
    "counts are recognised by their name": (
        [(rows, "stays_violated", by_its_name), (confirm, "stays_violated", by_its_name)],
        cards.budget_cut,
        12,
    ),
    "the end of a cut run is its end": (
        [(rows, "rests_on_the_end", lambda claim: False), (confirm, "rests_on_the_end", lambda claim: False)],
        cards.budget_cut,
        12,
    ),
    "what is cut has ended": ([(rows, "ENDED", (*rows.ENDED, "budget"))], cards.budget_cut, 12),
    "letters set by hand are believed": ([(engine, "judge_given", nothing)], cards.letter_set, 1),
    "truths set by hand are believed": ([(given, "_truth", believed)], cards.two_levels, 1),
    "a loose bound makes a hypothesis false": (
        [(hypotheses, "surely_false", lambda resolved, between: resolved)],
        cards.hypothesis_off,
        1,
    ),
    "hypotheses are not looked at": ([(hypotheses, "of_statement", nothing)], cards.hypothesis_off, 1),
    "one epoch, if nobody says": ([(claims, "needs_epochs", lambda *_: False)], cards.own_solver, 1),
    "the oracles themselves are handed over": (
        [(own_solver, "HandedOracles", lambda asked, *_: asked)],
        cards.own_solver,
        8,
    ),
    "every kind of problem": ([(engine, "foreign", lambda *_: "")], cards.two_levels, 1),
    "a millionth is nothing": ([(decide, "compare", about)], cards.tight, 3),
    "open places count as held": ([(decide.Tally, "outcome", held_if_open)], cards.own_solver, 1),
    "conditions leave places out for free": ([(decide.Tally, "skip", skipped)], cards.conditions, 1),
    "computed numbers are a witness": ([(decide, "is_witness", lambda certainty: True)], cards.conditions, 1),
    "hypotheses are as certain as their places": ([(rows, "weakest", lambda first, *_: "proved")], cards.conditions, 1),
    "every sequence starts at rest": ([(recorded.RecordedRun, "_at_rest", first_point)], cards.misbehaving, 1),
    "orders bound what stands on the left": ([(sweep, "_asserted", from_left_to_right)], sweeps.orders_of, 8),
    "orders are asked where their conditions are false": (
        [(sweep, "_is_meant", lambda claim, case: True)],
        sweeps.orders_of,
        8,
    ),
    "a bounded range shows a rate": ([(sweep, "_left_out", lambda *_: None)], sweeps.orders_of, 12),
    "the first epoch is all": ([(recorded.RecordedRun, "epochs", property(first_epoch))], sweeps.epochs_of, 3),
    "every epoch is the last": ([(recorded.RecordedRun, "fact", always_last)], sweeps.epochs_of, 4),
    "an epoch has a step more": ([(recorded.RecordedRun, "k_end", one_more)], sweeps.epochs_of, 3),
    "assumed conditions are not looked at": ([(engine, "judge_still_conditions", nothing)], sweeps.assumed_of, 1),
    "no step is a place": ([(recorded.RecordedRun, "steps", lambda *_: [])], cards.steps_of, 1),
    "runs in floats are those of exact arithmetic": ([(rows, "is_carried", lambda *_: True)], cards.led_elsewhere, 12),
    "what is not a number is one": (
        [
            (decide, "compare", lambda *_: True),
            (recorded, "_defined", np.ravel),
            (rows, "ENDED", (*rows.ENDED, "not finite")),
        ],
        cards.misbehaving,
        3,
    ),
}


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_planted_fault_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patches, maker, rounds = FAULTS[name]
    for place, attribute, fault in patches:
        monkeypatch.setattr(place, attribute, fault)
    found = cards.ask(3, rounds, tmp_path, (maker,))
    assert found.contradicted, found.said


def test_the_same_questions_are_answered_without_the_fault(tmp_path: Path) -> None:
    makers = {maker: rounds for _, maker, rounds in FAULTS.values()}
    for maker, rounds in makers.items():
        assert not cards.ask(3, rounds, tmp_path, (maker,)).contradicted


def test_the_rooms_that_are_patched_are_those_that_are_asked() -> None:
    assert rows.stays_violated is growth.stays_violated
    assert engine.foreign is kinds.foreign
    assert along.judge_claims is claims.judge_claims


EPOCHS = """
[paper]
key = "epochs"
[letters]
L = {{ from = "constants" }}
[[theorem]]
id = "one"
algorithm = "loop"
  [[theorem.claim]]
  id = "fifth"
  over = "epoch"
  left = "{left}"
  right = "f(x_int)"
[[algorithm]]
id = "loop"
inputs = ["x_int", "L"]
steps = '''
t = 0; k = 0; x[0, 0] = x_int
while t < 2:
    x[t, k+1] = x[t, k] - grad_f(x[t, k])/L
    k = k + 1
    if k > {most} - t:
        t = t + 1
        x[t, 0] = x[t-1, k]
        k = 0
return x[t, k]
'''
"""


@pytest.mark.parametrize(
    ("left", "most", "verdict"),
    [
        ("f(x[t, 2])", 2, "holds"),  # the last epoch begins, where the one before ends, and makes no step
        ("f(x[t, 2])", 1, "undecided"),  # an epoch of one step has no second one
        ("f(x_int) + 1 + 0*norm(x[t, 0])", 2, "refuted"),  # what it has is judged
    ],
)
def test_an_epoch_that_made_no_step_is_no_place_of_a_claim_about_its_steps(
    left: str, most: int, verdict: str, tmp_path: Path
) -> None:
    path = tmp_path / "epochs.toml"
    path.write_text(EPOCHS.format(left=left, most=most))
    [row] = bv.verify(bv.single_level(f="x1**2 + cos(x1)", x="x1", start=[2.0]), path).claims
    assert row.verdict == verdict, row.reason
    assert (verdict == "undecided") == ("not recorded: x[1, 2]" in (row.reason or ""))


INNER = """
[paper]
key = "inner"
[letters]
L_g = { from = "constants" }
[[theorem]]
id = "one"
algorithm = "loop"
  [[theorem.claim]]
  id = "inner"
  over = "epoch"
  left = "g(x[t, 0], y[t, 2])"
  right = "g(x[t, 0], y[t, 0])"
[[algorithm]]
id = "loop"
inputs = ["x_int", "y0", "L_g"]
steps = '''
t = 0; x[0, 0] = x_int; y[0, 0] = y0
while t < 2:
    for j in range(2):
        y[t, j+1] = y[t, j] - grad_y_g(x[t, 0], y[t, j])/L_g
    x[t+1, 0] = x[t, 0] - 0.1*grad_x_f(x[t, 0], y[t, 2])
    y[t+1, 0] = y[t, 2]
    t = t + 1
return x[t, 0]
'''
"""


@pytest.mark.parametrize("beside", [False, True])
def test_an_inner_loop_is_told_to_write_a_row_of_x(beside: bool, tmp_path: Path) -> None:
    path = tmp_path / "inner.toml"
    row = "        x[t, j+1] = x[t, j]\n"
    path.write_text(INNER.replace("    x[t+1", f"{row}    x[t+1") if beside else INNER)
    problem = bv.bilevel(f="cos(x1) + sin(y1)", g="y1**2 - x1*y1", x="x1", y="y1", start=[1.0])
    [found] = bv.verify(problem, path).claims
    assert found.verdict == ("holds" if beside else "undecided")
    assert ("write x[t, j+1] = x[t, j] beside it" in (found.reason or "")) is not beside
