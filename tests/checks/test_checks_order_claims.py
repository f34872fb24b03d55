"""Order claims along a sweep: which side bounds which, and that conditions of the claim are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import bilevel_verify as bv

EPS = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
CARD = """
[paper]
key = "orders"
[letters]
L = {{ from = "constants" }}
eps = {{ from = "user" }}
eta = {{}}
N = {{}}
[settings.s.parameters]
eta = "1/(100*L)"
N = "ceil(1/eps)"
[[theorem]]
id = "t"
method = "gradient-descent"
settings = ["s"]
  [[theorem.claim]]
  id = "c"
  over = "run"
  {claim}
  where = [{where}]
  where_from = "Theorem 1"
"""


def said(tmp_path: Path, claim: str, where: str = "") -> list[str]:
    """Verdicts on a method that asks exactly ceil(1/eps) gradients."""
    path = tmp_path / "orders.toml"
    path.write_text(CARD.format(claim=claim, where=where))
    problem = bv.single_level(f="x1**2 + cos(x1)", x="x1", start=[2.0])
    return [row.verdict for row in bv.verify(problem, path, eps=EPS, x0=[2.0]).claims]


@pytest.mark.parametrize(
    ("left", "op", "right", "verdict"),
    [
        ("calls(grad_f)", "<=", "O(1/eps)", "consistent"),
        ("calls(grad_f)", "<=", "O(1)", "inconsistent"),
        ("calls(grad_f)", "<=", "O(1/eps**2)", "uninformative"),
        # the symbol on the left: the relation is read from the right
        ("O(1/eps**2)", ">=", "calls(grad_f)", "uninformative"),
        ("O(1)", ">=", "calls(grad_f)", "inconsistent"),
        ("O(1/eps)", ">=", "calls(grad_f)", "consistent"),
        ("Omega(1)", "<=", "calls(grad_f)", "uninformative"),
        ("Omega(1/eps**2)", "<=", "calls(grad_f)", "inconsistent"),
        ("calls(grad_f)", ">=", "Omega(1/eps**2)", "inconsistent"),
        ("calls(grad_f)", ">=", "Omega(1)", "uninformative"),
        # a two-sided symbol bounds the side that its relation names
        ("calls(grad_f)", "==", "Theta(1/eps**2)", "inconsistent"),
        ("calls(grad_f)", "<=", "Theta(1/eps**2)", "uninformative"),
        ("calls(grad_f)", "<=", "Theta(1)", "inconsistent"),
        ("calls(grad_f)", ">=", "Theta(1)", "uninformative"),
        ("calls(grad_f)", ">=", "Theta(1/eps**2)", "inconsistent"),
        ("Theta(1/eps**2)", "==", "calls(grad_f)", "inconsistent"),
        # what bounds nothing is true whatever the counts
        ("calls(grad_f)", ">=", "O(1)", "uninformative"),
        ("calls(grad_f)", "<=", "Omega(1/eps**2)", "uninformative"),
    ],
)
def test_a_relation_with_an_order_is_judged_the_way_it_points(
    left: str, op: str, right: str, verdict: str, tmp_path: Path
) -> None:
    assert said(tmp_path, f'left = "{left}"\n  op = "{op}"\n  right = "{right}"') == [verdict]


def test_a_link_of_a_chain_that_has_no_order_is_compared_by_its_growth(tmp_path: Path) -> None:
    assert said(tmp_path, 'chain = ["calls(grad_f)", "<= 2/eps", "<= O(1)"]') == ["consistent", "inconsistent"]


@pytest.mark.parametrize(
    ("where", "right", "verdict"),
    [
        ("eps <= 1/15", "O(1)", "inconsistent"),  # without the first instance
        ("eps <= 1/15", "O(1/eps)", "consistent"),
        ("eps >= 1/150", "O(1)", "uninformative"),  # a bounded range: true with any count
        ("eps >= 1/15", "O(1)", "uninformative"),
        ("eps <= 1/900", "O(1)", "uninformative"),
        ("eps >= 1/2", "O(1)", "not applicable"),
    ],
)
def test_instances_that_the_conditions_of_the_claim_leave_out_do_not_count(
    where: str, right: str, verdict: str, tmp_path: Path
) -> None:
    assert said(tmp_path, f'left = "calls(grad_f)"\n  right = "{right}"', f'"{where}"') == [verdict]


def test_a_condition_that_the_enclosures_do_not_decide_leaves_the_rate_open(tmp_path: Path) -> None:
    tie = '"exp(log(3)) >= 3"'
    assert said(tmp_path, 'left = "calls(grad_f)"\n  right = "O(1)"', tie) == ["undecided"]
