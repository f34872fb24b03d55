"""Every command as a user runs it: a process of its own, its exit status, what is on stdout and what on stderr."""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from forked import ENVIRONMENT, command, in_a_new_interpreter

SINGLE = """
kind = "single_level"
title = "Two cosines"
f = "cos(x1) + cos(x1 + x2)/2"
x = "x1 x2"
"""
BILEVEL = """
kind = "bilevel"
f = "sin(x1) + cos(x1 - y1)/2"
g = "y1**2 + cos(y1)/2 - x1*y1"
x = "x1"
y = "y1"
"""


def call(*words: str, folder: Path, status: int | None = 0, fresh: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command; its status must be ``status``, and no traceback may be seen; ``fresh``: in a new interpreter."""
    done = (in_a_new_interpreter if fresh else command)(words, folder)
    assert "Traceback" not in done.stderr + done.stdout
    assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("user folder")
    (path / "single.toml").write_text(SINGLE)
    (path / "two.toml").write_text(BILEVEL)
    (path / "two levels; rm -rf x.toml").write_text(BILEVEL)
    return path


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    """Strict JSON and nothing else on stdout."""

    def refuse(word: str) -> None:
        raise ValueError(f"not strict JSON: {word}")

    return json.loads(done.stdout, parse_constant=refuse)


def test_help_is_fast_and_lists_the_commands(folder: Path) -> None:
    done = call("--help", folder=folder, fresh=True)
    for word in ("run", "verify", "solve", "truth", "derive", "constants", "audit", "check", "list", "report"):
        assert f"    {word}" in done.stdout
        assert call(word, "--help", folder=folder).stdout.startswith(f"usage: bilevel-verify {word}")


def test_help_loads_nothing_heavy(folder: Path) -> None:
    heavy = {"numpy", "sympy", "scipy", "numba", "matplotlib", "rich", "jinja2", "cvxpy"}
    code = (
        f"import sys\nfrom bilevel_verify.cli import main\nmain(['--help'])\nprint(sorted(set(sys.modules) & {heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_verify_and_its_reproduction_line(folder: Path) -> None:
    words = [
        "verify",
        "restarted-agd-hb/lemma-1",
        "--problem",
        "single.toml",
        "--eps",
        "0.03",
        "--x0=0.4,0.3",
        "--json",
    ]
    found = as_json(call(*words, folder=folder, status=None))
    rows = found["rows"]
    assert rows
    assert all(r["verdict"] for r in rows)
    assert {"hypotheses", "rows"} == set(found)
    line = shlex.split(rows[0]["reproduce"])
    assert line[0] == "bilevel-verify"
    again = as_json(call(*line[1:], "--json", folder=folder, status=None))["rows"]
    assert [r["verdict"] for r in again] == [r["verdict"] for r in rows]
    assert [r["margin"] for r in again] == [r["margin"] for r in rows]


def test_verify_shows_a_table_and_writes_a_report(folder: Path) -> None:
    words = ("verify", "restarted-agd-hb/lemma-1", "--problem", "single.toml", "--eps", "0.03", "--x0=0.4,0.3")
    done = call(*words, "--out", "rep", folder=folder, status=None)
    assert "restarted-agd-hb/lemma-1" in done.stdout
    assert "report: " in done.stderr
    page = (folder / "rep" / "index.html").read_text(encoding="utf-8")
    assert "Two cosines" in page


def test_a_file_name_for_the_shell_is_quoted(folder: Path) -> None:
    words = ("verify", "ragd-gs/lemma-1", "--problem", "two levels; rm -rf x.toml", "--eps", "0.1", "--json")
    done = call(*words, folder=folder, status=None, fresh=True)
    rows = json.loads(done.stdout).get("rows", [])
    for row in rows:
        assert shlex.split(row["reproduce"])[4] == "two levels; rm -rf x.toml"


def test_solve_with_truth(folder: Path) -> None:
    words = ("solve", "restarted-agd", "--problem", "single.toml", "--eps", "0.01", "--x0=0.4,0.3", "--truth")
    found = as_json(call(*words, "--out", "run", "--json", folder=folder))
    assert found["counts"]["grad_f"] > 0
    assert found["truth"]["phi_min"]["value"] == pytest.approx(-1.5, abs=1e-6)
    (promised,) = (text for text in found["promised"] if "theorem-1, output" in text)
    reached = re.search(r"; reached ([\d.e−-]+), promised 0.82: holds$", promised)
    assert reached is not None
    assert float(reached[1].replace("−", "-")) == pytest.approx(
        math.hypot(*found["truth"]["grad_phi"]["value"]), rel=1e-4
    )
    by_hand = as_json(call(*words, "--budget", "1000000", "--json", folder=folder))
    assert not any("reached" in text for text in by_hand["promised"])
    assert (folder / "run" / "trace.csv").read_text().startswith("epoch,k,")
    assert "true phi" in call(*words, folder=folder).stdout


def test_derive_in_all_forms(folder: Path) -> None:
    found = as_json(call("derive", "two.toml", "--json", folder=folder))
    assert "hypergradient" in found["quantities"]
    assert "hypergradient = " in call("derive", "--problem", "two.toml", folder=folder).stdout
    assert "\\" in call("derive", "two.toml", "--latex", "--only", "hypergradient", folder=folder).stdout
    call("derive", "two.toml", "--out", "derived", folder=folder)
    assert (folder / "derived" / "derivation.tex").is_file()


def test_constants_in_all_forms(folder: Path) -> None:
    found = as_json(call("constants", "two.toml", "--json", folder=folder))
    assert found["constants"]["mu"]["value"] == pytest.approx(1.5)
    assert found["constants"]["mu"]["why"]["statement"]
    assert r"\toprule" in call("constants", "two.toml", "--latex", "--only", "mu", folder=folder).stdout
    assert "mu:" in call("constants", "two.toml", "--why", "--only", "mu", folder=folder).stdout


def test_infinite_constants_are_no_error(folder: Path) -> None:
    (folder / "inf.toml").write_text('kind = "single_level"\nf = "x1**4"\nx = "x1"\n')
    found = as_json(call("constants", "inf.toml", "--json", folder=folder))
    assert found["constants"]["L"]["value"] == "inf"
    shown = call("constants", "inf.toml", folder=folder).stdout
    assert "L is infinite: " in shown
    assert "add x1 = [-10, 10] under [domain]" in shown


def test_a_lower_level_that_is_not_convex_is_said_with_a_point(folder: Path) -> None:
    text = 'kind = "bilevel"\nf = "x"\ng = "y**2/4 + cos(x + y)"\nx = "x"\ny = "y"\n'
    (folder / "weak.toml").write_text(text)
    shown = call("constants", "weak.toml", "--only", "mu", folder=folder).stdout
    assert "not strongly convex in y: the smallest curvature is -0.5 at x = 0.0, y = 0.0" in shown


def test_sides_without_a_value_are_not_shown_with_one(folder: Path) -> None:
    said = call("check", "1/x >= 1", "--for", "x = [0, 1]", folder=folder, fresh=True, status=1).stdout
    assert "defined at x = 0" in said
    assert "left" not in said.replace("--out", "")


def test_check_holds_and_refutes(folder: Path) -> None:
    held = as_json(call("check", "1 + t <= exp(t)", "--for", "t = [0, 1]", "--json", folder=folder, fresh=True))
    assert [r["verdict"] for r in held["rows"]] == ["holds"]
    broken = as_json(call("check", "t**2 <= t", "--for", "t = [0, 2]", "--json", folder=folder, fresh=True, status=1))
    assert broken["rows"][0]["verdict"] == "refuted"
    assert broken["rows"][0]["counterexample"]


def test_list_and_show(folder: Path) -> None:
    found = as_json(call("list", "--json", folder=folder, fresh=True))
    assert set(found) == {"problems", "statements", "methods", "cards"}
    assert len(found["problems"]) >= 8
    shown = as_json(call("list", "--show", "restarted-agd-hb/theorem-1", "--json", folder=folder))
    assert shown["claims"][0]["parsed"]
    assert "parsed" in call("list", "--show", "restarted-agd-hb/theorem-1", folder=folder).stdout
    assert as_json(call("list", "--show", "ramp", "--json", folder=folder))
    assert as_json(call("list", "--show", "rahgd", "--json", folder=folder))["name"] == "rahgd"


CAMPAIGN = """
[campaign]
name = "small"
time_limit = 200
[[grid]]
problems = ["single.toml"]
methods = ["gradient-descent"]
parameters = { eta = 0.25, N = [5, 10] }
eps = [1e-3]
x0 = [[0.4, 0.3]]
[[grid]]
problems = ["single.toml"]
statements = ["restarted-agd-hb/lemma-1"]
eps = [0.03]
x0 = [[0.4, 0.3]]
"""


def test_the_main_job_of_two_papers(folder: Path) -> None:
    each = [as_json(call("run", "--paper", p, "--dry-run", "--json", folder=folder))["todo"] for p in ("rahgd", "fsba")]
    both = as_json(call("run", "--paper", "rahgd", "--paper", "fsba", "--dry-run", "--json", folder=folder))
    assert both["todo"] == sum(each)


def test_run_resume_dry_run_and_report(folder: Path) -> None:
    (folder / "campaign.toml").write_text(CAMPAIGN)
    plan = as_json(call("run", "campaign.toml", "--out", "c", "--dry-run", "--json", folder=folder))
    assert (plan["todo"], plan["done"], plan["stale"]) == (3, 0, 0)
    first = as_json(call("run", "campaign.toml", "--out", "c", "--json", "--jobs", "1", folder=folder, status=None))
    assert first["summary"]["answered"] == 3
    assert not first["summary"]["failures"]
    began = time.monotonic()
    again = as_json(call("run", "campaign.toml", "--out", "c", "--json", folder=folder, status=None))
    print(f"resumed in {time.monotonic() - began:.2f} s")
    assert (again["summary"]["answered"], again["summary"]["done_before"]) == (0, 3)
    assert again["rows"] == first["rows"]
    assert (folder / "c" / "index.html").is_file()
    call("report", "c", "--out", "r", "--title", "A title", "--export", "csv", folder=folder)
    assert "A title" in (folder / "r" / "index.html").read_text(encoding="utf-8")
    assert (folder / "r" / "rows.csv").is_file()
    call("report", "r/report.json", "--out", "r2", "--format", "html,markdown", folder=folder)
    assert {p.name for p in (folder / "r2").iterdir()} == {"index.html", "report.md"}
