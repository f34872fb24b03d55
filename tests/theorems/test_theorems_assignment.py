"""Pseudo-code: assignment along every path, inputs that are none, and limits of the literal run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.language import tree
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.pseudocode.assignment import path_defects
from bilevel_verify.theorems.pseudocode.interpreter import interpret
from bilevel_verify.theorems.reading.reader import read_card

pytestmark = pytest.mark.fast


def span(low: int, closed: bool = True, kind: str = "interval") -> Domain:
    end = Expression(tree.Number(Fraction(low)), str(low))
    return Domain(f"[{low}, oo)", kind, end, None, closed, False)  # type: ignore[arg-type]


RANGES = {"K": span(0, False), "T": span(1), "Z": span(0)}


def found(steps: str) -> list[str]:
    findings = path_defects(read_program(steps), {"K", "T", "Z", "a", "n"}, RANGES)
    return sorted(f.message.split(" is read")[0].strip("'") for f in findings if f.kind.startswith("unassigned"))


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ("s = a\nreturn s", []),
        ("if a > 0:\n    s = 1\nreturn s", ["s"]),
        ("if a > 0:\n    s = 1\nelse:\n    s = 2\nreturn s", []),
        ("if a > 0:\n    s = 1\nelse:\n    return a\nreturn s", []),
        ("if a > 0:\n    return s\ns = 1\nreturn s", ["s"]),
        # loops that run zero times
        ("for k in range(0, n):\n    s = k\nreturn s", []),  # nobody says that n may be 0
        ("for k in range(0, T):\n    s = k\nreturn s", []),  # T >= 1
        ("for k in range(0, Z):\n    s = k\nreturn s", ["s"]),  # Z >= 0
        ("for k in range(1, T):\n    s = k\nreturn s", ["s"]),
        ("for k in range(0, 3):\n    s = k\nreturn s", []),
        ("for k in range(3, 3):\n    s = k\nreturn s", ["s"]),
        ("for k in range(0, n):\n    s = 1\nreturn k", []),
        ("k = 0\nwhile k < K:\n    s = k\n    k = k + 1\nreturn s", []),  # K > 0
        ("k = 0\nwhile k <= Z:\n    s = k\n    k = k + 1\nreturn s", []),
        ("k = 0\nwhile k < Z:\n    s = k\n    k = k + 1\nreturn s", ["s"]),
        ("k = 0\nwhile k < n or k < K:\n    s = k\n    k = k + 1\nreturn s", []),
        ("k = 0\nwhile k < n and k < K:\n    s = k\n    k = k + 1\nreturn s", ["s"]),
        ("while a > 0:\n    s = 1\nreturn s", ["s"]),
        # break
        ("while True:\n    if a > 0:\n        break\n    s = 1\nreturn s", ["s"]),
        ("while True:\n    s = 1\n    if a > 0:\n        break\nreturn s", []),
        ("for t in range(0, T):\n    if a > 0:\n        break\n    s = 1\nreturn s", ["s"]),
        ("for t in range(0, T):\n    if a > 0:\n        s = 2\n        break\n    s = 1\nreturn s", []),
        # the inner break does not leave the outer loop
        ("while True:\n    while True:\n        break\n    s = 1\n    break\nreturn s", []),
        # the first pass takes one branch for certain, a later one may take the other
        ("for t in range(0, T):\n    if t % n == 0:\n        s = 1\n    r = s\nreturn r", []),
        ("for t in range(1, 3):\n    if t % n == 0:\n        s = 1\n    r = s\nreturn r", ["s"]),
        (
            "for t in range(0, T):\n    if t == 0:\n        s = 1\n    else:\n        r = q\n        q = 1\nreturn s",
            ["q"],
        ),
    ],
)  # fmt: skip
def test_names_along_every_path(steps: str, names: list[str]) -> None:
    assert found(steps) == names


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        (
            "x[0] = a\nfor t in range(0, T):\n    s = x[t]\n"
            "    if s > 1:\n        break\n    x[t+1] = s\nreturn x[t+1]",
            ["x[t + 1]"],
        ),
        (
            "x[0] = a\nfor t in range(0, T):\n    s = x[t]\n"
            "    x[t+1] = s\n    if s > 1:\n        break\nreturn x[t+1]",
            [],
        ),
        (
            "x[0] = a\nfor t in range(0, T):\n    s = x[t]\n"
            "    if s > 1:\n        break\n    x[t+1] = s\nreturn x[t]",
            [],
        ),
        # the first pass may leave, whatever later ones assign
        (
            "x[0] = a\nfor t in range(0, T):\n    if a > 1:\n"
            "        break\n    x[t+1] = a\n    x[t+2] = a\nreturn x[t+1]",
            ["x[t + 1]"],
        ),
        # counted down, or set back
        (
            "x[0] = a\nt = 9\nwhile True:\n    t = t - 1\n"
            "    if a > 1:\n        break\n    x[t+1] = a\nreturn x[t+1]",
            ["x[t + 1]"],
        ),
        (
            "x[0] = a\nt = 0\nwhile True:\n    if a > 1:\n"
            "        break\n    x[t+1] = a\n    t = t + 1\nreturn x[t+1]",
            ["x[t + 1]"],
        ),
        ("x[0] = a\nt = 0\nwhile True:\n    if a > 1:\n        break\n    x[t+1] = a\n    t = 0\nreturn x[t+1]",
         ["x[t + 1]"]),
        ("for t in range(0, n):\n    x[t] = a\nreturn sum(x[i], (i, 0, 1))", ["x[i]"]),  # n = 1
    ],
)  # fmt: skip
def test_entries_behind_a_break(steps: str, names: list[str]) -> None:
    assert found(steps) == names


def test_the_shipped_card_with_an_output_that_its_break_leaves_out() -> None:
    card = load_card("fsba")
    entry = card.entries["algorithm-2"]
    assert isinstance(entry, Algorithm)
    (finding,) = path_defects(entry.program, entry.needs, {"T": span(1)})
    assert finding.kind == "unassigned output"
    assert finding.line == "line 11"
    assert entry.refuted is not None


CARD = '[paper]\nkey = "p"\n[letters]\nK = {{ domain = "integers 1.." }}\nL = {{ domain = "(0, oo)" }}\n{}'


def algorithm(folder: Path, more: str, steps: str = "return K*L") -> Algorithm:
    path = folder / "p.toml"
    path.write_text(CARD.format(f'[[algorithm]]\nid = "a"\n{more}\nsteps = "{steps}"\n'), encoding="utf8")
    found = read_card(path).entries["a"]
    assert isinstance(found, Algorithm)
    return found


def test_letters_taken_besides_the_inputs_have_a_reason(tmp_path: Path) -> None:
    read = algorithm(tmp_path, 'inputs = ["K"]\ntaken = { L = "read by line 1" }')
    assert read.inputs == ("K",)
    assert read.needs == ("K", "L")
    assert interpret(read, {"K": 2, "L": 3.0}, {}).output == 6.0
    for text, said in [('taken = { L = "" }', "say why"), ('taken = { K = "x" }', "an input already")]:
        with pytest.raises(CardError, match=said):
            algorithm(tmp_path, f'inputs = ["K"]\n{text}')


def test_a_reading_is_not_the_print(tmp_path: Path) -> None:
    from bilevel_verify.audit.entries.text import executability_findings

    algorithm(tmp_path, 'inputs = ["K"]\ntaken = { L = "read by line 1" }')
    card = read_card(tmp_path / "p.toml")
    rows = [f.row for f in executability_findings(card, card.entries["a"]) if f.row.claim == "static"]
    assert [(r.verdict, r.as_printed, r.reading) for r in rows] == [("holds", False, "L is taken: read by line 1")]
    algorithm(tmp_path, 'inputs = ["K", "L"]')
    card = read_card(tmp_path / "p.toml")
    rows = [f.row for f in executability_findings(card, card.entries["a"]) if f.row.claim == "static"]
    assert [(r.verdict, r.as_printed, r.reading) for r in rows] == [("holds", True, None)]
    algorithm(tmp_path, 'inputs = ["K"]\ntaken = { L = "x" }', "return K")
    card = read_card(tmp_path / "p.toml")
    rows = [f.row for f in executability_findings(card, card.entries["a"]) if f.row.verdict == "refuted"]
    assert "taken and never used" in (rows[0].reason or "")


# --- limits


@pytest.mark.parametrize(
    "steps",
    [
        "k = 2\nwhile True:\n    k = k*k",
        "k = 3\nk = k**k\nk = k**k\nk = k**k\nreturn k",
        "k = 1/3\nwhile True:\n    k = k*k + 1",
        "k = 3\nwhile True:\n    k = 1/(k*k)",
        "k = 2\nwhile True:\n    k = prod(k, (i, 1, 3))",
        "n = 10**9\nreturn 2**(-n)",
    ],
)
def test_numbers_do_not_grow_without_end(steps: str) -> None:
    (finding,) = interpret(read_program(steps), {}, {}).findings
    assert finding.kind == "budget"
    assert "bits" in finding.message


def test_powers_of_one_are_small() -> None:
    assert interpret(read_program("n = 10**9\nreturn 1**n + (-1)**n + 0**n"), {}, {}).output == 2
    assert interpret(read_program("n = 1000\nreturn 2**n"), {}, {}).output == 2**1000


def test_statements_are_counted() -> None:
    (finding,) = interpret(read_program("k = 0\nwhile True:\n    k = k + 1"), {}, {}, budget=50).findings
    assert finding.kind == "budget"


def test_matrix_products_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="@ multiplies matrices and vectors"):
        algorithm(tmp_path, 'inputs = ["K"]', "return K @ 1")
    (finding,) = interpret(read_program("return a @ b"), {"a": 2, "b": 3}, {}).findings
    assert finding.kind == "undefined"
    (finding,) = interpret(read_program("return a @ b"), {"a": [1.0, 2.0], "b": [1.0]}, {}).findings
    assert finding.kind == "undefined"
    assert interpret(read_program("return a @ b"), {"a": [1.0, 2.0], "b": [1.0, 1.0]}, {}).output == 3.0


UNITS = (
    '[paper]\nkey = "p"\n[units]\nF = "f"\nX = "x"\n[letters]\neta = {{ unit = "{}" }}\n'
    '[functions]\nq = {{ arguments = ["{}"], value = "F" }}\n'
)


@pytest.mark.parametrize(
    ("unit", "argument", "said"),
    [
        ("F/X>=2", "X", "eta, unit: 'F/X>=2' is not a unit"),
        ("F + X", "X", "product of powers"),
        ("2*F", "X", "product of powers"),
        ("-F", "X", "product of powers"),
        ("F**max(1, 2)", "X", "formula of letters"),
        ("F", "eta", "'eta' is no base unit; known are F, X"),
        ("F", "X > 1", "q, arguments"),
    ],
)
def test_what_is_no_unit_is_an_error_of_the_card(tmp_path: Path, unit: str, argument: str, said: str) -> None:
    path = tmp_path / "u.toml"
    path.write_text(UNITS.format(unit, argument), encoding="utf8")
    with pytest.raises(CardError) as error:
        read_card(path)
    assert said in str(error.value)
    path.write_text(UNITS.format("F/X**2", "X"), encoding="utf8")
    read_card(path)
