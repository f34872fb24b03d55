"""Control signs and long names never reach a terminal raw; what repeats a row is quoted and names the user's file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from bilevel_verify.cli import main, output
from bilevel_verify.errors import LONGEST_MESSAGE, InputError, one_line, visible

SIGNS = "\x1b]0;t\x07\x00\x9b31m\u202e\u2066"
RAW = set("\x1b\x07\x00\x9b\u202e\u2066")
CARD = '[paper]\nkey = "{key}"\n[[inequality]]\nid = "{id}"\nchain = ["1", "<= {bound}"]\n'


@pytest.mark.fast
def test_one_visible_line() -> None:
    assert not RAW & set(visible(SIGNS))
    assert len(visible(SIGNS)) == len(SIGNS)
    assert visible("a\tb\nα ≤ β") == "a\tb\nα ≤ β"
    assert str(InputError(f"x\n{SIGNS}")) == one_line(f"x {SIGNS}")
    assert len(str(InputError(" ".join("y" * 10_000 for _ in range(50))))) <= LONGEST_MESSAGE
    assert one_line("z" * 5_000).startswith("zzz")


def test_no_table_line_or_json_shows_a_control_sign(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(SIGNS, ["a"], [[SIGNS]])
    output.show(SIGNS)
    output.line(SIGNS)
    output.say(SIGNS)
    output.print_json({"a": SIGNS})
    caught = capsys.readouterr()
    assert not RAW & set(caught.out + caught.err)
    assert json.loads(caught.out[caught.out.index("{") :]) == {"a": SIGNS}


@pytest.mark.parametrize(
    "words", [["verify", SIGNS], ["list", "--show", SIGNS], [SIGNS], ["check", f"{SIGNS} <= 1"], ["run", SIGNS]]
)
def test_no_message_shows_a_control_sign(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words]) == 2
    caught = capsys.readouterr()
    assert not RAW & set(caught.out + caught.err)
    assert caught.err.count("\n") == 1


def test_a_row_of_ones_own_card_repeats_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    card = tmp_path / "my draft; touch PWNED.toml"
    card.write_text(CARD.format(key="my-draft; touch PWNED2 #", id="one$(touch PWNED3)", bound="1/2"))
    assert main(["audit", card.name, "--quick", "--json", "--jobs", "1"]) == 1
    row = next(r for r in json.loads(capsys.readouterr().out)["rows"] if r["verdict"] == "refuted")
    words = shlex.split(row["reproduce"])
    assert words == ["bilevel-verify", "audit", str(card), "--statement", "one$(touch PWNED3)", "--quick"]
    assert main([*words[1:], "--json", "--jobs", "1"]) == 1
    again = json.loads(capsys.readouterr().out)["rows"]
    assert row in again


@pytest.mark.parametrize(("key", "id"), [("a\\nb", "one"), ("a", "one\\u001b"), ("", "one"), ("a", "x" * 101)])
def test_names_of_cards_and_statements_are_one_printable_line(
    key: str, id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(CARD.format(key=key, id=id, bound="2"))
    assert main(["audit", str(path)]) == 2
    assert "printable signs" in capsys.readouterr().err
