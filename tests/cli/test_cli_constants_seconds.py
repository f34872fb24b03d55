"""``constants --seconds``: more work round by round, until the bounds are tight or the time is over."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from bilevel_verify.cli import main
from bilevel_verify.constants import constants

room = importlib.import_module("bilevel_verify.constants")
FILE = """
kind = "single_level"
f = "log(2 + sin(x1*x2*x3*x4) + x1**2 + x2**2 + x3**2 + x4**2)"
x = ["x1", "x2", "x3", "x4"]
[domain]
x1 = [-1, 1]
x2 = [-1, 1]
x3 = [-1, 1]
x4 = [-1, 1]
"""


@pytest.fixture
def efforts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The efforts of the rounds."""
    seen: list[float] = []

    def watched(*arguments: object, effort: float, **options: object) -> object:
        seen.append(effort)
        return constants(*arguments, effort=effort, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(room, "constants", watched)
    return seen


def test_rounds_go_on_until_the_bounds_are_tight(
    efforts: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text(FILE, encoding="utf-8")
    found = []
    for options in ([], ["--seconds", "1e-9"], ["--seconds", "1000"]):
        assert main(["constants", str(path), "--only", "L", "--json", *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["constants"]["L"])
    assert efforts[:3] == [1.0, 1.0, 1.0]  # without the option, and where the time is over at once, one round
    assert efforts[3:] == [4.0**k for k in range(1, len(efforts) - 2)]
    assert len(efforts) > 3
    assert found[0] == found[1]
    low, high = found[2]["lower"], found[2]["upper"]
    assert found[2]["certified"]
    assert high <= 1.03 * low < 1.03 * found[0]["upper"]
    assert low >= 1.0 - 1e-9  # the Hessian at 0 is the identity


def test_what_is_tight_at_once_takes_one_round(efforts: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["constants", "zoo:toy-a", "--only", "mu", "--seconds", "1000", "--json"]) == 0
    assert efforts == [1.0]
    assert json.loads(capsys.readouterr().out)["constants"]["mu"]["value"] > 0


def test_seconds_are_a_positive_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["constants", "zoo:toy-a", "--seconds", "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
