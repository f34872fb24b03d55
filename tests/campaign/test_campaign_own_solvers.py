"""Own solvers in a grid: whose code runs, what is counted, what makes an answer stale."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bilevel_verify.campaign import Campaign, Store, grid, load_campaign, plan, run_campaign
from bilevel_verify.campaign.run import STORE_NAME
from bilevel_verify.campaign.solvers import load_solver, name_of, reference_of
from bilevel_verify.campaign.work import work
from bilevel_verify.cli.main import main
from bilevel_verify.errors import InputError

GRID = """
[[grid]]
problems = ["zoo:cosine-sum"]
methods = ["gradient-descent", "own:halving"]
parameters = { eta = 0.5 }
eps = [0.01]
x0 = [[1.0, 0.8, 2.0]]
"""
SOLVER = """
from pathlib import Path
from steps import STEPS

Path(__file__).with_name("ran").touch()


def halving(oracles, x0, parameters):
    points = [x0]
    for _ in range(STEPS):
        points.append(points[-1] - parameters["eta"] * oracles.grad_x_f(points[-1]))
    return points


def steepest(oracles, x0, parameters):
    return [x0, x0 + parameters["eta"] * oracles.grad_x_f(x0)]


def draws(oracles, x0, parameters):
    import random

    import numpy as np

    return [x0, x0 + oracles.grad_x_f(x0) * random.random() + np.random.random()]


def greedy(oracles, x0, parameters):
    while True:
        oracles.grad_x_f(x0)


def broken(oracles, x0, parameters):
    raise ZeroDivisionError("by hand")


def rahgd(oracles, x0, parameters):
    return [x0]


class Holder:
    def method(self, oracles, x0, parameters):
        return [x0]


small = lambda oracles, x0, parameters: [x0]
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "steps", raising=False)
    (tmp_path / "mine.py").write_text(SOLVER, encoding="utf8")
    (tmp_path / "steps.py").write_text("STEPS = 7\n", encoding="utf8")
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf8")
    return tmp_path


def halving(folder: Path) -> str:
    return f"{folder / 'mine.py'}:halving"


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The file as a module, as a script would import it."""
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("mine_for_tests", folder / "mine.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mine_for_tests", module)
    spec.loader.exec_module(module)
    return module


def runs(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Records of runs by method, worked off in this process."""
    return {run["method"]: run for cell in campaign.cells for run in work(cell)[0]["runs"]}


def test_a_campaign_file_runs_no_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"own:halving is code.*--solver FILE\.py:halving"):
        load_campaign(folder / "grid.toml")
    assert main(["run", str(folder / "grid.toml"), "--out", str(folder / "out"), "--dry-run"]) == 2
    assert "own:halving" in capsys.readouterr().err
    assert not (folder / "ran").exists()
    fields = GRID.replace("own:halving", halving(folder))  # a path in the place of a name is no method
    (folder / "grid.toml").write_text(fields, encoding="utf8")
    assert main(["run", str(folder / "grid.toml"), "--out", str(folder / "out"), "--dry-run"]) == 2
    (folder / "grid.toml").write_text(GRID + f'solver = "{halving(folder)}"\n', encoding="utf8")
    with pytest.raises(InputError, match="unknown field 'solver'"):
        load_campaign(folder / "grid.toml", [halving(folder)])
    assert not (folder / "ran").exists()


def test_calls_are_counted_by_our_oracles(folder: Path) -> None:
    found = runs(load_campaign(folder / "grid.toml", [halving(folder)]))
    own = found["halving"]
    assert own["counts"] == {"grad_f": 7}
    assert (own["status"], own["iterations"], own["eps"]) == ("finished", 7, 0.01)
    # f = cos(x1) - cos(x2) - cos(x3) + 2: seven steps by hand
    expected = [1.0, 0.8, 2.0]
    for _ in range(7):
        expected = [x - sign * math.sin(x) / 2 for x, sign in zip(expected, (-1, 1, 1))]
    assert own["x"] == pytest.approx(expected, rel=1e-12)
    assert own["parameters"] == {"eta": 0.5, "eps": 0.01}


def test_a_run_goes_on_and_an_edited_solver_is_asked_anew(folder: Path) -> None:
    def planned(*more: str) -> dict[str, Any]:
        campaign = load_campaign(folder / "grid.toml", [halving(folder)])
        with Store(folder / "out" / STORE_NAME, read_only=True) as store:
            found = plan(campaign, store).to_dict()
        return {name: found[name] for name in ("done", "todo", "stale")}

    outcome = run_campaign(load_campaign(folder / "grid.toml", [halving(folder)]), folder / "out", jobs=1)
    assert (outcome.answered, outcome.failures) == (2, ())
    assert planned() == {"done": 2, "todo": 0, "stale": 0}
    (folder / "other.py").write_text("STEPS = 9\n", encoding="utf8")  # not imported
    assert planned() == {"done": 2, "todo": 0, "stale": 0}
    before = (folder / "steps.py").stat()
    (folder / "steps.py").write_text("STEPS = 8\n", encoding="utf8")
    os.utime(folder / "steps.py", ns=(before.st_atime_ns, before.st_mtime_ns))  # an edit within the same second
    assert planned() == {"done": 1, "todo": 0, "stale": 1}
    again = run_campaign(load_campaign(folder / "grid.toml", [halving(folder)]), folder / "out", jobs=1)
    assert (again.done, again.answered) == (1, 1)
    with Store(folder / "out" / STORE_NAME, read_only=True) as store:
        counts = [c.answer["runs"][0]["counts"] for c in store.cells(again.keys) if c.cell["method"] == "own:halving"]
    assert counts == [{"grad_f": 8}]


