"""``truth``: the true quantities of a problem, beside closed forms; certificates that the small checker accepts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from test_cli_commands import as_json, call

from bilevel_check import check_folder

QUADRATIC = """
kind = "bilevel"
f = "(x1 - 1)**2/2 + y1**2/2"
g = "(y1 - 2*x1)**2/2"
x = "x1"
y = "y1"
start = [0.25]

[domain]
x1 = [-1, 1]
y1 = [-4, 4]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truths")
    (path / "two.toml").write_text(QUADRATIC)
    return path


def test_true_values_are_those_of_the_closed_form(folder: Path) -> None:
    """phi = (x - 1)^2/2 + 2 x^2 with y* = 2 x: gradient 5 x - 1, least value 2/5 at x = 1/5."""
    found = as_json(call("truth", "two.toml", "--x=0.5", "--json", folder=folder))
    assert found["x"] == [0.5]
    for name, value in (("phi_min", 0.4), ("y_star", [1.0]), ("phi", 0.625), ("grad_phi", [1.5]), ("delta", 0.225)):
        record = found["truth"][name]
        assert record["certainty"] == "certified"
        assert record["value"] == pytest.approx(value, rel=1e-12)
    assert as_json(call("truth", "two.toml", "--json", folder=folder))["x"] == [0.25]
    text = call("truth", "two.toml", folder=folder).stdout
    assert "phi_min" in text
    assert "certified: outward rounding all the way" in text


def test_its_certificates_are_accepted(folder: Path) -> None:
    done = call("truth", "two.toml", "--certificates", "files", folder=folder)
    assert "inf phi <= " in done.stdout
    assert "python -m bilevel_check files" in done.stdout
    checked = [verdict.shows for _, verdict in check_folder(folder / "files")]
    assert len(checked) >= 3
    assert set(checked) == {"proved"}


def test_bad_input_is_one_line(folder: Path) -> None:
    for words, said in (
        (["truth", "two.toml", "--x=1,2"], "x0 has shape (2,); this problem needs (1,)"),
        (["truth", "two.toml", "--x=a"], "--x"),
        (["truth", "zoo:ball-tangent", "--certificates", "none"], "--certificates: none for problems of the kind"),
        (["truth"], "name the problem with --problem"),
    ):
        done = call(*words, folder=folder, status=2)
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
        assert not done.stdout
    assert not (folder / "none").exists()


def test_the_truth_of_a_simple_bilevel_problem(folder: Path) -> None:
    found = as_json(call("truth", "zoo:ball-tangent", "--json", folder=folder))["truth"]
    assert found["x_star"]["value"] == pytest.approx([math.sqrt(0.5)] * 2, rel=1e-9)
    assert {"f_star", "g_star"} <= found.keys()
