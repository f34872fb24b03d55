"""A theorem that assumes the Polyak-Lojasiewicz inequality, on problems that are not strongly convex."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv

CARD = r"""
[paper]
key = "pl-draft"
title = "Gradient descent under the Polyak-Lojasiewicz inequality"
standing = "Section 1"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
m = { unit = "F/X**2", domain = "(0, oo)", from = "constants", of = ["f:x"], measure = "Polyak-Lojasiewicz" }
delta = { unit = "F", domain = "[0, oo)", from = "truth", meaning = "f(x_int) - inf f" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user" }
eta = { unit = "X**2/F", domain = "(0, oo)" }
[functions]
f = { arguments = ["X"], value = "F" }
grad_f = { arguments = ["X"], value = "F/X" }
[settings.main.parameters]
eta = "1/L"
[[theorem]]
id = "rate"
source = "Theorem 1"
method = "gradient-descent"
settings = ["main"]
  [[theorem.claim]]
  id = "contraction"
  over = "step"
  left = "f(x[k+1]) - f(x_int) + delta"
  right = "(1 - m/L)*(f(x[k]) - f(x_int) + delta)"
  [[theorem.claim]]
  id = "twice-as-fast"
  over = "step"
  left = "f(x[k+1]) - f(x_int) + delta"
  right = "(1 - 2*m/L)*(f(x[k]) - f(x_int) + delta)"
"""


def rows(tmp_path: Path, f: str) -> dict[str | None, str]:
    path = tmp_path / "pl.toml"
    path.write_text(CARD)
    p = bv.single_level(f=f, x="x1 x2 x3", name="mine")
    found = bv.verify(p, bv.card(path), eps=1e-3, x0=[1.0, -2.0, 0.5])
    return {row.claim: row.verdict for row in found.claims}


def test_the_rate_holds_where_the_inequality_is_verified_and_a_faster_one_is_refuted(tmp_path: Path) -> None:
    """``f = (a.x)^2/2 + (b.x)^2/2`` of rank 2 in three variables: m = 1, L = 3, so that 1 - 2m/L is beaten."""
    found = rows(tmp_path, "(x1 + x2 + x3)**2/2 + (x1 - x2)**2/4")
    assert found["contraction"] == "holds"
    assert found["twice-as-fast"] == "refuted"


@pytest.mark.parametrize("f", ["x1**4/4 + x2**2/2 + x3**2", "cos(x1) + x2**2 + x3**2"])
def test_where_it_is_not_shown_nothing_is_claimed(tmp_path: Path, f: str) -> None:
    assert "holds" not in rows(tmp_path, f).values()
    assert "refuted" not in rows(tmp_path, f).values()
