"""``--seconds``: what was not finished says so, on the terminal and in JSON; exit status as without a limit."""

from __future__ import annotations

import json
import signal

import pytest

from bilevel_verify.checks import engine
from bilevel_verify.cli.main import main
from bilevel_verify.methods.cubic.looped import CubicLoopStepper
from bilevel_verify.truth.truth import Truth


def strike(*_: object) -> None:
    """The clock strikes here, however fast the machine is."""
    signal.raise_signal(signal.SIGALRM)


def test_truth_shows_what_is_known(monkeypatch, capsys) -> None:
    monkeypatch.setattr(Truth, "hess_phi", strike)
    assert main(["truth", "zoo:trig-1-1", "--x=0.5", "--seconds", "600", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["truth"]
    assert found["phi"]["certainty"] == "certified"
    for name in ("hess_phi", "phi_min", "delta"):
        assert found[name] == {"error": "not computed before the 600 s asked for were over"}


def test_claims_that_were_not_judged_are_undecided(monkeypatch, capsys) -> None:
    monkeypatch.setattr(engine, "check_instance", strike)
    asked = ["verify", "ragd-gs/lemma-1", "--problem", "zoo:trig-1-1", "--seconds", "600", "--json"]
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows
    assert {row["verdict"] for row in rows} == {"undecided"}
    assert {row["reason"] for row in rows} == {"time: the 600 s asked for were over before this was judged"}
    assert main([*asked, "--strict"]) == 1


def test_a_run_is_left_where_it_is_and_says_why(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(CubicLoopStepper, "advance", strike)
    file = tmp_path / "one.toml"
    file.write_text('kind = "single_level"\nf = "sin(x1) + x1**2/9"\nx = ["x1"]\n')
    letters = ["--set", "M=1e9", "--set", "eps=1e-12", "--set", "T=1000"]
    assert main(["solve", "cubic-newton", str(file), "--x0=3", *letters, "--seconds", "600", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "interrupted"
    assert found["note"] == "the 600 s asked for were over"


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon"])
def test_seconds_are_a_positive_number(seconds: str, capsys) -> None:
    assert main(["truth", "zoo:trig-1-1", "--seconds", seconds]) == 2
    assert "--seconds" in capsys.readouterr().err


def test_random_problems_are_counted_and_not_timed(capsys) -> None:
    assert main(["verify", "ragd-gs/lemma-1", "--random", "2", "--seconds", "5"]) == 2
    assert "--random N says how much is done" in capsys.readouterr().err
