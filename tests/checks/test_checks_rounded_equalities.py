"""Equalities of an algorithm's own steps are ties: the run in many digits has rounded its iterates, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.claims.facts import reads_iterates
from bilevel_verify.theorems.library import load_card

CARD = """
[paper]
key = "own"
[letters]
K = {{ domain = "integers 1.." }}
[settings.main.parameters]
K = "4"
[[theorem]]
id = "t"
algorithm = "a"
settings = ["main"]
[[theorem.claim]]
id = "q"
over = "{over}"
left = "{left}"
right = "{right}"
[[algorithm]]
id = "a"
inputs = ["x_int", "K"]
steps = \"\"\"
k = 0; x[0] = x_int
while k < K:
    w[k] = x[k]/3
    x[k+1] = x[k] + 1/3
    k = k + 1
return x[k]
\"\"\"
"""


def row(tmp_path: Path, left: str, right: str, over: str = "step") -> bv.Row:
    path = tmp_path / "own.toml"
    path.write_text(CARD.format(left=left, right=right, over=over), encoding="utf-8")
    problem = bv.single_level(f="x1**2/2 + x2**2", x="x1 x2", start=[1.0, 0.7])
    (found,) = [r for r in bv.verify(problem, f"{path}/t").claims if r.claim == "q" and r.judges == "relation"]
    return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2/9", "norm(x[k+1] - x[k])**2"),
        ("norm(x[k+1] - x[k])**2", "2/9"),
        ("norm(x[k])**2", "9*norm(w[k])**2"),
        ("9*norm(w[k])**2", "norm(x[k])**2"),
    ],
)
def test_no_side_of_an_equality_is_refuted(tmp_path: Path, left: str, right: str) -> None:
    found = row(tmp_path, left, right)
    assert found.verdict == "undecided"
    assert "tie" in str(found.reason) or "not in 50 digits" in str(found.reason)


def test_what_is_false_still_is(tmp_path: Path) -> None:
    assert row(tmp_path, "norm(x[k+1] - x[k])**2", "2/9 - 1/10**9").verdict == "refuted"
    assert row(tmp_path, "iterations", "3", over="run").verdict == "refuted"


@pytest.mark.parametrize(
    ("left", "right", "reads"),
    [("iterations", "3", False), ("norm(x[k])", "3", True), ("f(output)", "3", True), ("calls(grad_f)", "K", False)],
)
def test_what_reads_iterates(tmp_path: Path, left: str, right: str, reads: bool) -> None:
    path = tmp_path / "own.toml"
    path.write_text(CARD.format(left=left, right=right, over="run"), encoding="utf-8")
    (claim,) = next(s for s in load_card(path).statements if s.id == "t").claims
    assert reads_iterates(claim) is reads