def test_functions_stand_among_the_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(folder, monkeypatch)
    fields: dict[str, Any] = {"problems": ["zoo:cosine-sum"], "parameters": {"eta": 0.5}, "x0": [[1.0, 0.8, 2.0]]}
    campaign = grid(methods=["gradient-descent", module.halving], eps=[0.01], **fields)
    assert [(c.method, c.solver) for c in campaign.cells] == [
        ("gradient-descent", None),
        ("own:halving", halving(folder)),
    ]
    assert runs(campaign)["halving"]["counts"] == {"grad_f": 7}
    assert [c.content for c in load_campaign(folder / "grid.toml", [module.halving]).cells] == [
        c.content for c in campaign.cells
    ]
    for bad in (module.small, module.Holder().method, lambda oracles, x0, parameters: [x0], print):
        with pytest.raises(InputError, match="top level of a file"):
            grid(methods=[bad], **fields)


def test_the_verdicts_are_those_of_verify(folder: Path) -> None:
    """A step up instead of down: the claim of descent is refuted, in 50 digits, and the row says how to repeat it."""
    (folder / "card.toml").write_text(example_card(), encoding="utf8")
    fields = {"problems": ["zoo:cosine-sum"], "cards": [str(folder / "card.toml")], "x0": [[1.0, 0.8, 2.0]]}
    (folder / "grid.toml").write_text(
        "[[grid]]\n" + "".join(f"{k} = {v!r}\n" for k, v in fields.items()) + 'methods = ["literal", "own:steepest"]\n',
        encoding="utf8",
    )
    reference = f"{folder / 'mine.py'}:steepest"
    campaign = load_campaign(folder / "grid.toml", [reference])
    rows = {
        (cell.method, row["claim"]): row
        for cell in campaign.cells
        for row in work(cell)[0]["rows"]
        if row["claim"] is not None
    }
    assert rows["literal", "decrease"]["verdict"] == "holds"
    wrong = rows["own:steepest", "decrease"]
    assert (wrong["verdict"], wrong["method"]) == ("refuted", "steepest")
    assert f"--solver {reference}" in wrong["reproduce"]
    words = wrong["reproduce"].split()[1:]
    assert main(words) == 1


def example_card() -> str:
    """The card of an own algorithm that docs/cards.md shows."""
    text = (Path(__file__).parents[2] / "docs" / "cards.md").read_text(encoding="utf8")
    found = re.search(r"```toml\n(# my-algorithm\.toml\n.*?)```", text, re.S)
    assert found is not None
    return found[1]


def test_a_solver_that_fails_fails_its_own_cell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GRID.replace('"own:halving"', '"own:broken", "own:greedy"') + "budget = 100\n"
    (folder / "grid.toml").write_text(text, encoding="utf8")
    own = [w for name in ("broken", "greedy") for w in ("--solver", f"{folder / 'mine.py'}:{name}")]
    words = ["run", str(folder / "grid.toml"), "--out", str(folder / "out"), "--jobs", "1", "--no-report", *own]
    assert main(words) == 2
    said = capsys.readouterr()
    assert "the solver 'broken' raised ZeroDivisionError: by hand" in said.err
    assert "more than budget = 100 oracle calls" in said.err
    assert "gradient-descent" in said.out


def test_random_solvers_are_repeatable(folder: Path) -> None:
    text = GRID.replace("own:halving", "own:draws") + "seeds = 2\n"
    (folder / "grid.toml").write_text(text, encoding="utf8")
    cells = [c for c in load_campaign(folder / "grid.toml", [f"{folder / 'mine.py'}:draws"]).cells if c.solver]
    first, again = ([work(cell)[0]["runs"][0]["x"] for cell in cells] for _ in range(2))
    assert first == again
    assert first[0] != first[1]


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("mine.py", "FILE.py:FUNCTION"),
        ("mine.py:two words", "FILE.py:FUNCTION"),
        ("mine.py:rahgd", "a method of ours"),
        ("nowhere.py:halving", "no such file"),
        ("no_module_of_this_name:halving", "with a file of its own"),
        ("mine.py:absent", "no function absent"),
        ("mine.py:number", "no function number"),
    ],
)
def test_references_that_lead_nowhere(folder: Path, reference: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        name_of(str(folder / reference)) and load_solver(str(folder / reference))


def test_names_are_told_apart(folder: Path, tmp_path: Path) -> None:
    (folder / "twin.py").write_text(SOLVER, encoding="utf8")
    with pytest.raises(InputError, match="two own solvers are called halving"):
        load_campaign(folder / "grid.toml", [halving(folder), f"{folder / 'twin.py'}:halving"])
    with pytest.raises(InputError, match='write "own:steepest" in its methods'):
        load_campaign(folder / "grid.toml", [halving(folder), f"{folder / 'mine.py'}:steepest"])
    with pytest.raises(InputError, match="needs a campaign file"):
        main_of(["run", "--solver", halving(folder), "--out", str(tmp_path / "out"), "--debug"])


def main_of(words: list[str]) -> None:
    """The command with its exception."""
    from bilevel_verify.cli.commands.campaigns import run_command
    from bilevel_verify.cli.parser import build_parser

    run_command(build_parser().parse_args(words))


def test_functions_of_a_package_are_named_by_their_module() -> None:
    from bilevel_verify.testing import references

    found = reference_of(references.two_level_descent)
    assert found == f"{references.two_level_descent.__module__}:two_level_descent"
    assert load_solver(found) is references.two_level_descent


def test_the_file_that_raises_is_named(folder: Path) -> None:
    (folder / "mine.py").write_text("raise RuntimeError('at once')\n", encoding="utf8")
    with pytest.raises(InputError, match="RuntimeError: at once"):
        load_solver(halving(folder))
