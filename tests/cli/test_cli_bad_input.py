"""Ill-formed input: one line on stderr, exit status 2, no traceback, nothing written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli_commands import ENVIRONMENT, SINGLE

from bilevel_verify.cli import main

GOOD = 'kind = "bilevel"\nf = "x1 + y1"\ng = "y1**2 - x1*y1"\nx = "x1"\ny = "y1"\n'


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a command answers with."""
    assert main(list(words)) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    lines = caught.err.strip().splitlines()
    assert len(lines) == 1, lines
    assert len(lines[0]) < 900
    return lines[0]


PROBLEMS = {
    "no toml": ("kind = [", "not TOML"),
    "binary": ("\x00\x01\x02", "not TOML"),
    "missing kind": ('f = "x1"\nx = "x1"\n', "kind"),
    "missing field": ('kind = "bilevel"\nf = "x1"\nx = "x1"\ny = "y1"\n', "'g'"),
    "unknown field": (GOOD + "h = 1\n", "'h'"),
    "unknown symbol": (GOOD.replace("x1 + y1", "x1 + z9"), "z9"),
    "builtin": (GOOD.replace("x1 + y1", "open(x1)"), "open"),
    "import": (GOOD.replace("x1 + y1", "__import__('os')"), ""),
    "dunder": (GOOD.replace("x1 + y1", "x1.__class__"), ""),
    "tower": (GOOD.replace("x1 + y1", "9**9**9"), ""),
    "long": (GOOD.replace("x1 + y1", "+".join(["x1"] * 700_000)), ""),
    "deep": (GOOD.replace("x1 + y1", "(" * 500 + "x1" + ")" * 500), ""),
    "nan formula": (GOOD.replace("x1 + y1", "nan*x1"), "nan"),
    "nan domain": (GOOD + "[domain]\nx1 = [nan, 1]\n", ""),
    "empty domain": (GOOD + "[domain]\nx1 = [1, -1]\n", ""),
    "script": (GOOD.replace("x1 + y1", "<script>"), ""),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("command", ["derive", "constants"])
def test_bad_problem_files(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, word = PROBLEMS[name]
    Path("bad.toml").write_text(text)
    assert word in refused(capsys, command, "bad.toml")


CALLS = [
    (["worst"], "name a statement"),
    (["worst", "restarted-agd-hb/lemma-1", "--eps", "0.1,0.2"], "one tolerance"),
    (["worst", "restarted-agd-hb/lemma-1", "--problem", "p.toml"], "needs a table"),
    (["worst", "restarted-agd-hb/lemma-1", "--family", "rampp"], "no family"),
    (["worst", "restarted-agd-hb/lemma-1", "--minutes", "0"], "positive"),
    (["verify", "restarted-agd-hb/lemma-1", "--random", "2", "--x0=1"], "leave out"),
    (["verify", "--problem", "p.toml"], "name a statement"),
    (["verify", "restarted-agd-hb/theorem-1"], "name the problem"),
    (["plot", "trajectory", "gradient-descent", "--problem", "zoo:ramp"], "write --method gradient-descent"),
    (["verify", "restarted-agd-hb/theorem-99", "--problem", "p.toml"], "theorem-99"),
    (["verify", "nonsense/theorem-1", "--problem", "p.toml"], "nonsense"),
    (["verify", "--card", "none.toml", "--problem", "p.toml"], "none.toml"),
    (["verify", "--card", "p.toml", "--problem", "p.toml"], "p.toml"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0"], "positive"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "-1"], ""),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps=-1"], "positive"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "nan"], "finite"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "abc"], "not a number"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0.1", "--x0=1"], "shape"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0.1", "--x0=1,nan"], "finite"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "box.toml", "--eps", "0.1", "--x0=9,0"], "outside"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "none.toml", "--eps", "0.1"], "none.toml"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "zoo:rampp", "--eps", "0.1"], "did you mean"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "zoo:ramp:sss=1", "--eps", "0.1"], "sss"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0.1", "--set", "B"], "NAME=VALUE"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0.1", "--set", "B=nan"], "finite"),
    (["verify", "restarted-agd-hb/lemma-1", "--problem", "p.toml", "--eps", "0.1", "--budget", "0"], "at least 1"),
    (["solve", "no-such-method", "--problem", "p.toml", "--eps", "0.1"], "no-such-method"),
    (["solve", "restarted-agd", "--problem", "p.toml", "--eps", "0.1,0.2"], "one tolerance"),
    (["solve", "restarted-agd", "--problem", "p.toml", "--eps", "0.1", "--x0=1,2,3"], "shape"),
    (["solve", "restarted-agd", "--problem", "box.toml", "--eps", "0.1", "--x0=7,0"], "outside"),
    (["constants", "p.toml", "--paper", "nobody"], "nobody"),
    (["constants", "p.toml", "--only", "zz"], "zz"),
    (["constants", "p.toml", "--nu", "2"], "[0, 1]"),
    (["derive", "p.toml", "--only", "nothing"], "nothing"),
    (["check", "1 +"], ""),
    (["check", "t + 1"], "relation"),
    (["check", "t <= 1", "--for", "nonsense"], ""),
    (["check", "__import__('os').system('x') <= 1"], ""),
    (["audit", "nobody"], "nobody"),
    (["list", "--show", "nothing-like-this"], "nothing-like-this"),
    (["list", "--show", "ragd-gs/nothing"], "nothing"),
    (["report", "nowhere"], "nowhere"),
    (["report", "foreign.json"], "not a report"),
    (["run", "none.toml"], "none.toml"),
    (["run", "p.toml"], "unknown table"),
    (["run", "unknown-method.toml", "--dry-run"], "no-such-method"),
    (["run", "unknown-card.toml", "--dry-run"], "nobody"),
    (["run", "good.toml", "--jobs", "0"], "at least 1"),
    (["run", "good.toml", "--time-limit", "-1"], ""),
    (["run", "--nonsense"], "--nonsense"),
    (["nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("words", "part"), CALLS, ids=[" ".join(c[0])[:70] for c in CALLS])
def test_bad_calls(
    words: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(SINGLE)
    Path("box.toml").write_text(SINGLE + "[domain]\nx1 = [-2, 2]\nx2 = [-2, 2]\n")
    Path("foreign.json").write_text(json.dumps({"rows": []}))
    grid = '[[grid]]\nproblems = ["p.toml"]\nmethods = ["{}"]\n'
    Path("unknown-method.toml").write_text(grid.format("no-such-method"))
    Path("good.toml").write_text(grid.format("gradient-descent"))
    Path("unknown-card.toml").write_text('[[grid]]\nproblems = ["p.toml"]\nstatements = ["nobody/theorem-1"]\n')
    assert part in refused(capsys, *words)
    assert not Path("bilevel-verify-report").exists()


def test_a_store_that_is_not_ours_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(SINGLE)
    Path("good.toml").write_text('[[grid]]\nproblems = ["p.toml"]\nmethods = ["gradient-descent"]\n')
    Path("out").mkdir()
    store = Path("out/results.sqlite")
    store.write_bytes(b"my own notes, not a database" * 50)
    for words in (["run", "good.toml", "--out", "out"], ["report", "out"]):
        assert "not a readable store" in refused(capsys, *words)
    assert store.read_bytes() == b"my own notes, not a database" * 50


def test_json_errors_are_json_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bilevel_verify", "derive", "none.toml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert json.loads(done.stdout)["status"] == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_our_own_errors_are_status_3_and_show_where_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(arguments: object) -> int:
        raise ZeroDivisionError("planted\nerror")

    monkeypatch.setattr("bilevel_verify.cli.commands.catalogue.list_command", broken)
    assert main(["list"]) == 3
    assert capsys.readouterr().err.strip() == (
        "bilevel-verify list: internal error: ZeroDivisionError: planted error (--debug shows where)"
    )
    assert main(["list", "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_failed_hypothesis_is_a_row_not_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flat.toml").write_text(GOOD.replace("y1**2 - x1*y1", "y1**4/4 - x1*y1").replace("x1 + y1", "sin(x1)"))
    status = main(["verify", "ragd-gs/theorem-1", "--problem", "flat.toml", "--eps", "0.1", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert status == 0
    assert {r["verdict"] for r in rows} <= {"not applicable", "undecided"}
    assert all(r["reason"] for r in rows)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("check|a <= b|--memory|1e300", "memory must be positive and at most 1048576 GiB"),
        ("check|-x<=1", "a chain that begins with a minus comes after '--'"),
        ("check|a <= b|--where|a", "the condition 'a' must be a relation such as"),
        ("derive|zoo:quartic-lower|--only|", "--only: name a quantity; there are "),
        ("verify|--card|/dev/null|--problem|zoo:ramp", "/dev/null: a card is a .toml file"),
        ("verify|ragd-gs/nothing|--problem|zoo:ramp|--eps|0.1", "has no statement 'nothing'; it has "),
        ("verify|ragd-gs/theorem-1|--problem|zoo:nothing|--eps|0.1", "list problems shows them"),
        ("audit|ragd-gs|--statement|nothing", "list statements shows their names"),
        ("verify|ragd-gs/theorem-1|--problem|zoo:ramp|--eps|0.1|--solver|os:system", "no module os with a file"),
        ("run|RUN|--out|/dev/null/x", "/dev/null/x: Not a directory: choose another --out folder"),
        ("run|RUN|--out|FILE", "File exists: choose another --out folder"),
    ],
)
def test_what_a_stranger_got_wrong_is_named_with_its_fix(
    line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").touch()
    grid = '[campaign]\nname = "s"\n[[grid]]\nproblems = ["zoo:ramp"]\nmethods = ["gradient-descent"]\neps = [0.5]\n'
    (tmp_path / "RUN").write_text(grid, encoding="utf-8")
    words = [str(tmp_path / word) if word in ("RUN", "FILE") else word for word in line.split("|")]
    assert said in refused(capsys, *words)
