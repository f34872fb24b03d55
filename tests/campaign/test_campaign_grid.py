"""Campaign files: what they mean, and every way to get them wrong."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from bilevel_verify.campaign import Cell, grid, load_campaign
from bilevel_verify.campaign.sources import join_reference, problem_fingerprint, split_reference
from bilevel_verify.campaign.work import work
from bilevel_verify.errors import InputError

GOOD = """
[campaign]
name = "ramps"
time_limit = 30
memory_limit = 1000

[[grid]]
problems = ["zoo:ramp:s=2*eps,drop=1", "mine.toml"]
statements = ["restarted-agd-hb/theorem-1"]
eps = [0.1, 0.01]
sweep = false
x0 = [[1.0], [2]]
knobs = { kappa = [16, 32] }
parameters = { B = [0.1, "sqrt(eps)"] }
seeds = 3
budget = 1000
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "campaign.toml"
    path.write_text(text)
    return path


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    campaign = load_campaign(write(tmp_path, GOOD))
    assert len(campaign.cells) == 2 * 2 * 2 * 2 * 2 * 3
    first = campaign.cells[0]
    assert first.knobs == {"s": "2*eps", "drop": 1, "kappa": 16}
    assert (first.eps, first.x0, first.budget) == ((0.1,), (1.0,), 1000)
    assert {c.problem for c in campaign.cells} == {"zoo:ramp", str(tmp_path / "mine.toml")}
    assert campaign.limits.seconds == 30
    assert len({c.seed for c in campaign.cells}) == len(campaign.cells)


def test_seeds_come_from_the_content_alone(tmp_path: Path) -> None:
    cells = load_campaign(write(tmp_path, GOOD)).cells
    again = load_campaign(write(tmp_path, GOOD)).cells
    assert [c.seed for c in cells] == [c.seed for c in again]
    cell = cells[5]
    assert Cell.from_dict(cell.to_dict()) == cell
    assert Cell.from_dict(cell.to_dict()).content == cell.content


def test_a_sweep_is_one_cell() -> None:
    cells = grid(problems=["zoo:ramp"], methods=["gradient-descent"], eps=[0.1, 0.01]).cells
    assert [c.eps for c in cells] == [(0.1, 0.01)]
    assert cells[0].kind == "solve"


def test_duplicates_are_one_cell(tmp_path: Path) -> None:
    table = '[[grid]]\nproblems = ["zoo:ramp"]\nmethods = ["gradient-descent"]\n'
    assert len(load_campaign(write(tmp_path, table + table)).cells) == 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("not = [toml", "not TOML"),
        ("", "at least one"),
        ("[[grid]]\nproblms = ['zoo:ramp']", "did you mean 'problems'"),
        ("[campain]\n[[grid]]", "unknown table 'campain'"),
        ("[[grid]]\nproblems = ['zoo:ramp']", "name statements, cards or methods"),
        ("[[grid]]\nstatements = ['a/b']", "name problems"),
        ("[[grid]]\nproblems = 'zoo:ramp'\nmethods = ['x']", "problems must be a list of names"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\neps = [0.1, -1]", "eps must be positive"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\neps = [nan]", "eps must be positive"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\nx0 = [[nan]]", "finite"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\nseeds = 0", "seeds must be"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\nbudget = -5", "budget must be"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\nknobs = { a = true }", "must be a number"),
        ("[[grid]]\nproblems = ['zoo:ramp:s']\nmethods = ['x']\n[campaign]\ntime_limit = 0", "seconds must be"),
        (
            "[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\n[campaign]\ntime_limit = 9\ntotal_time = 3",
            "contradictory",
        ),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\n[campaign]\nmemory_limit = -1", "megabytes must be"),
        ("[[grid]]\nproblems = ['zoo:ramp']\nmethods = ['x']\n[campaign]\ntime_limit = '9'", "must be a number"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        load_campaign(write(tmp_path, text))
    assert "\n" not in str(caught.value).strip()


def test_a_missing_or_binary_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_campaign(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        load_campaign(tmp_path / "b.toml")


@pytest.mark.parametrize("text", ["zoo:ramp", "zoo:ramp:s=2*eps", "mine.toml:a=1,b=2.5", "zoo:f:n=max(a,b)"])
def test_references_read_and_print(text: str) -> None:
    assert join_reference(*split_reference(text)) == text


@pytest.mark.parametrize("text", ["zoo:ramp:=3", "zoo::a=1", "zoo:ramp:a=nan"])
def test_bad_references_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        split_reference(text)


def test_a_changed_data_file_is_another_problem(tmp_path: Path) -> None:
    path = tmp_path / "fit.toml"
    path.write_text('kind = "single_level"\nf = "dot(x, H @ x)"\nx = "x{1..2}"\n[data]\nH = { file = "h.csv" }\n')
    (tmp_path / "h.csv").write_text("2,0\n0,1\n")
    first = problem_fingerprint(str(path))
    assert problem_fingerprint(str(path)) == first
    (tmp_path / "h.csv").write_text("2,0\n0,3.0\n")
    assert problem_fingerprint(str(path)) != first
    second = problem_fingerprint(str(path))
    (tmp_path / "h.csv").unlink()
    assert problem_fingerprint(str(path)) not in (first, second)


def test_the_main_job_of_several_papers_is_that_of_each() -> None:
    from bilevel_verify.campaign.builtin_job import main_job

    papers = ("ragd-gs", "rahgd", "restarted-agd-hb")
    together = {cell.content for cell in main_job(papers).cells}
    assert together == {cell.content for paper in papers for cell in main_job(paper).cells}
    assert together < {cell.content for cell in main_job().cells}
    with pytest.raises(InputError, match=r"nothing on 'rahg'.*rahgd"):
        main_job(["ragd-gs", "rahg"])


def test_the_command_of_a_row_names_the_knobs_of_its_cell() -> None:
    knobs = {"s": "40*eps", "drop": "1/1000000"}
    cell = Cell(problem="zoo:ramp", knobs=knobs, statement="restarted-agd-hb/section-5-2:rate", eps=(1e-2, 3e-3))
    answer, _ = work(cell)
    words = shlex.split(answer["rows"][0]["reproduce"])
    assert words[words.index("--problem") + 1] == "zoo:ramp:drop=1/1000000,s=40*eps"
    assert not any(word.startswith("--x0") for word in words)  # each member of the sweep has a start of its own
    name, own = split_reference(words[words.index("--problem") + 1])
    assert (name, own) == ("zoo:ramp", knobs)
