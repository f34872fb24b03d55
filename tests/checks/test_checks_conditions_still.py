"""Conditions about all points or about parameters that a statement assumes: hypotheses like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv

CARD = """
[paper]
key = "conditions"
[letters]
L = {{ from = "constants" }}
eta = {{}}
N = {{}}
[settings.s.parameters]
eta = "1/L"
N = "4"
[[condition]]
id = "bounded"
  [[condition.claim]]
  id = "b"
  over = "{over}"
  {ranges}
  left = "{left}"
  right = "{right}"
[[theorem]]
id = "t"
method = "gradient-descent"
assumes = ["bounded"]
settings = ["s"]
  [[theorem.claim]]
  id = "true"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k])"
  [[theorem.claim]]
  id = "false"
  over = "step"
  left = "f(x[k])"
  right = "f(x[k+1])"
"""
POINT = 'for = { x = "domain", u = "domain" }'


@pytest.mark.parametrize(
    ("over", "left", "right", "verdicts", "said"),
    [
        # a bowl is bounded by no number: whatever the theorem promises of bounded functions, this one breaks nothing
        ("point", "abs(f(x))", "1", ["not applicable"] * 2, "bounded is false on this problem: violated at x = ["),
        ("point", "norm(grad_f(x))", "3", ["not applicable"] * 2, "bounded is false on this problem"),
        # true, and nobody proves it
        ("point", "0", "f(x) + 10", ["undecided"] * 2, "hypothesis: bounded, b: survived "),
        ("point", "norm(grad_f(x) - grad_f(u))", "L*norm(x - u)", ["holds", "refuted"], ""),  # what L is
        ("parameters", "L", "2", ["holds", "refuted"], ""),
        ("parameters", "L", "1", ["not applicable"] * 2, "bounded is false on this problem"),
        ("run", "f(output)", "O(1)", ["undecided"] * 2, "an order, which no instance shows"),
    ],
)
def test_nothing_is_said_of_a_problem_that_a_condition_leaves_out(
    over: str, left: str, right: str, verdicts: list[str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "conditions.toml"
    path.write_text(CARD.format(over=over, left=left, right=right, ranges=POINT if over == "point" else ""))
    found = bv.verify(bv.single_level(f="x1**2", x="x1"), f"{path}/t", x0=[3.0])
    assert [row.verdict for row in found.claims] == verdicts
    assert all(said in (row.reason or "") for row in found.claims)
    assert any(row.left.startswith("bounded, b: ") for row in found.hypotheses)
