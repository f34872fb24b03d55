"""Certificates that were made to hurt: each is refused within a second of processor time, all of them in 200 MB."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bilevel_check import check

X = {"x": "real"}
SECONDS = 1.0
ROUNDS = 6
"""A machine that does something else in one of them is no slow checker."""


class Text:
    """JSON that is written where it is asked for: all of it, by every worker that reads this file, is half a second."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __str__(self) -> str:
        return json.dumps(self.data)

    def replace(self, old: str, new: str) -> str:
        return str(self).replace(old, new)


def text(claim: Any = ("<=", 0, 1), letters: Any = X, hypotheses: Any = (), **more: Any) -> Text:
    return Text({"statement": {"letters": letters, "hypotheses": hypotheses, "claim": claim}, **(more or PROOF)})


def lines(*proof: Any, **more: Any) -> Text:
    """A claim that is false, with a proof."""
    return text(("<=", 1, 0), proof=list(proof), **more)


def raw(place: str) -> str:
    """JSON text in the place of a number."""
    return text(("<=", 0, "@")).replace('"@"', place)


def nested(head: str, depth: int, inside: Any = "x", *more: Any) -> Any:
    for _ in range(depth):
        inside = [head, inside, *more]
    return inside


def fraction(depth: int) -> Any:
    """1/(1 + 1/(1 + ...)): compounds in compounds."""
    inside: Any = "x"
    for _ in range(depth):
        inside = ["/", 1, ["+", 1, inside]]
    return inside


def splits(depth: int) -> Any:
    inside: Any = None
    for _ in range(depth):
        inside = ["x", "1/2", inside, None]
    return inside


GOAL = ["<=", 1, 0]


def cases(depth: int, inside: Any) -> Any:
    """A proof in cases of cases of cases."""
    for _ in range(depth):
        inside = [["cases", GOAL, "x", [inside, []]]]
    return inside


