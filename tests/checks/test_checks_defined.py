"""Claims about derivatives at points where the function itself has no value: never `holds`."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv

CARD = """
[paper]
key = "own"
title = "own"
standing = "Section 2"
[units]
F = "values of f"
X = "length of x"
[letters]
eps = { unit = "F/X", domain = "(0, oo)", from = "user", meaning = "target" }
eta = { unit = "X**2/F", domain = "(0, oo)", from = "user", meaning = "step" }
[functions]
f = { arguments = ["X"], value = "F" }
grad_f = { arguments = ["X"], value = "F/X" }
hess_f = { arguments = ["X"], value = "F/X**2" }
[[theorem]]
id = "theorem-1"
source = "Theorem 1"
algorithm = "algorithm-1"
  [[theorem.claim]]
  id = "last"
  over = "run"
  left = "norm(grad_f(output))"
  right = "100*eps"
  [[theorem.claim]]
  id = "curved"
  over = "step"
  left = "eta*norm(hess_f(x[k]))"
  right = "100"
[[algorithm]]
id = "algorithm-1"
source = "Algorithm 1"
inputs = ["x_int", "eta"]
steps = \"\"\"
k = 0; x[0] = x_int                       # 1
while k < 2:                              # 2
    d = grad_f(x[k])                      # 3
    x[k+1] = x[k] - eta*d                 # 4
    k = k + 1                             # 5
return x[k]                               # 6
\"\"\"
"""


@pytest.mark.parametrize(
    ("f", "start", "verdict"),
    [("log(-1 - x1**2)", 1.0, "undecided"), ("log(x1)", -1.5, "undecided"), ("log(x1)", 1.5, "holds")],
)
def test_gradients_of_what_has_no_value(tmp_path: Path, f: str, start: float, verdict: str) -> None:
    (tmp_path / "own.toml").write_text(CARD, encoding="utf-8")
    problem = bv.single_level(f=f, x="x1")
    found = bv.verify(problem, f"{tmp_path}/own.toml/theorem-1", eps=0.1, x0=[start], parameters={"eta": 0.1})
    assert [row.verdict for row in found.claims] == [verdict, verdict]
