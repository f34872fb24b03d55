"""Rows by themselves: every field of a row, the marks, the command that repeats it, runs seen in part only."""

from __future__ import annotations

import shlex
from dataclasses import replace
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import rows
from bilevel_verify.checks.requests.request import Request
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.card_parts import Condition, Expression, LetterSpec, Link, Mark, Refuted

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def zoo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem of these tests is an entry of the zoo; what is none is named as a file to be given."""
    monkeypatch.setattr(rows, "names", lambda: frozenset({"bowl"}))


def link(left: str = "f(x[k])", op: str = "<=", right: str = "10", **more: Any) -> Link:
    return Link(Expression(parse(left), left), op, Expression(parse(right), right), **more)


def claim_of(*links: Link, over: Any = "step", **more: Any) -> Claim:
    return Claim(id="c", over=over, chain=links or (link(),), **more)


def tally_of(*places: Judgement) -> Tally:
    tally = Tally()
    for one in places:
        tally.take(one)
    return tally


TIGHT = Judgement(True, 1.0, 4.0, 0.75, "", "certified", "k = 3")
BROKEN = Judgement(False, 3.0, 2.0, -0.5, "", "proved", "k = 4", 1.0)
LOST = Judgement(None, nan, nan, nan, "tie", "computed", "k = 5")


def judged_of(claim: Claim, tally: Tally, number: int = 0) -> Judged:
    return Judged(claim, claim.chain[number], number, tally, Evaluator({}))


def case_of(statement: dict[str, Any] | None = None, card: dict[str, Any] | None = None, **changes: Any) -> Any:
    entry = Statement(kind="theorem", id="t", **(statement or {}))
    request = Request(replace(Card("paper", "A paper", Path("paper.toml")), **(card or {})), entry)
    letter = SimpleNamespace(run=0.25, chosen=True), SimpleNamespace(run=9.0, chosen=False)
    base: dict[str, Any] = {
        "request": request,
        "problem": SimpleNamespace(name="bowl", knobs={"s": 0.5}),
        "instance": SimpleNamespace(local=(), start=[1.0, -0.5]),
        "resolved": SimpleNamespace(letters=dict(zip(("eta", "L"), letter)), readings=(), reading=None),
        "premises": [],
        "contained": None,
        "eps": None,
        "method": "gradient-descent",
        "run": None,
        "trajectory": None,
        "below_precision": "",
        "whole": False,
        "digits": None,
    }
    return SimpleNamespace(**{**base, **changes})


def row_with(claim: Claim, tally: Tally, outcome: Any = ("holds", ""), number: int = 0, **changes: Any) -> Row:
    return rows.row_of(case_of(**changes), judged_of(claim, tally, number), outcome)


# --- fields


def test_every_field_of_a_row() -> None:
    found = row_with(claim_of(source="eq. (3)"), tally_of(TIGHT), eps=0.25)
    expected = Row(
        paper="paper", statement="t", claim="c", source="eq. (3)", problem="bowl", method="gradient-descent",
        kind="step", verdict="holds", certainty="certified", left="f(x[k])", right="10", measured=1.0, bound=4.0,
        margin=0.75, where="eps = 0.25, k = 3", places=1,
        reproduce="bilevel-verify verify paper/t --problem zoo:bowl --eps 0.25 --x0=1.0,-0.5",
        details={
            "op": "<=", "eps": 0.25, "knobs": {"s": "0.5"}, "x0": [1.0, -0.5], "skipped": 0,
            "parameters": {"eta": 0.25},
        },
    )  # fmt: skip
    assert found == expected


def test_what_does_not_apply_is_none() -> None:
    found = row_with(
        claim_of(), Tally(), ("not applicable", ""), problem=SimpleNamespace(name="", knobs={}), method=None
    )
    for name in ("source", "problem", "certainty", "measured", "bound", "margin", "where", "places", "reason"):
        assert getattr(found, name) is None, name
    for name in ("printed", "stated", "reading", "method"):
        assert getattr(found, name) is None, name
    skipping = Tally()
    skipping.skip("proved")
    assert row_with(claim_of(), skipping, ("not applicable", "vacuous")).details["skipped"] == 1


def test_numbers_that_are_lost_are_none() -> None:
    found = row_with(claim_of(), tally_of(LOST, TIGHT), ("undecided", "tie"))
    assert (found.measured, found.bound, found.margin) == (None, None, None)
    assert (found.where, found.places, found.reason, found.certainty) == ("k = 5", 2, "tie", None)


@pytest.mark.parametrize(
    ("verdict", "certainty"),
    [("holds", "computed"), ("refuted", "computed"), ("undecided", None), ("not applicable", None)],
)
def test_only_what_is_decided_has_a_certainty(verdict: Any, certainty: str | None) -> None:
    premises = [Premise("p", "holds", certainty="computed"), Premise("q", "undecided", certainty="sampled")]
    assert row_with(claim_of(), tally_of(TIGHT), (verdict, "r"), premises=premises).certainty == certainty


@pytest.mark.parametrize(
    ("over", "method"),
    [(scope, "gradient-descent") for scope in ("step", "epoch", "run", "order")]
    + [("parameters", None), ("point", None)],
)
def test_only_rows_about_runs_name_the_method(over: str, method: str | None) -> None:
    found = row_with(claim_of(over=over), tally_of(TIGHT))
    assert (found.method, found.kind) == (method, over)


def test_links_of_a_chain_are_numbered_from_one() -> None:
    chain = claim_of(link(), link("2", "<", "3"), link("3", "==", "4"))
    assert [row_with(chain, tally_of(TIGHT), number=n).claim for n in range(3)] == ["c/1", "c/2", "c/3"]
    second = row_with(chain, tally_of(TIGHT), number=1)
    assert (second.left, second.related) == ("2", "< 3")


def test_a_claim_without_a_source_has_that_of_its_statement() -> None:
    assert row_with(claim_of(), tally_of(TIGHT), statement={"source": "page 3"}).source == "page 3"
    assert row_with(claim_of(source="eq. (1)"), tally_of(TIGHT), statement={"source": "page 3"}).source == "eq. (1)"


@pytest.mark.parametrize(("of_claim", "of_statement"), [(True, False), (False, True), (True, True), (False, False)])
def test_a_refutation_that_the_card_records(of_claim: bool, of_statement: bool) -> None:
    claim = claim_of(refuted=Refuted() if of_claim else None)
    found = row_with(claim, tally_of(BROKEN), ("refuted", ""), statement={"refuted": Refuted()} if of_statement else {})
    assert found.known_refuted is (of_claim or of_statement)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ((), (None, None)),
        (("one",), ("one", "one")),
        (("", "two"), (None, "two")),
        (("one", "two"), ("one", "two")),
        (("one", ""), ("one", None)),
        (("", "b", "c"), ("b", "b")),
    ],
)
def test_the_display_of_a_link(texts: tuple[str, ...], found: tuple[str | None, str | None]) -> None:
    chain = claim_of(link(), link("2", "<", "3"), printed=texts)
    assert tuple(row_with(chain, tally_of(TIGHT), number=n).printed for n in range(2)) == found
    chain = claim_of(link(), link("2", "<", "3"), stated=texts)
    assert tuple(row_with(chain, tally_of(TIGHT), number=n).stated for n in range(2)) == found


# --- readings and marks


def resolved(*readings: str) -> Any:
    return SimpleNamespace(letters={}, readings=readings, reading="; ".join(readings) or None)


def test_readings_are_named_once() -> None:
    assert rows.readings_of(case_of(), claim_of()) is None
    assert rows.readings_of(case_of(), claim_of(reading="a")) == "a"
    assert rows.readings_of(case_of(resolved=resolved("a", "b")), claim_of()) == "a; b"
    assert rows.readings_of(case_of(resolved=resolved("a", "b")), claim_of(reading="b")) == "a; b"
    assert rows.readings_of(case_of(resolved=resolved("a")), claim_of(reading="b")) == "a; b"
    assert row_with(claim_of(reading="a"), tally_of(TIGHT)).reading == "a"


def test_marks_come_from_everywhere_and_a_marked_row_is_not_as_printed() -> None:
    statement = {"marks": (Mark("special", "k = 2"),)}
    claim = claim_of(link(marks=(Mark("part", "left half"),)), marks=(Mark("step", "one"), Mark("special", "k = 2")))
    found = row_with(claim, tally_of(TIGHT), statement=statement, resolved=resolved("a"))
    assert found.marks == ("special: k = 2", "step: one", "part: left half", "reading: a")
    assert found.as_printed is False
    plain = row_with(claim_of(), tally_of(TIGHT))
    assert (plain.marks, plain.as_printed) == ((), True)
    assert rows.marks_of(case_of(), claim_of(), Mark("part", "x")) == ("part: x",)


UNREAD = {"where": (Condition(parse("L > 0"), "L > 0"),)}


def test_rows_under_an_unread_hypothesis_come_after_the_row_as_printed() -> None:
    request = case_of(
        statement={"claims": (claim_of(link(), link("2", "<", "3"), **UNREAD), replace(claim_of(), id="d"))}
    ).request
    mark = "added: L > 0"
    one = Row("paper", "t", "c/2", None, None, None, "step", "holds", "proved", measured=1.0, bound=2.0, margin=0.5,
              places=4, reason="why", as_printed=False, marks=(mark,))  # fmt: skip
    other = replace(one, claim="d", marks=(mark,))
    both, plain = replace(one, marks=(mark, "part: x")), replace(one, marks=("part: x",))
    nobody = replace(one, claim=None)
    found = rows.with_unjudged([one, other, both, plain, nobody], request)
    assert found[1:] == [one, other, both, plain, nobody]
    blank = found[0]
    assert (blank.claim, blank.verdict, blank.marks, blank.as_printed) == ("c/2", "undecided", (), True)
    assert blank.reason == "origin of the hypothesis not given: L > 0"
    assert [getattr(blank, name) for name in ("certainty", "measured", "bound", "margin", "places")] == [None] * 5


# --- the command


def words_of(**changes: Any) -> list[str]:
    return shlex.split(rows.command(case_of(**changes)))


@pytest.mark.parametrize(("eps", "text"), [(0.1, "0.1"), (0.25, "0.25"), (1e-7, "1e-07"), (0.123456789, "0.123456789")])
def test_the_tolerance_is_repeated_to_the_last_bit(eps: float, text: str) -> None:
    words = words_of(eps=eps)
    assert words[words.index("--eps") + 1] == text
    assert float(text) == eps
    assert "--eps" not in words_of()


def test_the_command_repeats_the_request() -> None:
    case = case_of(statement={"title": ":a,b"})
    case.request = replace(
        case.request, values={"L": 3}, parameters={"eta": 0.5, "note": "two words"}, method="f2ba", label="my file.toml"
    )
    assert shlex.split(rows.command(case)) == [
        "bilevel-verify", "verify", "paper/t:a,b", "--problem", "my file.toml", "--x0=1.0,-0.5", "--set", "L=3",
        "--set", "eta=0.5", "--set", "note=two words", "--method", "f2ba",
    ]  # fmt: skip
    case.request = replace(case.request, label="", method=print)
    words = shlex.split(rows.command(case))
    assert "--method" not in words
    assert words[words.index("--problem") + 1] == "zoo:bowl"
    with pytest.MonkeyPatch.context() as none:
        none.setattr(rows, "names", lambda: frozenset())
        assert "PROBLEM.toml" in shlex.split(rows.command(case))
    nameless = words_of(problem=SimpleNamespace(name="", knobs={}))
    assert nameless[nameless.index("--problem") + 1] == "PROBLEM.toml"


def test_where_a_row_was_found() -> None:
    assert rows._where(case_of(), "") is None
    assert rows._where(case_of(), "k = 1") == "k = 1"
    assert rows._where(case_of(eps=0.5), "") == "eps = 0.5"
    assert rows._where(case_of(eps=0.5), "k = 1") == "eps = 0.5, k = 1"


# --- rows of hypotheses, and plain ones


def test_the_row_of_a_hypothesis() -> None:
    premise = Premise("L is finite", "holds", "", "certified", "constants", 0.5, "x1 = 0")
    found = rows.premise_row(case_of(eps=0.5), premise)
    assert found == Row(
        paper="paper", statement="t", claim=None, source="constants", problem="bowl", method=None, kind="hypothesis",
        verdict="holds", certainty="certified", left="L is finite", margin=0.5, where="eps = 0.5, x1 = 0",
        reproduce=rows.command(case_of(eps=0.5)), details={"eps": 0.5},
    )  # fmt: skip
    nameless = case_of(problem=SimpleNamespace(name="", knobs={}))
    for verdict in ("undecided", "not applicable"):
        open_ = rows.premise_row(nameless, Premise("p", verdict, "why"))  # type: ignore[arg-type]
        assert (open_.certainty, open_.source, open_.problem, open_.reason) == (None, None, None, "why")
    assert open_.where is None


def test_a_plain_row() -> None:
    base = {"claim": None, "kind": "order", "verdict": "consistent"}
    found = rows.plain_row(case_of(statement={"source": "page 1"}, resolved=resolved("a")), **base)
    assert (found.paper, found.statement, found.source, found.problem) == ("paper", "t", "page 1", "bowl")
    assert (found.method, found.reading) == (None, "a")
    assert found.reproduce == rows.command(case_of())
    bare = rows.plain_row(case_of(problem=SimpleNamespace(name="", knobs={})), **base, method="m", reading="b")
    assert (bare.source, bare.problem, bare.method, bare.reading) == (None, None, "m", "b")


# --- runs of which a part was seen


@pytest.mark.parametrize(
    ("left", "over", "rests"),
    [
        ("f(x[k])", "step", False),
        ("f(output)", "step", True),
        ("iterations", "epoch", True),
        ("calls(grad_f)", "step", True),
        ("f(x[0])", "run", True),
        ("k_end", "epoch", False),
    ],
)
def test_the_first_iterations_in_many_digits_decide_nothing_about_the_end(left: str, over: str, rests: bool) -> None:
    run = SimpleNamespace(status="budget", iterations=128, note="")
    seen = SimpleNamespace(iterations=lambda: 128)
    case = case_of(run=run, trajectory=seen, below_precision="r is small", digits=60)
    claim = claim_of(link(left), over=over)
    verdict, reason = rows.verdict_of(case, judged_of(claim, tally_of(TIGHT)), True)
    assert verdict == ("undecided" if rests else "holds")
    assert reason == ("precision: r is small" if rests else "over the first 128 iterations, in 60 digits: r is small")
    # no place among the first iterations is no word on the others
    assert rows.verdict_of(case, judged_of(claim, Tally()), True) == ("undecided", "precision: r is small")
    assert rows.verdict_of(case, judged_of(claim, tally_of(LOST)), True)[0] == "undecided"
    case.whole, run.status = True, "finished"
    assert rows.verdict_of(case, judged_of(claim, tally_of(TIGHT)), True)[0] == "holds"
    assert rows.verdict_of(case, judged_of(claim, Tally()), True)[0] == "not applicable"


def test_a_violation_in_many_digits_keeps_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "confirmed", lambda case, judged, reason: ("refuted", reason))
    run = SimpleNamespace(status="budget", iterations=128, note="")
    case = case_of(run=run, trajectory=SimpleNamespace(iterations=lambda: 128), below_precision="r is small", digits=60)
    assert rows.verdict_of(case, judged_of(claim_of(), tally_of(BROKEN)), True) == (
        "refuted",
        "violated at 1 of 1 places",
    )


def test_without_a_run_there_is_nothing_to_be_cut_short() -> None:
    assert rows.verdict_of(case_of(), judged_of(claim_of(), tally_of(TIGHT)), True) == ("holds", "")
    assert rows.verdict_of(case_of(), judged_of(claim_of(), Tally()), True) == ("not applicable", "vacuous")


def test_a_claim_that_needs_no_run_is_not_cut_short() -> None:
    case = case_of(run=SimpleNamespace(status="budget", iterations=5, note=""), below_precision="r is small")
    end = judged_of(claim_of(link("norm(output)"), over="run"), tally_of(TIGHT))
    assert rows.verdict_of(case, end, False) == ("holds", "")
    assert rows.verdict_of(case, judged_of(claim_of(), Tally()), False) == ("not applicable", "vacuous")
    assert rows.verdict_of(case, end, True)[0] == "undecided"


SO_FAR = "budget: the run was not finished; so far, 5 iterations, it holds"


@pytest.mark.parametrize(
    ("verdict", "said"), [("holds", ("undecided", SO_FAR)), ("refuted", ("refuted", "why")), ("undecided", None)]
)
def test_what_holds_so_far_is_open_and_says_how_far_a_cut_run_went(verdict: Any, said: Any) -> None:
    case = case_of(run=SimpleNamespace(status="budget", iterations=5, note=""))
    found = rows._cut_short(case, judged_of(claim_of(), tally_of(TIGHT)), verdict, "why")
    assert found == (said or (verdict, "why"))


def test_a_cut_run_whose_relation_is_open_stays_open() -> None:
    case = case_of(run=SimpleNamespace(status="budget", iterations=5, note=""))
    grown = judged_of(claim_of(link("1", "<=", "0"), over="run"), tally_of(BROKEN))
    assert rows._cut_short(case, grown, "refuted", "why") == ("refuted", "why; the run was not even finished")
    assert rows._cut_short(case, grown, "undecided", "tie") == ("undecided", "budget: the run was not finished")


@pytest.mark.parametrize("over", ["run", "step"])
def test_a_run_cut_short_before_its_conditions_are_known_refutes_nothing(
    monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    monkeypatch.setattr(rows, "confirmed", lambda case, judged, reason: ("refuted", reason))
    broken = judged_of(claim_of(link("1", "<=", "0"), over=over), tally_of(BROKEN))
    so_far, proved = Premise("far", "holds", along=True), Premise("far", "holds")
    for status, premises, verdict in (
        ("budget", [so_far], "undecided"),
        ("budget", [proved, so_far], "undecided"),
        ("budget", [proved], "refuted"),
        ("budget", [], "refuted"),
        ("finished", [so_far], "refuted"),
        ("stationary", [so_far], "refuted"),
    ):
        case = case_of(run=SimpleNamespace(status=status, iterations=5, note=""), premises=premises)
        found, reason = rows.verdict_of(case, broken, True)
        assert found == verdict, (status, premises)
        if verdict == "undecided":
            assert reason.startswith("budget: the run was not finished, and with it its conditions; violated at 1 of 1")
    held = judged_of(claim_of(), tally_of(TIGHT))
    case = case_of(run=SimpleNamespace(status="budget", iterations=5, note=""), premises=[so_far])
    assert rows.verdict_of(case, held, True) == ("undecided", SO_FAR)


def test_one_link_of_unlike_units_is_enough() -> None:
    letters = {name: LetterSpec(name, Expression(parse(unit), unit)) for name, unit in (("V", "F"), ("r", "X"))}
    case = case_of(card={"units": {"F": "values of f", "X": "length of x"}, "letters": letters})
    alike, unlike = link("V", "<=", "2*V"), link("V", "<=", "r")
    claim = claim_of(alike, unlike)
    for links, verdict in (((alike, alike), "holds"), ((alike, unlike), "undecided"), ((unlike, alike), "undecided")):
        found, reason = rows.as_claimed(case, claim, ("holds", ""), *links)
        assert found == verdict
        assert reason.startswith("units: ") == (verdict == "undecided")
    assert rows.as_claimed(case, claim, ("undecided", "tie"), unlike) == ("undecided", "tie")


@pytest.mark.parametrize(
    ("names", "said"), [(("L",), "L holds on a box only"), (("L", "M"), "L, M hold on a box only")]
)
def test_constants_of_a_box_are_named_and_the_way_out_too(names: tuple[str, ...], said: str) -> None:
    assert rows.on_a_box(names).startswith(f"{said} (remove [domain] if they stay finite without it, else")


def test_a_run_without_a_step_is_why_nothing_was_checked() -> None:
    said = ("not applicable", "vacuous: the run takes no step from this start; give another one (x0)")
    for iterations, along, expected in (
        (0, True, said),
        (0, False, said[:1] + ("vacuous",)),
        (1, True, said[:1] + ("vacuous",)),
    ):
        case = case_of(run=SimpleNamespace(status="stationary", iterations=iterations, note=""))
        assert rows.verdict_of(case, judged_of(claim_of(), Tally()), along) == expected


def test_the_sign_of_a_relation_stands_beside_its_right_side() -> None:
    found = row_with(claim_of(), tally_of(TIGHT))
    assert (found.right, found.details["op"], found.related) == ("10", "<=", "<= 10")
    earlier = replace(found, right="<= 10", details={})  # a stored row of an earlier version
    assert earlier.related == "<= 10"
    assert replace(found, right=None).related == ""


@pytest.mark.parametrize(
    ("verdict", "margin", "shown"),
    [("holds", -1.0, 0.0), ("holds", 0.25, 0.25), ("refuted", -1.0, -1.0), ("undecided", -1e-16, -1e-16)],
)
def test_a_relation_that_is_proved_has_no_negative_margin(verdict: Any, margin: float, shown: float) -> None:
    assert rows._margin(verdict, margin) == shown
