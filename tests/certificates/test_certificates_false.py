"""Nothing false is accepted: falsified statements and proofs, side conditions one by one, hostile certificates."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from certificate_pieces import damaged, mutants, violated
from seeds import SEED

from bilevel_check import check
from bilevel_verify.certificates.finding import Certificate

X = {"x": "real"}
POSITIVE = [[">", "x", 0]]


@pytest.fixture(scope="module")
def proofs(certificates: list[Certificate | None]) -> list[dict[str, Any]]:
    return [json.loads(one.text) for one in certificates if one is not None]


@pytest.mark.seeded
def test_no_false_statement_is_accepted(proofs: list[dict[str, Any]]) -> None:
    draw, false = random.Random(SEED), 0
    for data in proofs:
        for mutant in mutants(data, draw, 6):
            accepted = check(json.dumps(mutant)).accepted
            point = violated(mutant["statement"], draw, 200 if accepted else 30)
            false += point is not None
            assert not (accepted and point), (mutant["statement"], point)
    assert false >= 20


@pytest.mark.seeded
def test_no_damaged_identity_is_accepted(proofs: list[dict[str, Any]]) -> None:
    draw, number = random.Random(SEED), 0
    for data in proofs:
        for mutant in damaged(data, draw, 6):
            number += 1
            assert not check(json.dumps(mutant)).accepted, mutant["proof"]
    assert number >= 40


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
        [["identity", ["<=", ["^", "x", 2], 1], []], ["root", ["<=", "x", 1], 2]],
        (),
    ),
    (
        "a power of negative numbers",
        ["<=", ["^", -2, 2], ["^", 1, 2]],
        [["number", ["<=", -2, 1]], ["raise", ["<=", -2, 1], 2]],
        (),
    ),
    (
        "a power turned round",
        ["<=", 2, ["^", 1, -1]],
        [["number", ["<=", 1, 2]], ["raise", ["<=", 1, 2], -1], ["known", ["<=", 2, 1]]],
        (),
    ),
    (
        "exponents of a base below 1",
        ["<=", "1/2", "1/4"],
        [["exponent", "1/2", ["<=", 1, 2]], ["known", ["<=", "1/2", "1/4"]]],
        (),
    ),
    ("the logarithm of what may be negative", ["<=", ["log", "x"], ["+", "x", -1]], [["log", "x"]], ()),
    ("numbers the wrong way", ["<=", ["sqrt", 2], "7/5"], [["number", ["<=", ["sqrt", 2], "7/5"]]], ()),
    ("numbers with a letter", ["<=", "x", 1], [["number", ["<=", "x", 1]]], ()),
    ("reals are not integers", [">=", "x", 1], [["hypothesis", 0], ["whole", ["<", 0, "x"]]], POSITIVE),
    (
        "a maximum that is not the first",
        ["<=", ["max", "x", 1], "x"],
        [["max", ["x", 1], 0], ["known", ["<=", ["max", "x", 1], "x"]]],
        (),
    ),
    ("one case only", [">=", "x", 0], [["cases", [">=", "x", 0], "x", [], []]], ()),
    (
        "induction over a real",
        [">=", "x", 0],
        [["hypothesis", 0], ["induction", [">=", "x", 0], "x", 1, [], []]],
        [[">=", "x", 1]],
    ),
    ("a box that is not given", ["<=", "x", 1], [["boxes", ["<=", "x", 1], {"x": [0, 1]}, None]], ()),
    (
        "a leaf that shows nothing",
        ["<=", "x", "1/2"],
        [["hypothesis", 0], ["hypothesis", 1], ["boxes", ["<=", "x", "1/2"], {"x": [0, 1]}, None]],
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


@pytest.mark.fast
def test_facts_of_one_case_do_not_leave_it() -> None:
    goal = [">=", ["^", "x", 2], 0]
    square = [["identity", goal, [[1, [], ["x"]]]]]
    assert says([">=", "x", 0], [["cases", goal, "x", square, square]]) != "accepted"
    assert says(goal, [["cases", goal, "x", square, square]]) == "accepted"


@pytest.mark.fast
def test_induction_forgets_what_is_known_of_the_letter() -> None:
    claim, hypotheses = ["<=", "n", 7], [["<=", "n", 7], [">=", "n", 0]]
    step = [["identity", ["<=", ["+", "n", 1], 7], [[1, [0], []]]]]
    lines = [["hypothesis", 0], ["hypothesis", 1]]
    induction = ["induction", ["<=", "n", 8], "n", 0, [["number", ["<=", 0, 8]]], step]
    assert says(["<=", "n", 8], [*lines, induction], {"n": "integer"}, hypotheses) != "accepted"
    assert says(claim, lines[:1], {"n": "integer"}, hypotheses) == "accepted"


@pytest.mark.fast
def test_induction_cannot_use_a_hypothesis_about_its_letter() -> None:
    hypotheses = [["<=", "n", 7], [">=", "n", 0]]
    step = [["hypothesis", 0], ["identity", ["<=", ["+", "n", 1], 8], [[1, [2], []]]]]
    induction = ["induction", ["<=", "n", 8], "n", 0, [["number", ["<=", 0, 8]]], step]
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


def raw(number: str) -> str:
    """A certificate with some text in the place of a number."""
    return f'{{"statement":{{"letters":{{}},"hypotheses":[],"claim":["<=",0,{number}]}},"proof":[]}}'


def tower(claim: Any, letters: Any = (), **more: Any) -> str:
    """A certificate that asks for a number or an element that is too large."""
    statement = {"letters": dict.fromkeys(letters, "real"), "hypotheses": [], "claim": ["<=", 0, claim]}
    return json.dumps({"statement": statement, **(more or {"proof": [["number", ["<=", 0, claim]]]})})


MANY = [f"x{i}" for i in range(90)]
HOSTILE = {
    "a million terms": raw('["+",' + ",".join(["1"] * 10**6) + "]"),
    "a million digits": raw("9" * 10**6),
    "digits in a text": raw('"' + "9" * 10**6 + '"'),
    "deep nesting": raw('["neg",' * 10**5 + "1" + "]" * 10**5),
    "deep lists": "[" * 10**6,
    "towers": tower(["^", 9, ["^", 9, ["^", 9, 9]]]),
    "a large power": tower(["^", ["^", ["+", "x", "y", 1], 60], 60], "xy", proof=[]),
    "many letters to a power": tower(["^", ["+", *MANY], 40], MANY, proof=[]),
    "exp of exp": tower(["exp", ["exp", ["exp", 9]]]),
    "a long sum": tower(["neg", ["sum", "i", "i", 1, 10**9]], counterexample={}),
    "floats": raw("0.5"),
    "not a number": raw("NaN"),
    "a key twice": raw("1").replace('"proof":[]', '"proof":[],"proof":[]'),
    "true": raw("true"),
    "null": "null",
    "empty": "",
    "code": '__import__("os").system("false")',
}


@pytest.mark.fast
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_certificate_is_refused(text: str) -> None:
    assert not check(text).accepted


def test_hostile_certificates_cost_little(tmp_path: Path) -> None:
    """All of them in a process of 200 MB, the standard library alone."""
    for number, text in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.json").write_text(text)
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (200 * 2**20,) * 2); "
        f"sys.argv = ['bilevel_check', {str(tmp_path)!r}]; runpy.run_module('bilevel_check', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert f"refused {len(HOSTILE)}" in done.stdout


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
    (tmp_path / "bad.json").write_text(json.dumps({**good, "proof": [["number", ["<=", 2, 1]]]}))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bad.json: refused: line 1" in done.stdout
    assert subprocess.run([*command[:-1], str(tmp_path / "none")], capture_output=True, check=False).returncode == 2