PROOF = {"proof": [["known", ["<=", 0, 1]]]}
POSITIVE = [[">", "x", 0]]
MANY = [f"x{i}" for i in range(90)]
REAL = dict.fromkeys(MANY, "real")
LONG = int("9" * 399)
SUM = ["+", *MANY]
INSIDE = [["hypothesis", 0], ["hypothesis", 1]]
BOX = {"hypotheses": [[">=", "x", 0], ["<=", "x", 1]]}
TRIPLE = ["sum", ["sum", ["sum", ["*", "i", "j", "k"], "i", 1, 900], "j", 1, 900], "k", 1, 900]
HOSTILE: dict[str, str | Text] = {
    # sizes
    "a million terms": raw('["+",' + ",".join(["1"] * 900_000) + "]"),
    "half a million terms": raw('["+",' + ",".join(["1"] * 450_000) + "]"),
    "nine million characters": " " * 9_000_000,
    "a million digits": raw("9" * 1_000_000),
    "a negative number of a million digits": raw("-" + "9" * 1_000_000),
    "a million digits in a text": raw('"' + "9" * 1_000_000 + '"'),
    "a denominator of a million digits": raw('"1/' + "9" * 1_000_000 + '"'),
    "a name of a million letters": raw('"' + "a" * 1_000_000 + '"'),
    "a hundred thousand letters": text(letters={f"x{i}": "real" for i in range(100_000)}, proof=[["known", GOAL]]),
    "a hundred thousand hypotheses": text(hypotheses=[["<=", 0, 1]] * 100_000, proof=[["known", GOAL]]),
    "a hundred thousand lines": text(proof=[["known", ["<=", 0, 1]]] * 100_000),
    "a hundred thousand parts": lines(["identity", GOAL, [[1, [], []]] * 100_000]),
    "a hundred thousand squares": lines(["identity", GOAL, [[1, [], ["x"] * 100_000]]]),
    "a maximum of many parts": text(("<=", ["max", *(["*", i, "x"] for i in range(3_000))], 0), proof=[]),
    # nesting
    "deep lists": "[" * 1_000_000,
    "deep objects": '{"about":' * 200_000,
    "deep brackets that close": '{"about":' + "[" * 100_000 + "]" * 100_000 + "}",
    "deep trees": text(("<=", 0, nested("neg", 900))),
    "trees of the depth that is read": text(("<=", nested("^", 58, "x", 60), 0), proof=[]),
    "compounds in compounds": text(("<=", fraction(28), 0), hypotheses=POSITIVE, proof=[["hypothesis", 0]]),
    "cases in cases": lines(nested("cases", 300, ["known", ["<=", 0, 1]])),
    "splits below splits": lines(*INSIDE, ["boxes", ["<=", "x", 0], {"x": ["x", 0, 1]}, splits(400)], **BOX),
    "many leaves below the depth that is read": text(("<=", 0, nested("neg", 57, ["+", *[1] * 300_000])), proof=[]),
    "cases around a long line": lines(*cases(250, [["known", [*GOAL, *[1] * 300_000]]])),
    "cases around a rule that is long": lines(*cases(250, [[["known"] * 90_000, GOAL]])),
    "facts in every case": lines(*cases(120, [["hypothesis", 0]] * 2_000), **BOX),
    "many long primes": text(("<=", ["*", *(["sqrt", 10**150 + 2 * i + 1] for i in range(1_200))], 0), proof=[]),
    "absolute values in absolute values": text(("<=", nested("abs", 55), 0), proof=[]),
    "many leaves": lines(*INSIDE, ["boxes", ["<=", ["sin", "x"], 0], {"x": ["x", 0, 1]}, splits(58)], **BOX),
    # numbers that grow
    "towers": text(("<=", 0, nested("^", 5, 9, 9)), proof=[["boxes", ["<=", 0, ["^", 9, ["^", 9, ["^", 9, 9]]]]]]),
    "a long number to a power": text(("<=", ["^", LONG, 10_000], 0), proof=[]),
    "a long number to powers": text(("<=", nested("^", 3, LONG, 300), 0), proof=[]),
    "a long prime to a power": text(("<=", ["^", LONG, "10000/3"], 0), proof=[]),
    "denominators without a common factor": text(
        ("<=", ["+", *(f"1/{10**399 + i}" for i in range(2_000))], 0), proof=[]
    ),
    "products of long numbers": text(("<=", ["*", *([LONG - i] for i in range(0)), *[LONG] * 3_000], 0), proof=[]),
    "a large power of a sum": text(("<=", ["^", ["^", ["+", "x", 1], 60], 60], 0), proof=[]),
    "many letters to a power": text(("<=", ["^", SUM, 40], 0), REAL, proof=[]),
    "long coefficients to a power": text(("<=", ["^", ["+", ["*", LONG, "x"], f"1/{LONG}"], 50], 0), proof=[]),
    "squares of sums": text(
        ("<=", 0, 1), REAL, proof=[["identity", GOAL, [[1, [], [["*", SUM, SUM, SUM, SUM]]]]]]
    ),
    "exp of exp": text(("<=", 0, ["exp", ["exp", ["exp", 9]]]), proof=[["boxes", ["<=", 0, ["exp", ["exp", 99]]]]]),
    "the exponential of a long number": lines(["boxes", ["<=", ["exp", LONG], 0]]),
    "the sine of a long number": lines(["boxes", ["<=", ["sin", LONG], -2]]),
    "a long sum": text(("<=", 0, ["neg", ["sum", "i", "i", 1, 10**9]]), {}, counterexample={}),
    "sums in sums": text(("<=", TRIPLE, 0), {}, counterexample={}),
    "a sum up to a number of 399 digits": text(("<=", ["sum", "i", "i", 1, LONG], 0), {}, counterexample={}),
    "a product of roots": text(("<=", ["prod", ["sqrt", "i"], "i", 1, 10**6], 0), {}, counterexample={}),
    "many logarithms": lines(["boxes", ["<=", ["+", *(["log", i + 2] for i in range(3_000))], 0]]),
    # what is no number
    "floats": raw("0.5"), "an exponent": raw("1e5"), "NaN": raw("NaN"), "infinity": raw("-Infinity"),
    "an exponent in a text": raw('"1e999999999"'), "a float in a text": raw('"0.5"'), "nan in a text": raw('"nan/1"'),
    "an underscore": raw('"1_000"'), "a blank": raw('" 1"'), "a plus": raw('"+1"'), "hexadecimal": raw('"0x10"'),
    "a line end": raw('"1\\n"'), "a denominator 0": raw('"1/0"'), "a denominator 00": raw('"0/00"'),
    "a negative denominator": raw('"1/-2"'), "Arabic digits": raw('"١٢"'), "full-width digits": raw('"１２"'),
    "a superscript": raw('"²"'), "Greek letters": raw('"λ"'), "a surrogate": raw('"\\ud800"'),
    "a null character": raw('"x\\u0000"'), "true": raw("true"), "null": raw("null"), "an object": raw('{"x": 1}'),
    # types and keys
    "no statement": '{"proof": []}', "a list": "[]", "a number": "7", "a text": '"proof"', "empty": "",
    "code": '__import__("os").system("false")',
    "a key twice": text().replace('"proof":', '"proof": [], "proof":'),
    "a letter twice": text().replace('{"x": "real"}', '{"x": "real", "x": "integer"}'),
    "a key of another": text(proof=[], ref="#/statement"), "a reference": text({"$ref": "#/statement/claim"}),
    "a proof and a counterexample": text(proof=[], counterexample={"x": 1}),
    "letters in a list": text(letters=["x"]), "letters in a text": text(letters="x"), "a sort": text(letters={"x": 1}),
    "a sort in a list": text(letters={"x": ["real"]}), "pi as a letter": text(letters={"pi": "real"}),
    "an operator as a letter": text(letters={"max": "real"}), "a dunder": text(letters={"__class__": "real"}),
    "a bound name": text(letters={"0#": "integer"}), "an empty name": text(letters={"": "real"}),
    "hypotheses in an object": text(hypotheses={"0": 1}), "a hypothesis that is a number": text(hypotheses=["x"]),
    "a hypothesis that is empty": text(hypotheses=[[]]), "a claim that is a number": text("x"),
    "a claim with and": text(["and", ["<=", 0, 1]]), "a relation in a sum": text(["<=", 0, ["+", 1, ["<=", 0, 1]]]),
    "a vector as a number": text(["<=", "x", "x"], {"x": "vector"}),
    "a number as a vector": text(["<=", 0, ["norm", "x"]]), "vectors multiplied": text(["<=", 0, ["norm", ["*", "x", "x"]]],
                                                                                      {"x": "vector"}),
    "an operator that is a list": text(["<=", 0, [["+"], 1]]), "an operator that is none": text(["<=", 0, ["eval", 1]]),
    "parts that lack": text(["<=", 0, ["/", 1]]), "no parts": text(["<=", 0, ["+"]]),
    "an index that is a number": text(["<=", 0, ["sum", 1, "1", 1, 2]]),
    "a proof that is an object": text(proof={"0": ["known", GOAL]}), "a proof that is a text": text(GOAL, proof="known"),
    "a line that is a text": lines("known"), "a line that is empty": lines([]), "a rule that is a list": lines([["known"]]),
    "a rule with a name of Python": lines(["__init__", GOAL]), "an argument more": lines(["known", GOAL, 1, 2, 3]),
    "an argument less": lines(["identity"]), "a place that is a text": lines(["hypothesis", "0"], hypotheses=[GOAL] * 0),
    "a place beyond": lines(["hypothesis", 10**300]), "a fact before the first": lines(["identity", GOAL, [[1, [-1], []]]]),
    "a fact that is an object": lines(["identity", GOAL, [[1, [{}], []]]]), "parts as a number": lines(["identity", GOAL, 5]),
    "ranges that are a list": lines(["boxes", GOAL, [["x", 0, 1]], None]),
    "ranges of a letter that is none": lines(["boxes", GOAL, {"__dict__": ["__dict__", 0, 1]}, None]),
    "a split at a text": lines(*INSIDE, ["boxes", ["<=", "x", 0], {"x": ["x", 0, 1]}, ["x", "1e99999999", None, None]], **BOX),
    "a split that is an object": lines(*INSIDE, ["boxes", ["<=", "x", 0], {"x": ["x", 0, 1]}, {}], **BOX),
    "let that is no place": text(GOAL, proof=[], let=["x"]), "let twice": text(
        GOAL, hypotheses=[["==", "x", 1]], proof=[], let=[0, 0]),
    "let that is large": text(GOAL, proof=[], let=[10**9]), "let that is a number": text(GOAL, proof=[], let=3),
    "a counterexample that is a list": text(GOAL, counterexample=[1]),
    "a counterexample without a letter": text(["<=", 1, "x"], counterexample={}),
    "a counterexample with a letter": text(["<=", 1, "x"], counterexample={"x": "x"}),
    "a counterexample with a condition": text(["<=", 1, "x"], counterexample={"x": ["<=", 0, 1]}),
    "half an integer": text(["<=", 1, "x"], {"x": "integer"}, counterexample={"x": "1/2"}),
    "a root as an integer": text(["<=", 1, "x"], {"x": "integer"}, counterexample={"x": ["sqrt", "1/4"]}),
}  # fmt: skip


