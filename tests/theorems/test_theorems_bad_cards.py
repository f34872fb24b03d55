"""Cards that cannot be read: one line that names the card, the statement, the field, the column and the fix."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bilevel_verify.errors import CardError, InputError
from bilevel_verify.theorems import library as library_module
from bilevel_verify.theorems import load_card

SOUND = """
[paper]
key = "mine"
[units]
F = "values"
X = "length"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
kappa = { unit = "1", domain = "[1, oo)" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user" }
eta = { unit = "X**2/F", domain = "(0, oo)" }
theta = { unit = "1", domain = "(0, oo)" }
[settings.main.parameters]
eta = "1/(4*L)"
theta = "kappa/2"
[[theorem]]
id = "theorem-1"
settings = ["main"]
  [[theorem.claim]]
  id = "iterations"
  over = "run"
  left = "iterations"
  right = "kappa/eps"
[[inequality]]
id = "link"
chain = ["1/(1+kappa)", "<= 1"]
[[algorithm]]
id = "algorithm-1"
inputs = ["x_int", "eta"]
steps = "return x_int - eta*grad_f(x_int)"
"""

SECOND_CLAIM = """
  [[theorem.claim]]
  id = "iterations"
  over = "run"
  left = "1"
  right = "2"
"""


def read(tmp_path: Path, text: str) -> str:
    """The message of the error; the card must not load, and the message is one line that begins with the file."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CardError) as caught:
        load_card(str(path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(f"{path}: ")


def changed(old: str, new: str) -> str:
    assert SOUND.count(old) >= 1
    return SOUND.replace(old, new, 1)


def test_the_sound_card_loads(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SOUND)
    assert set(load_card(str(path)).entries) == {"theorem-1", "link", "algorithm-1"}


CASES = {
    "misspelt letter": (
        changed('right = "kappa/eps"', 'right = "1 + 2 + kapa"'),
        """theorem-1, claim "iterations", right: unknown letter 'kapa' (column 9); did you mean 'kappa'?""",
    ),
    "misspelt function": (changed("<= 1", "<= sqt(2)"), "unknown function 'sqt' (column 1); did you mean 'sqrt'?"),
    "circle": (
        changed('eta = "1/(4*L)"', 'eta = "theta/(4*L)"').replace('theta = "kappa/2"', 'theta = "eta*L"'),
        "[settings.main]: parameters depend on each other in a circle: ",
    ),
    "circle in a statement": (
        changed('settings = ["main"]', 'parameters = { eta = "theta/L", theta = "eta*L" }'),
        "theorem-1: parameters depend on each other in a circle: ",
    ),
    "twice": (SOUND + '[[inequality]]\nid = "link"\nchain = ["0", "<= 1"]\n', '"link" occurs twice (lines 25 and 32)'),
    "undeclared unit": (
        changed('unit = "F/X"', 'unit = "F/Y"'),
        "[letters], eps, unit: undeclared unit 'Y' (column 3)",
    ),
    "no unit": (changed('kappa = { unit = "1", ', "kappa = { "), "[letters], kappa: the letter has no unit"),
    "quantity of another scope": (
        changed('over = "run"', 'over = "parameters"'),
        """theorem-1, claim "iterations", left: 'iterations' (column 1) is a quantity of scope run or order""",
    ),
    "unknown scope": (changed('over = "run"', 'over = "runs"'), "over: unknown scope 'runs'; did you mean 'run'?"),
    "missing field": (changed('  right = "kappa/eps"\n', ""), "the field 'right' is missing"),
    "missing id": (changed('id = "link"\n', ""), "inequality: the field 'id' is missing"),
    "unknown field": (changed('id = "link"', 'id = "link"\nsourse = "p. 3"'), "unknown field 'sourse'; did you mean"),
    "unknown table": (changed("[[inequality]]", "[[inequalty]]"), "unknown table 'inequalty'; did you mean"),
    "unknown settings": (changed('["main"]', '["mian"]'), "unknown settings 'mian'; did you mean 'main'?"),
    "no paper": (changed('[paper]\nkey = "mine"\n', ""), "the table [paper] is missing"),
    "not TOML": ("[paper\n", "not TOML: "),
    "builtin": (changed("<= 1", "<= __import__('os')"), ""),
    "dunder": (changed("<= 1", "<= kappa.__class__"), ""),
    "caret": (changed("<= 1", "<= kappa^2"), "**"),
    "lambda": (changed("<= 1", "<= lambda"), "lam"),
    "tower": (changed("<= 1", "<= 9**9**9"), ""),
    "too long": (changed("<= 1", "<= " + "1+" * 3000 + "1"), ""),
    "not finite": (changed("<= 1", "<= nan"), "nan"),
    "bad range": (changed('"[1, oo)"', '"[1; oo)"'), "is not a range"),
    "defined but not declared": (changed('eta = "1/(4*L)"', 'zeta = "1/(4*L)"'), "is defined but not declared"),
    "chain without relation": (changed('"<= 1"]', '"1"]'), "a member after the first begins with <=, <, ==, >= or >"),
    "steps": (changed("return x_int", "import os; return x_int"), "steps: line 1: "),
    "calls of a part": (
        changed('left = "iterations"', 'left = "calls(grad_y_g)"'),
        "calls(...) needs one oracle kind (column 1): one of any, grad_f, grad_g, ",
    ),
    "claim twice": (changed("[[inequality]]", SECOND_CLAIM + "[[inequality]]"), 'claim "iterations" occurs twice'),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_message(tmp_path: Path, name: str) -> None:
    text, message = CASES[name]
    assert message in read(tmp_path, text)


def test_errors_are_input_errors(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("x = ")
    with pytest.raises(InputError):
        load_card(str(path))
    with pytest.raises(CardError, match="no such file"):
        load_card(str(tmp_path / "other.toml"))
    with pytest.raises(CardError, match="did you mean 'rahgd'"):
        load_card("rahdg")


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    begin = time.perf_counter()
    assert "bytes; at most 1000000 are read" in read(tmp_path, SOUND + "#" * 1_100_000)
    assert time.perf_counter() - begin < 5


def test_binary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CardError, match="not UTF-8"):
        load_card(str(path))


def test_one_bad_card_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.toml").write_text(SOUND)
    (tmp_path / "bad.toml").write_text(changed('right = "kappa/eps"', 'right = "kapa"'))
    monkeypatch.setattr(library_module, "theory_directory", lambda: tmp_path)
    records = {record.name: record for record in library_module.cards()}
    assert "unknown letter 'kapa'" in records["bad"].error
    assert records["good"].error == ""
    assert [s.id for s in library_module.statements()] == ["theorem-1", "link", "algorithm-1"]


def test_two_cards_with_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.toml").write_text(SOUND)
    monkeypatch.setattr(library_module, "theory_directory", lambda: tmp_path)
    records = {record.name: record for record in library_module.cards()}
    assert records["first"].error == ""
    assert records["second"].error == (
        "theory/second.toml: [paper], key: 'mine' is the key of theory/first.toml too; give one of them another key"
    )


def test_a_changed_card_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SOUND)
    first = load_card(str(path))
    path.write_text(changed('id = "link"', 'id = "another"'))
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 10**9))
    assert "another" in load_card(str(path)).entries
    assert first.digest != load_card(str(path)).digest
