"""Each rule of the checker: what it accepts, and with one side condition broken what it refuses; the checker alone."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bilevel_check
from bilevel_check import check

X = {"x": "real"}
POSITIVE = [[">", "x", 0]]


def says(claim: Any, proof: Any, letters: Any = X, hypotheses: Any = (), **more: Any) -> str:
    statement = {"letters": letters, "hypotheses": list(hypotheses), "claim": claim}
    verdict = check(json.dumps({"statement": statement, "proof": proof, **more}))
    return "accepted" if verdict.accepted else verdict.reason


def one(goal: Any, *parts: Any, before: Any = ()) -> Any:
    return [*before, ["identity", goal, list(parts)]]


WRONG = [
    # the rule, claim, proof, hypotheses: each lacks one side condition
    ("a division by what may be 0", ["<=", ["/", "x", "x"], 1], one(["<=", ["/", "x", "x"], 1]), ()),
    (
        "a root of what may be negative",
        ["==", ["^", ["sqrt", "x"], 2], "x"],
        one(["==", ["^", ["sqrt", "x"], 2], "x"]),
        (),
    ),
    ("x**2 under a root is |x|", ["==", ["sqrt", ["^", "x", 2]], "x"], one(["==", ["sqrt", ["^", "x", 2]], "x"]), ()),
    (
        "a negative cofactor",
        [">=", ["neg", "x"], 0],
        one([">=", ["neg", "x"], 0], [-1, [0], []], before=[["hypothesis", 0]]),
        POSITIVE,
    ),
    (
        "a cofactor of unknown sign",
        [">=", ["*", "x", "x", "x"], 0],
        one([">=", ["*", "x", "x", "x"], 0], ["x", [], ["x"]]),
        (),
    ),
    (
        "a strict relation from weak ones",
        [">", "x", 0],
        one([">", "x", 0], [1, [0], []], before=[["hypothesis", 0]]),
        [[">=", "x", 0]],
    ),
    ("a strict relation from a square", [">", ["^", "x", 2], 0], one([">", ["^", "x", 2], 0], [1, [], ["x"]]), ()),
    ("a multiplier that may be negative", [">=", "x", 0], [["identity", [">=", "x", 0], [[1, [], ["x"]]], "x"]], ()),
    ("a fact that is not there", [">=", "x", 0], one([">=", "x", 0], [1, [0], []]), POSITIVE),
    (
        "a fact before the first",
        [">=", "x", 0],
        one([">=", "x", 0], [1, [-1], []], before=[["hypothesis", 0]]),
        POSITIVE,
    ),
    (
        "an equality from inequalities",
        ["==", "x", 0],
        one(["==", "x", 0], [1, [0], []], before=[["hypothesis", 0]]),
        POSITIVE,
    ),
    (
        "a root step with negative sides",
        ["<=", "x", 1],
        [["hypothesis", 0], ["raise", ["<=", ["^", "x", 2], 1], "1/2"]],
        [["<=", ["^", "x", 2], 1]],
    ),
    (
        "a power of negative numbers",
        ["<=", ["^", -2, 2], ["^", 1, 2]],
        [["boxes", ["<=", -2, 1]], ["raise", ["<=", -2, 1], 2]],
        (),
    ),
    (
        "a power turned round",
        ["<=", 2, ["^", 1, -1]],
        [["boxes", ["<=", 1, 2]], ["raise", ["<=", 1, 2], -1], ["known", ["<=", 2, 1]]],
        (),
    ),
    (
        "a power to an exponent of unknown sign",
        ["<=", 1, ["^", 2, "x"]],
        [["raise", ["<=", 1, 2], "x"]],
        (),
    ),
    (
        "sides that do not compare",
        ["<=", ["^", 3, "x"], ["^", 2, "x"]],
        [["hypothesis", 0], ["raise", ["<=", 3, 2], "x"]],
        POSITIVE,
    ),
    (
        "the logarithm of what may be negative",
        ["<=", ["log", "x"], ["+", "x", -1]],
        [["known", ["<=", ["log", "x"], ["+", "x", -1]]]],
        (),
    ),
    ("numbers the wrong way", ["<=", ["sqrt", 2], "7/5"], [["boxes", ["<=", ["sqrt", 2], "7/5"]]], ()),
    ("numbers with a letter", ["<=", "x", 1], [["boxes", ["<=", "x", 1]]], ()),
    ("reals are not integers", [">=", "x", 1], [["hypothesis", 0], ["whole", ["<", 0, "x"]]], POSITIVE),
    (
        "a maximum that is not the first",
        ["<=", ["max", "x", 1], "x"],
        [["known", ["<=", ["max", "x", 1], "x"]]],
        (),
    ),
    ("one case only", [">=", "x", 0], [["cases", [">=", "x", 0], "x", [[], []]]], ()),
    (
        "induction over a real",
        [">=", "x", 0],
        [["hypothesis", 0], ["induction", [">=", "x", 0], "x", 1, [], []]],
        [[">=", "x", 1]],
    ),
    ("a box that is not given", ["<=", "x", 1], [["boxes", ["<=", "x", 1], {"x": ["x", 0, 1]}, None]], ()),
    (
        "a leaf that shows nothing",
        ["<=", "x", "1/2"],
        [["hypothesis", 0], ["hypothesis", 1], ["boxes", ["<=", "x", "1/2"], {"x": ["x", 0, 1]}, None]],
        [[">=", "x", 0], ["<=", "x", 1]],
    ),
    ("a claim that the proof does not reach", ["<=", "x", 1], [["hypothesis", 0]], POSITIVE),
    ("an undeclared letter", ["<=", "y", ["+", "y", 1]], [], ()),
    ("a rule that is none", ["<=", "x", 1], [["trust", 0]], ()),
]


@pytest.mark.fast
@pytest.mark.parametrize(("what", "claim", "proof", "hypotheses"), WRONG, ids=[w[0] for w in WRONG])
def test_a_side_condition(what: str, claim: Any, proof: Any, hypotheses: Any) -> None:
    assert says(claim, proof, hypotheses=hypotheses) != "accepted"


REAL, WHOLE = {"x": "real", "y": "real"}, {"n": "integer"}
ODD = ["<=", ["*", "x", ["+", 1, ["neg", "x"]]], 0]
LAST = ["sum", "i", "i", 1, "n"]
LACKING = [
    # what is missing, claim, proof, letters, hypotheses: all else is there, so that nothing but this refuses it
    ("a step", ["<=", "n", 8], [["hypothesis", 0], ["induction", ["<=", "n", 8], "n", 0, [["boxes", ["<=", 0, 8]]], []]],
     WHOLE, [[">=", "n", 0]]),
    ("a base", [">=", "n", 1], [["hypothesis", 0], ["induction", [">=", "n", 1], "n", 0, [],
     [["identity", [">=", ["+", "n", 1], 1], [[1, [0], []]]]]]], WHOLE, [[">=", "n", 0]]),
    ("a whole letter", ODD, [["hypothesis", 0], ["induction", ODD, "x", 0, [["boxes", ["<=", 0, 0]]],
     [["identity", ["<=", ["*", ["+", "x", 1], ["neg", "x"]], 0], [[1, [0, 0], []], [1, [0], []]]]]]],
     REAL, [[">=", "x", 0]]),
    ("the start", [">=", "n", 1], [["hypothesis", 0], ["induction", [">=", "n", 1], "n", 1, [["boxes", [">=", 1, 1]]],
     [["identity", [">=", ["+", "n", 1], 1], [[1, [0], []], [1, [], []]]]]]], WHOLE, [[">=", "n", -1]]),
    ("a second case", [">=", "x", 1], [["cases", [">=", "x", 1], 0, [[]]]], REAL,
     [["or", [">=", "x", 1], ["<=", "x", -1]]]),
    ("which way it goes", ["<=", ["^", "x", 2], "x"], [["hypothesis", 0], ["raise", ["<=", 1, "x"], 1]], REAL,
     [[">", "x", 0]]),
    ("a range that is not empty", ["==", LAST, ["+", ["sum", "i", "i", 1, ["+", "n", -1]], "n"]], [["last-term", LAST]],
     WHOLE, []),
    ("a half of the box", ["<=", "x", "1/2"], [["hypothesis", 0], ["hypothesis", 1],
     ["boxes", ["<=", "x", "1/2"], {"x": ["x", 0, 1]}, ["x", "1/2", None]]], REAL, [[">=", "x", 0], ["<=", "x", 1]]),
    ("a positive coefficient", [">", ["*", "x", "y"], 0], [["hypothesis", 0], ["hypothesis", 1],
     ["identity", [">", ["*", "x", "y"], 0], [["y", [0], []]]]], REAL, [[">", "x", 0], [">=", "y", 0]]),
    ("a positive first fact", [">", ["*", "x", "y"], 0], [["hypothesis", 0], ["hypothesis", 1],
     ["identity", [">", ["*", "x", "y"], 0], [[1, [0, 1], []]]]], REAL, [[">=", "x", 0], [">", "y", 0]]),
    ("a positive fact beside a square", [">", ["*", "x", ["^", "y", 2]], 0], [["hypothesis", 0], ["hypothesis", 1],
     ["identity", [">", ["*", "x", ["^", "y", 2]], 0], [[1, [0], ["y"]]]]], REAL, [[">=", "x", 0], [">", "y", 0]]),
    ("a strict relation of integers", [">=", "n", 1], [["hypothesis", 0], ["whole", ["<", 0, "n"]]], WHOLE,
     [[">=", "n", 0]]),
    ("more than one", [">", "n", 1], [["hypothesis", 0], ["whole", ["<", 0, "n"]]], WHOLE, [[">", "n", 0]]),
    ("more than a floor", ["<", ["floor", "x"], "x"], [["known", ["<=", ["floor", "x"], "x"]]], REAL, []),
    ("a vector that is not 0", [">", ["dot", "v", "v"], 0], [["known", ["<=", 0, ["dot", "v", "v"]]]], {"v": "vector"}, []),
    ("a positive multiplier", ["<=", 1, 0], [["identity", ["<=", 1, 0], [[1, [], []]], -1]], REAL, []),
    ("a base that is not 0", ["<", ["^", "x", 2], "x"], [["hypothesis", 0], ["hypothesis", 1],
     ["raise", ["<", "x", 1], 1]], REAL, [[">=", "x", 0], ["<", "x", 1]]),
    ("a positive exponent", ["<", ["^", 2, "y"], ["^", 3, "y"]], [["hypothesis", 0], ["raise", ["<", 2, 3], "y"]], REAL,
     [[">=", "y", 0]]),
    ("more than a part of a maximum", [">", ["max", "x", "y"], "x"], [["known", ["<=", "x", ["max", "x", "y"]]]], REAL, []),
    ("the case of positive numbers", ["<=", "x", 0], [["cases", ["<=", "x", 0], "x", [[], []]]], REAL, []),
    ("a step that goes on", ["<=", "n", 8], [["hypothesis", 0], ["induction", ["<=", "n", 8], "n", 0,
     [["boxes", ["<=", 0, 8]]], [["hypothesis", 1]]]], WHOLE, [[">=", "n", 0]]),
    ("more terms than none", ["==", ["sum", "i", "i", 1, 1], 0], [["last-term", ["sum", "i", "i", 1, 1]]], REAL, []),
    ("a line in form", ["<=", 0, "x"], [["hypothesis", "a"], ["hypothesis", 0]], REAL, [["<=", 0, "x"]]),
    ("a list of lines", ["<=", 0, 1], {}, REAL, []),
]  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize(("what", "claim", "proof", "letters", "hypotheses"), LACKING, ids=[w[0] for w in LACKING])
def test_what_alone_is_missing_refuses_it(what: str, claim: Any, proof: Any, letters: Any, hypotheses: Any) -> None:
    assert says(claim, proof, letters, hypotheses) != "accepted"


FROM_FIVE = [">=", ["^", "n", 2], 25]
HARMONIC = ["sum", ["/", 1, "i"], "i", 1, "n"]
SURD = ["*", ["sqrt", 2], ["sqrt", 3], ["sqrt", ["+", 1, "x"]], ["sqrt", ["+", 2, "x"]]]
ROOTS = ["==", ["*", SURD, SURD], ["*", 6, ["+", 1, "x"], ["+", 2, "x"]]]
"""Powers of two primes and of two sums meet at once."""
BELOW_PI = ["<", "314159265358979323846264338327950288/100000000000000000000000000000000000", "pi"]
USED = [
    # what is used again, claim, proof, letters, hypotheses
    ("an equality times a negative number", ["==", "x", 3], [["hypothesis", 0],
     ["identity", ["==", "x", 3], [[-1, [0], []]], -1]], REAL, [["==", "x", 3]]),
    ("a cofactor that may be 0", [">=", ["*", "x", "y"], 0], [["hypothesis", 0], ["hypothesis", 1],
     ["identity", [">=", ["*", "x", "y"], 0], [["y", [0], []]]]], REAL, [[">=", "x", 0], [">=", "y", 0]]),
    ("what is known", [">=", ["*", 2, ["^", "x", 2]], 0], [["known", [">=", ["^", "x", 2], 0]],
     ["identity", [">=", ["*", 2, ["^", "x", 2]], 0], [[2, [0], []]]]], REAL, []),
    ("the largest part", ["<=", "y", 5], [["hypothesis", 0], ["hypothesis", 1]], REAL,
     [["<=", "x", "y"], ["<=", ["max", "x", "y"], 5]]),
    ("a square", [">=", ["*", 2, ["dot", "v", "v"]], 0], [["known", ["<=", 0, ["dot", "v", "v"]]],
     ["identity", [">=", ["*", 2, ["dot", "v", "v"]], 0], [[2, [0], []]]]], {"v": "vector"}, []),
    ("what all cases show", ["<=", ["*", 2, "x"], ["*", 2, ["abs", "x"]]], [
     ["cases", ["<=", "x", ["abs", "x"]], "x", [[], []]], ["known", ["<=", "x", ["abs", "x"]]],
     ["identity", ["<=", ["*", 2, "x"], ["*", 2, ["abs", "x"]]], [[2, [0], []]]]], REAL, []),
    ("the start, in a step", FROM_FIVE, [["hypothesis", 0], ["induction", FROM_FIVE, "n", 5,
     [["boxes", [">=", ["^", 5, 2], 25]]], [["hypothesis", 1],
      ["identity", [">=", ["^", ["+", "n", 1], 2], 25], [[1, [1], []], [2, [0], []], [11, [], []]]]]]], WHOLE,
     [[">=", "n", 5]]),
    ("more than 64 bits", BELOW_PI, [["boxes", BELOW_PI]], REAL, []),
    ("a base that is negative", ["==", ["/", "x", "x"], 1], [["hypothesis", 0], *one(["==", ["/", "x", "x"], 1])], REAL,
     [["<", "x", 0]]),
    ("a product of unknown factors", ["==", ["^", ["sqrt", ["*", "x", "y"]], 2], ["*", "x", "y"]], [["hypothesis", 0],
     ["hypothesis", 1], *one(["==", ["^", ["sqrt", ["*", "x", "y"]], 2], ["*", "x", "y"]])], REAL,
     [[">=", "x", 0], [">=", ["*", "x", "y"], 0]]),
    ("the range of an index", ["==", ["sum", ["/", ["*", 2, "x"], "i"], "i", 1, "n"], ["*", 2, "x", HARMONIC]],
     one(["==", ["sum", ["/", ["*", 2, "x"], "i"], "i", 1, "n"], ["*", 2, "x", HARMONIC]]), {**REAL, **WHOLE}, []),
    ("another letter, in an induction", ["<=", "x", "n"], [["hypothesis", 0], ["hypothesis", 1],
     ["induction", ["<=", "x", "n"], "n", 1, [["identity", ["<=", "x", 1], [[1, [0], []]]]],
      [["identity", ["<=", "x", ["+", "n", 1]], [[1, [0], []], [1, [1], []], [1, [], []]]]]]], {**REAL, **WHOLE},
     [["<=", "x", 1], [">=", "n", 1]]),
    ("roots of numbers and of sums, multiplied", ROOTS, [["hypothesis", 0], *one(ROOTS)], REAL, [[">", "x", 0]]),
]  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize(("what", "claim", "proof", "letters", "hypotheses"), USED, ids=[u[0] for u in USED])
def test_what_a_line_shows_is_a_fact(what: str, claim: Any, proof: Any, letters: Any, hypotheses: Any) -> None:
    assert says(claim, proof, letters, hypotheses) == "accepted"


@pytest.mark.fast
def test_the_reason_names_what_is_wrong_with_a_line() -> None:
    both = [["and", [">=", "x", 0], ["<=", "x", 1]]]
    goal = [">=", "x", 0]
    for line, hypotheses, reason in (
        (["identity", ["+", "x", 1], []], (), "is no relation"),
        (["known", ["+", "x", 1]], (), "this is not known"),
        (["trust", 0], (), "a line begins with a rule"),
        (["identity", goal, [[1, [1], []]]], POSITIVE, "there is no fact 1"),
        (["identity", ["<=", ["log", "x"], "x"], []], (), "not known to be defined: 1*x**(1) > 0 is missing"),
        (["cases", goal, 0, [[], []]], both, "no alternatives"),
    ):
        assert reason in says(
            goal, [["hypothesis", 0], line] if hypotheses == POSITIVE else [line], hypotheses=hypotheses
        )


def refutes(claim: Any, point: Any, letters: Any = X, hypotheses: Any = ()) -> str:
    statement = {"letters": letters, "hypotheses": list(hypotheses), "claim": claim}
    found = check(json.dumps({"statement": statement, "counterexample": point}))
    return found.shows or found.reason


@pytest.mark.fast
def test_a_counterexample_meets_the_hypotheses_and_breaks_the_claim() -> None:
    one_of = ["or", [">=", "x", 5], ["and", [">=", "x", 1], ["<=", "x", 2]]]
    assert refutes(["<=", "x", 1], {"x": "3/2"}, hypotheses=[one_of]) == "refuted"
    assert "not shown to hold" in refutes(["<=", "x", 1], {"x": 3}, hypotheses=[one_of])
    assert refutes(["<=", ["^", "x", 2], "x"], {"x": 2}) == "refuted"
    assert "not shown to fail" in refutes(["<=", ["^", "x", 2], "x"], {"x": "1/2"})
    assert refutes(["==", ["sqrt", "x"], 2], {"x": 2}) == "refuted"
    for point in ({"x": ["<=", 0, 1]}, {"x": "y"}, {}, {"x": 2, "y": 1}, {"x": "0.5"}):
        assert refutes(["<=", "x", 1], point) != "refuted"
    assert "must be an integer" in refutes(["<=", "n", 1], {"n": "3/2"}, WHOLE)


@pytest.mark.fast
def test_what_is_proved_is_said_so_and_what_is_no_claim_is_refused() -> None:
    def checked(claim: Any) -> Any:
        return check(json.dumps({"statement": {"letters": X, "hypotheses": [], "claim": claim}, "proof": []}))

    assert checked(["<=", "x", ["+", "x", 1]]).shows == "proved"
    assert checked(["and", ["<=", 0, 1], ["<=", 0, 2]]).reason == "a claim is a relation"
    assert "no number stands" in says(["<=", 0, 1], [["identity", ["<=", "v", 0], []]], {"v": "vector"})
    assert "Invalid literal" in says(["<=", 0, 1], [["boxes", ["<=", 0, 1], {"x": ["x", 0, "x"]}, None]])


@pytest.mark.fast
def test_a_letter_is_replaced_inside_of_a_sum() -> None:
    total = ["sum", ["*", "i", "y"], "i", 1, 2]
    claim = ["==", total, ["*", 6, "x"]]
    lines = [["last-term", ["sum", "i", "i", 1, 2]], ["last-term", ["sum", "i", "i", 1, 1]],
             ["last-term", ["sum", "i", "i", 1, 0]],
             ["identity", ["==", ["sum", ["*", "i", ["*", 2, "x"]], "i", 1, 2], ["*", 6, "x"]],
              [[["*", -2, "x"], [0], []], [["*", -2, "x"], [1], []], [["*", -2, "x"], [2], []]]]]  # fmt: skip
    assert says(claim, lines, REAL, [["==", "y", ["*", 2, "x"]]], let=[0]) == "accepted"


@pytest.mark.fast
def test_proofs_and_boxes_are_nested_until_the_stack_ends() -> None:
    goal = [">=", "x", 0]
    only = [["or", goal], [">=", "n", 0]]

    def nested(depth: int) -> Any:
        return [["cases", goal, 0, [nested(depth - 1)]]] if depth else []

    def splits(count: int) -> Any:
        return ["x", 0, None, splits(count - 1)] if count else None

    def boxes(count: int) -> Any:
        return [*given(*INSIDE), ["boxes", ["<=", "x", 2], {"x": ["x", 0, 1]}, splits(count)]]

    letters = {"x": "real", "n": "integer"}
    assert says(goal, nested(20), letters, only) == says(["<=", "x", 2], boxes(60), X, INSIDE) == "accepted"
    for deep in ([["cases", goal, 0, "@"]], [*given(*INSIDE), ["boxes", goal, {"x": ["x", 0, 1]}, "@"]]):
        text = json.dumps({"statement": {"letters": letters, "hypotheses": only, "claim": goal}, "proof": deep})
        for opened, closed in (('[[["cases", [">=", "x", 0], 0, ', "]]]"), ('["x", 0, null, ', "]")):
            inside = f"{opened * 5_000}null{closed * 5_000}"
            assert not check(text.replace('"@"', inside)).accepted


@pytest.mark.fast
def test_facts_of_one_case_do_not_leave_it() -> None:
    goal = [">=", ["^", "x", 2], 0]
    square = [["identity", goal, [[1, [], ["x"]]]]]
    assert says([">=", "x", 0], [["cases", goal, "x", [square, square]]]) != "accepted"
    assert says(goal, [["cases", goal, "x", [square, square]]]) == "accepted"


@pytest.mark.fast
def test_induction_forgets_what_is_known_of_the_letter() -> None:
    claim, hypotheses = ["<=", "n", 7], [["<=", "n", 7], [">=", "n", 0]]
    step = [["identity", ["<=", ["+", "n", 1], 7], [[1, [0], []]]]]
    lines = [["hypothesis", 0], ["hypothesis", 1]]
    induction = ["induction", ["<=", "n", 8], "n", 0, [["boxes", ["<=", 0, 8]]], step]
    assert says(["<=", "n", 8], [*lines, induction], {"n": "integer"}, hypotheses) != "accepted"
    assert says(claim, lines[:1], {"n": "integer"}, hypotheses) == "accepted"


@pytest.mark.fast
def test_induction_cannot_use_a_hypothesis_about_its_letter() -> None:
    hypotheses = [["<=", "n", 7], [">=", "n", 0]]
    step = [["hypothesis", 0], ["identity", ["<=", ["+", "n", 1], 8], [[1, [2], []]]]]
    induction = ["induction", ["<=", "n", 8], "n", 0, [["boxes", ["<=", 0, 8]]], step]
    reason = says(["<=", "n", 8], [["hypothesis", 1], induction], {"n": "integer"}, hypotheses)
    assert "is no expression" in reason


@pytest.mark.fast
def test_a_letter_must_be_declared() -> None:
    total = ["sum", "i", "i", 1, 3]
    lines = [["hypothesis", 0]]
    assert says(["<=", total, 0], lines, hypotheses=[["<=", "i", 0]]) == "the letter i was not declared"


@pytest.mark.fast
def test_let_takes_only_what_a_hypothesis_determines() -> None:
    sorts = {"x": "real", "y": "real"}
    lines = [["identity", ["<=", "y", 4], []]]
    for hypothesis in (["<=", "x", "y"], ["==", "x", ["+", "x", 1]], ["==", ["*", 2, "x"], 3]):
        assert says(["<=", "x", 4], lines, sorts, [hypothesis], let=[0]) != "accepted"


@pytest.mark.fast
def test_a_sum_does_not_capture_its_index() -> None:
    total = ["sum", ["*", "i", "x"], "i", 1, 2]
    goal = ["==", total, ["*", 3, "i"]]
    assert says(goal, [["hypothesis", 0]], {"x": "real", "i": "real"}, [["==", "x", "i"]], let=[0]) != "accepted"


def given(*hypotheses: Any) -> list[Any]:
    return [["hypothesis", place] for place in range(len(hypotheses))]


XY = {"x": "real", "y": "real"}
XN = {"x": "real", "n": "integer"}
UV = {"u": "vector", "v": "vector", "x": "real"}
TWO = [[">=", "x", 0], [">=", "y", "x"]]
ROOT = ["^", "x", "1/2"]
INSIDE = [[">=", "x", 0], ["<=", "x", 1]]
SUM = ["sum", "i", "i", 1, "n"]
GAUSS = ["==", ["*", 2, SUM], ["*", "n", ["+", "n", 1]]]
STEP = [
    ["last-term", ["sum", "i", "i", 1, ["+", "n", 1]]],
    ["hypothesis", 1],
    [
        "identity",
        ["==", ["*", 2, ["sum", "i", "i", 1, ["+", "n", 1]]], ["*", ["+", "n", 1], ["+", "n", 2]]],
        [[-2, [1], []], [1, [2], []]],
    ],
]
BASE = [
    ["last-term", ["sum", "i", "i", 1, 1]],
    ["last-term", ["sum", "i", "i", 1, 0]],
    ["identity", ["==", ["*", 2, ["sum", "i", "i", 1, 1]], 2], [[-2, [0], []], [-2, [1], []]]],
]
CHEBYSHEV = ["<=", ["*", 2, "x", "y"], ["+", ["^", "x", 2], ["^", "y", 2]]]
NORM = ["<=", ["norm", ["+", "u", "v"]], ["+", ["norm", "u"], ["norm", "v"]]]
PARALLEL = [
    "==",
    ["+", ["^", ["norm", ["+", "u", "v"]], 2], ["^", ["norm", ["+", "u", ["neg", "v"]]], 2]],
    ["+", ["*", 2, ["dot", "u", "u"]], ["*", 2, ["dot", "v", "v"]]],
]
OVER = ["<=", ["/", 1, ["max", "x", "y"]], ["/", 1, "x"]]
RIGHT: dict[str, dict[str, Any]] = {
    "hypothesis": {"claim": ["<=", 0, "x"], "proof": [["hypothesis", 0]], "hypotheses": [[">=", "x", 0]]},
    "identity": {"claim": CHEBYSHEV, "proof": one(CHEBYSHEV, [1, [], [["+", "x", ["neg", "y"]]]]), "letters": XY},
    "identity with a multiplier": {"claim": ["<=", 1, ["/", ["+", 1, "x"], "x"]], "hypotheses": POSITIVE,
        "proof": [["hypothesis", 0], ["identity", ["<=", 1, ["/", ["+", 1, "x"], "x"]], [[1, [], []]], "x"]]},
    "identity with an equality": {"claim": ["==", ["*", 2, "x"], 6], "hypotheses": [["==", "x", 3]],
        "proof": one(["==", ["*", 2, "x"], 6], [2, [0], []], before=[["hypothesis", 0]])},
    "identity of strict facts": {"claim": [">", ["*", "x", "y"], 0], "letters": XY, "hypotheses": [[">", "x", 0], [">", "y", 0]],
        "proof": one([">", ["*", "x", "y"], 0], [1, [0, 1], []], before=[["hypothesis", 0], ["hypothesis", 1]])},
    "known": {"claim": ["<", 0, ["+", 1, ["^", "x", 2]]], "proof": [["known", ["<", 0, ["+", 1, ["^", "x", 2]]]]]},
    "root": {"claim": ["<=", "x", "y"], "letters": XY, "hypotheses": [[">=", "x", 0], [">=", "y", 0], ["<=", ["^", "x", 2], ["^", "y", 2]]],
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["hypothesis", 2], ["raise", ["<=", ["^", "x", 2], ["^", "y", 2]], "1/2"]]},
    "raise": {"claim": ["<=", ["^", "x", "3/2"], ["^", "y", "3/2"]], "letters": XY, "hypotheses": TWO,
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["identity", [">=", "y", 0], [[1, [0], []], [1, [1], []]]], ["raise", ["<=", "x", "y"], "3/2"]]},
    "raise turned round": {"claim": ["<=", ["^", "y", -1], ["^", "x", -1]], "letters": XY, "hypotheses": [[">", "x", 0], [">=", "y", "x"]],
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["identity", [">", "y", 0], [[1, [0], []], [1, [1], []]]], ["raise", ["<=", "x", "y"], -1]]},
    "raise to a letter": {"claim": ["<=", 1, ["^", 2, "x"]], "hypotheses": [[">=", "x", 0]],
        "proof": [["hypothesis", 0], ["raise", ["<=", 1, 2], "x"]]},
    "raise to a negative letter": {"claim": ["<=", ["^", 2, "x"], 1], "hypotheses": [["<=", "x", 0]],
        "proof": [["hypothesis", 0], ["raise", ["<=", 1, 2], "x"]]},
    "raise strictly": {"claim": ["<", 1, ["^", 2, "x"]], "hypotheses": [["<", 0, "x"]],
        "proof": [["hypothesis", 0], ["raise", ["<", 1, 2], "x"]]},
    "tangent of the logarithm": {"claim": ["<=", ["log", "x"], ["+", "x", -1]], "hypotheses": POSITIVE, "proof": [["hypothesis", 0]]},
    "sine and cosine": {"claim": ["<=", ["*", ["sin", "x"], ["cos", ["*", 2, "x"]]], 1], "proof": [
        ["boxes", ["<=", ["*", "s", "c"], 1], {"s": [["sin", "x"], -1, 1], "c": [["cos", ["*", 2, "x"]], -1, 1]}]]},
    "number": {"claim": ["<", ["sqrt", 2], "3/2"], "proof": [["boxes", ["<", ["sqrt", 2], "3/2"]]]},
    "boxes": {"claim": ["<=", ["*", "x", ["+", 1, ["neg", "x"]]], "3/8"], "hypotheses": INSIDE,
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["boxes", ["<=", ["*", "x", ["+", 1, ["neg", "x"]]], "3/8"], {"x": ["x", 0, 1]},
                   ["x", "1/2", ["x", "1/4", None, None], ["x", "3/4", None, None]]]]},
    "floor": {"claim": ["<=", ["floor", "x"], "x"], "proof": []},
    "floor above": {"claim": ["<", "x", ["+", 1, ["floor", "x"]]], "proof": []},
    "whole": {"claim": [">=", "n", 1], "letters": XN, "hypotheses": [[">", "n", 0]], "proof": [["hypothesis", 0], ["whole", ["<", 0, "n"]]]},
    "max": {"claim": ["<=", "x", ["max", "x", "y"]], "letters": XY, "proof": []},
    "max of the largest": {"claim": ["==", ["max", "x", "y", "z"], "y"], "letters": {**XY, "z": "real"},
        "hypotheses": [[">=", "y", "x"], [">=", "y", "z"]],
        "proof": [["hypothesis", 0], ["hypothesis", 1]]},
    "square": {"claim": [">=", ["dot", ["+", "u", "v"], ["+", "u", "v"]], 0], "letters": UV, "proof": []},
    "parallelogram": {"claim": PARALLEL, "letters": UV, "proof": one(PARALLEL)},
    "cases": {"claim": ["<=", ["abs", "x"], 1], "hypotheses": [["<=", -1, "x"], ["<=", "x", 1]],
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["cases", ["<=", ["abs", "x"], 1], "x", [[], []]]]},
    "cases that define": {"claim": OVER, "letters": XY, "hypotheses": [[">", "x", 0], [">", "y", 0]],
        "proof": [["hypothesis", 0], ["hypothesis", 1], ["cases", OVER, ["+", "x", ["neg", "y"]], [[], [["raise", ["<=", "x", "y"], -1]]]]]},
    "alternatives": {"claim": [">=", ["^", "x", 2], 1], "hypotheses": [["or", [">=", "x", 1], ["<=", "x", -1]]], "proof": [
        ["cases", [">=", ["^", "x", 2], 1], 0, [one([">=", ["^", "x", 2], 1], [2, [0], []], [1, [0, 0], []]),
                                                one([">=", ["^", "x", 2], 1], [2, [0], []], [1, [0, 0], []])]]]},
    "one-of with and": {"claim": [">=", ["*", "x", "y"], 0], "letters": XY,
        "hypotheses": [["or", ["and", [">=", "x", 0], [">=", "y", 0]], ["and", ["<=", "x", 0], ["<=", "y", 0]]]], "proof": [
        ["cases", [">=", ["*", "x", "y"], 0], 0, [one([">=", ["*", "x", "y"], 0], [1, [0, 1], []])] * 2]]},
    "induction": {"claim": GAUSS, "letters": {"n": "integer"}, "hypotheses": [[">=", "n", 0]],
        "proof": [["hypothesis", 0], ["induction", GAUSS, "n", 0,
            [["last-term", ["sum", "i", "i", 1, 0]], ["identity", ["==", ["*", 2, ["sum", "i", "i", 1, 0]], 0], [[-2, [0], []]]]], STEP]]},
    "last-term of an empty sum": {"claim": ["==", ["sum", "i", "i", 3, 1], 0], "proof": [["last-term", ["sum", "i", "i", 3, 1]]]},
    "a sum that is linear": {"claim": ["==", ["sum", ["*", "x", "i"], "i", 1, "n"], ["*", "x", SUM]], "letters": XN,
        "proof": one(["==", ["sum", ["*", "x", "i"], "i", 1, "n"], ["*", "x", SUM]])},
    "a sum of ones": {"claim": ["==", ["sum", 1, "i", 1, "n"], "n"], "letters": XN, "hypotheses": [[">=", "n", 0]],
        "proof": [["hypothesis", 0], *one(["==", ["sum", 1, "i", 1, "n"], "n"])]},
    "a geometric term": {"claim": ["==", ["sum", ["^", "x", ["+", "n", ["neg", "i"]]], "i", 1, "n"],
                                   ["*", ["^", "x", "n"], ["sum", ["^", "x", ["neg", "i"]], "i", 1, "n"]]], "letters": XN,
        "hypotheses": POSITIVE, "proof": [["hypothesis", 0], *one(
            ["==", ["sum", ["^", "x", ["+", "n", ["neg", "i"]]], "i", 1, "n"], ["*", ["^", "x", "n"], ["sum", ["^", "x", ["neg", "i"]], "i", 1, "n"]]])]},
    "let": {"claim": ["<=", "y", 9], "letters": XY, "hypotheses": [["==", "y", ["+", "x", 1]], ["<=", "x", 8]],
        "proof": [["hypothesis", 1]], "let": [0]},
    "what contradicts": {"claim": ["<=", "x", 0], "hypotheses": [["<=", 1, 0]], "proof": [["hypothesis", 0]]},
    "logarithm of a product": {"claim": ["==", ["log", ["*", 8, "x"]], ["+", ["*", 3, ["log", 2]], ["log", "x"]]], "hypotheses": POSITIVE,
        "proof": [["hypothesis", 0], *one(["==", ["log", ["*", 8, "x"]], ["+", ["*", 3, ["log", 2]], ["log", "x"]]])]},
    "0 to the power 0": {"claim": ["==", ["^", 0, 0], 1], "proof": []},
    "no case is left": {"claim": ["<", 0, ["+", ["^", ["max", "x", 0], 2], 1]], "proof": [["known", ["<", 0, ["+", ["^", ["max", "x", 0], 2], 1]]]]},
}  # fmt: skip


def verdict(case: dict[str, Any]) -> str:
    parts = {"letters": X, "hypotheses": [], **case}
    return says(parts.pop("claim"), parts.pop("proof"), parts.pop("letters"), parts.pop("hypotheses"), **parts)


@pytest.mark.fast
@pytest.mark.parametrize("case", RIGHT)
def test_what_a_rule_shows_is_accepted(case: str) -> None:
    assert verdict(RIGHT[case]) == "accepted"


def changed(case: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The case without one line, without one hypothesis, and with the claim turned round or made too strong."""
    for place in range(len(case["proof"])):
        yield f"line {place}", {**case, "proof": case["proof"][:place] + case["proof"][place + 1 :]}
    for place, _ in enumerate(case.get("hypotheses", ())):
        weak = [["<=", 0, 1] if i == place else one for i, one in enumerate(case["hypotheses"])]
        yield f"hypothesis {place}", {**case, "hypotheses": weak}
    op, left, right = case["claim"]
    for other in {"<=": [">"], "<": [">="], ">=": ["<"], ">": ["<="], "==": ["<", ">"]}[op]:
        yield f"claim {other}", {**case, "claim": [other, left, right]}
    for less in (-1, -1000):
        stronger = [op, left, ["+", right, less if op in ("<=", "<", "==") else -less]]
        text = json.dumps(case["proof"]).replace(json.dumps(case["claim"]), json.dumps(stronger))
        yield f"claim {less}", {**case, "claim": stronger, "proof": json.loads(text)}