def slowness() -> float:
    """How many times as long as on a machine that is idle (0.03 s) additions of fractions take now."""
    before = time.process_time()
    total = Fraction(0)
    for n in range(20_000):
        total = Fraction(n, 7) + Fraction(1, 3)
    assert total > 0
    return (time.process_time() - before) / 0.03


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize("case", HOSTILE)
def test_it_is_refused_within_a_second(case: str) -> None:
    spent, hostile = [], str(HOSTILE[case])
    for _ in range(ROUNDS):
        before = time.process_time()
        verdict = check(hostile)
        spent.append(time.process_time() - before)
        assert not verdict.accepted
        assert verdict.reason.isprintable()
        assert len(verdict.reason) < 1_000
        if spent[-1] <= SECONDS or spent[-1] <= SECONDS * slowness():
            return
    pytest.fail(f"{', '.join(f'{one:.2f}' for one in spent)} s: {verdict.reason[:80]}")


def test_all_of_them_in_a_small_process(tmp_path: Path) -> None:
    """The command in 200 MB; a folder, a fifo-like name and bytes that are no text are refused as well."""
    for number, one in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.json").write_text(str(one), encoding="utf-8")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (200 * 2**20,) * 2); "
        f"sys.argv = ['bilevel_check', {str(tmp_path)!r}]; runpy.run_module('bilevel_check', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1, done.stderr
    assert "accepted 0 (0 proved, 0 refuted)" in done.stdout
    assert f"refused {len(HOSTILE) + 3}" in done.stdout