PLAIN = {  # cases that need no last line: what it says is known at once
    "identity with a multiplier", "identity with an equality", "identity of strict facts", "known", "raise turned round",
    "square", "parallelogram", "a sum that is linear", "a sum of ones", "a geometric term",
    "logarithm of a product", "no case is left",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize("case", RIGHT)
def test_with_a_line_or_a_hypothesis_less_or_another_claim_it_is_refused(case: str) -> None:
    for what, other in changed(RIGHT[case]):
        last = what == f"line {len(RIGHT[case]['proof']) - 1}" and case in PLAIN
        contradicted = case == "what contradicts" and what.startswith("claim")
        expected = last or contradicted
        assert (verdict(other) == "accepted") == expected, what


def code_lines(path: Path) -> int:
    """Lines with a token that is no comment and no docstring."""
    text = path.read_text(encoding="utf-8")
    lone = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    told = {line for node in lone for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in blank]
    return len({line for one in tokens for line in range(one.start[0], one.end[0] + 1)} - told)


@pytest.mark.fast
def test_the_checker_has_800_lines_of_code() -> None:
    files = list(Path(bilevel_check.__file__).parent.glob("*.py"))
    assert len(files) >= 6
    assert 500 <= sum(map(code_lines, files)) <= 800


def test_the_checker_needs_the_standard_library_alone() -> None:
    code = (
        "import sys, bilevel_check; import bilevel_check.__main__; "
        "print(sorted(n for n in sys.modules if n.split('.')[0] not in sys.stdlib_module_names "
        "and not n.startswith(('bilevel_check', '__'))))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:  # an installed tree is found by site only
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bilevel_verify" not in done.stdout


def test_the_command_says_which_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bilevel_check", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1  # nothing was checked
    good = {"statement": {"letters": {}, "hypotheses": [], "claim": ["<=", 1, 2]}, "proof": []}
    (tmp_path / "good.json").write_text(json.dumps(good))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    (tmp_path / "bad.json").write_text(json.dumps({**good, "proof": [["boxes", ["<=", 2, 1]]]}))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bad.json: refused: line 1" in done.stdout
    assert subprocess.run([*command[:-1], str(tmp_path / "none")], capture_output=True, check=False).returncode == 2
