"""Verdicts on simple bilevel problems: theorems hold on the zoo, controls are named, rounding is called rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.problems import FeasibleSet

KNOWN = {
    "weak-sharp": (1.0, 1), "power-hoelderian": (1.0, 4), "linear-inverse": (1.0, 2), "disc": (0.5, 4),
    "half-space-vertex": (1.0, 2), "half-space-interior": (1.0, 2), "simplex": (2.0, 2), "ball-chord-end": (1.0, 2),
    "ball-chord-inside": (1.0, 2), "ball-tangent": (2 * (np.sqrt(2) - 1), 2),
    "ill-conditioned": ((303 - np.sqrt(88609)) / 800, 2), "chain-simple": (np.sin(np.pi / 12) ** 2, 2),
}  # fmt: skip
WRONG = """
[paper]
key = "mine"
standing = "Section 1"
title = "A wrong bound"
authors = "nobody"
[letters]
L_f = { unit = "1", domain = "(0, oo)", from = "constants" }
L_g = { unit = "1", domain = "(0, oo)", from = "constants" }
K = { unit = "1", domain = "integers 1..", from = "user", default = "30" }
gamma = { unit = "1", domain = "(0, 1]" }
[functions]
f = { arguments = ["1"], value = "1" }
f_star = { value = "1" }
x_star = { value = "1" }
[settings.s]
parameters = { gamma = "1" }
[[theorem]]
id = "wrong"
method = "agm-bio"
settings = ["s"]
  [[theorem.claim]]
  id = "claim"
  over = "step"
  where = ["k >= 1"]
  where_from = "Theorem 1"
  left = "f(x[k]) - f_star()"
  right = "L_f*norm(x[0] - x_star())**2/(100*k**2)"
"""


def verdicts(problem: object, statement: str, **options: object) -> dict[str, str]:
    found = bv.verify(problem, f"agm-bio/{statement}", **options)  # type: ignore[arg-type]
    return {row.claim: row.verdict for row in found.claims}


@pytest.mark.parametrize("name", list(KNOWN))
def test_error_bounds_are_known_exactly(name: str) -> None:
    alpha, r = KNOWN[name]
    problem = bv.zoo(name)
    stated = problem.known["constants"]
    assert float(stated["alpha"]) == pytest.approx(alpha, rel=1e-14)
    found = bv.truth(problem).error_bound()
    assert found.certainty == "proved"
    assert found.r == r == float(stated["r"])
    assert found.alpha == pytest.approx(alpha, rel=1e-14)
    assert found.alpha <= alpha * (1 + 1e-15)
    assert bv.truth(problem).check_error_bound(found.alpha, found.r, count=30).holds


@pytest.mark.parametrize("seed", range(6))
def test_error_bound_of_toy_a_is_valid_and_tight(seed: int) -> None:
    """|Ax - b|^2/2 on the unit ball: (12) at random points, and nearly an equality at the worst of them."""
    rng = np.random.default_rng(seed)
    m, n = (1, 2) if seed % 2 else (2, 3)
    A = np.round(rng.normal(size=(m, n)), 1) + np.eye(m, n)
    inner = rng.normal(size=n)
    b = np.round(A @ (0.8 * inner / np.linalg.norm(inner)), 3)
    rows = [" + ".join(f"({a})*x{j + 1}" for j, a in enumerate(row)) + f" - ({c})" for row, c in zip(A, b)]
    problem = bv.simple_bilevel(
        f="x1", g=" + ".join(f"({row})**2/2" for row in rows), x=f"x{{1..{n}}}", feasible=bv.Ball(radius=1)
    )
    truth = bv.truth(problem)
    found = truth.error_bound()
    assert (found.certainty, found.r) == ("proved", 2.0)
    assert found.alpha is not None
    worst = truth.check_error_bound(found.alpha, 2.0, count=250, seed=seed)
    assert worst.holds
    assert worst.ratio < 60
    assert not truth.check_error_bound(found.alpha * 4 * worst.ratio, 2.0, count=250, seed=seed).holds


@pytest.mark.parametrize("name", ["weak-sharp", "disc", "ball-chord-end", "half-space-vertex", "chain-simple"])
def test_the_theorems_hold_on_the_zoo(name: str) -> None:
    problem = bv.zoo(name)
    sharp = "theorem-4-5" if KNOWN[name][1] == 1 else "theorem-4-4"
    for statement in ("condition-8", "lemma-a-1", "theorem-4-1", "lemma-4-3", "proposition-4-2", sharp):
        found = verdicts(problem, statement)
        assert "refuted" not in found.values(), (statement, found)
        assert "holds" in found.values(), (statement, found)


def test_displays_of_the_proofs_hold_at_every_k() -> None:
    problem = bv.zoo("weak-sharp")
    for statement in ("lemma-a-1-proof", "theorem-4-1-proof", "lemma-4-3-proof", "theorem-4-5-proof", "cutting-plane"):
        found = verdicts(problem, statement, values={"K": 25})
        assert set(found.values()) <= {"holds", "not applicable"}, (statement, found)
    for statement in ("remark-4-1", "remark-4-2", "remark-3-1", "remark-3-1-z", "remark-3-2", "conceptual-method"):
        found = verdicts(bv.zoo("ball-chord-end"), statement, values={"K": 20})
        assert set(found.values()) <= {"holds", "not applicable"}, (statement, found)
    found = verdicts(bv.zoo("disc"), "theorem-4-4-proof", values={"T": 30})
    assert set(found.values()) <= {"holds", "not applicable"}, found


def test_lemma_b_1_on_a_composite_problem() -> None:
    problem = bv.simple_bilevel(
        f="((x1 - 1)**2 + x2**2)/2 + abs(x1)/10 + abs(x2)/5",
        g="(x1 + x2 - 1)**2/2 + (abs(x1) + abs(x2))/4",
        x="x1 x2",
        feasible=bv.WholeSpace(),
    )
    for statement in ("lemma-b-1", "lemma-b-1-proof"):
        found = verdicts(problem, statement, x0=[1.0, 1.0], values={"K": 30})
        assert set(found.values()) == {"holds"}, (statement, found)


KINKED = {"f": "((x1 - 4/5)**2 + (x2 - 1/10)**2)/2 + 2/5*abs(x1)", "g": "43/50*(x1 - x2)**2/2", "x": "x1 x2"}


@pytest.mark.parametrize(
    ("feasible", "wanted"),
    [
        (bv.Box((-1.0, -1.0), (1.0, 1.0)), "not applicable"),
        (bv.WholeSpace(), "not applicable"),
        (bv.Box((0.0, -1.0), (1.0, 1.0)), "holds"),
        (bv.Box((-1.0, -1.0), (0.0, 1.0)), "holds"),
    ],
)
def test_a_kink_is_no_lipschitz_gradient(feasible, wanted) -> None:
    """Lemma A.1 asks f to be L_f-smooth; with the L_f of its smooth part it was called refuted on the first box."""
    problem = bv.simple_bilevel(**KINKED, feasible=feasible)
    rows = bv.verify(problem, "agm-bio/lemma-a-1", x0=[0.0, -0.9], values={"K": 40}).claims
    found = {row.verdict for row in rows}
    assert wanted in found
    assert found <= {wanted, "undecided"}, "ties along a side of the box"
    if wanted == "not applicable":
        assert {row.reason for row in rows} == {
            "f has a kink where x1 = 0: L_f is the constant of its smooth part, not of f"
        }


def test_condition_8_fails_at_zero_for_values_from_the_start_on() -> None:
    rows = bv.verify(bv.zoo("weak-sharp"), "agm-bio/condition-8-values", x0=[0.1, 0.5], values={"K": 30}).claims
    printed = {row.claim: row.verdict for row in rows if row.as_printed}
    assert printed == {"above": "holds", "below": "refuted"}
    assert [row.verdict for row in rows if not row.as_printed] == ["holds"]
    assert verdicts(bv.zoo("weak-sharp"), "condition-8", x0=[0.1, 0.5]) == {"above": "holds", "below": "holds"}


def test_a_wrong_bound_is_refuted_in_fifty_digits(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(WRONG, encoding="utf-8")
    (row,) = bv.verify(bv.zoo("linear-inverse"), f"{path}/wrong").claims
    assert row.verdict == "refuted"
    assert "confirmed in 50 digits" in (row.reason or "")


@pytest.mark.parametrize(
    ("name", "statement", "words"),
    [
        ("nonconvex-lower", "theorem-4-1", "not convex"),
        ("no-lower-minimiser", "lemma-4-3", "no minimiser"),
        ("no-error-bound", "theorem-4-4", "infinite order"),
        ("linear-inverse-compact", "theorem-4-1", "D is infinite"),
    ],
)
def test_negative_controls_are_named(name: str, statement: str, words: str) -> None:
    for row in bv.verify(bv.zoo(name), f"agm-bio/{statement}").claims:
        assert row.verdict == "not applicable"
        assert words in (row.reason or "")


def test_values_that_meet_the_minimum_are_a_matter_of_precision() -> None:
    """g_k is the float below g* = (2 - sqrt 2)^2 / 2: a violation of (8) by less than a unit in the last place."""
    level = float(np.nextafter((2 - np.sqrt(2)) ** 2 / 2, 0))
    found = bv.verify(bv.zoo("ball-tangent"), "agm-bio/theorem-4-1", values={"K": 40}, parameters={"g_k": level})
    for row in found.claims:
        if row.claim != "equation-11":  # its condition holds nowhere on this run
            assert row.verdict == "undecided"
            assert (row.reason or "").startswith("precision: ")
    (row, *_) = bv.verify(
        bv.zoo("ball-tangent"), "agm-bio/theorem-4-1", values={"K": 40}, parameters={"g_k": level - 1e-3}
    ).claims
    assert row.verdict == "not applicable"
    assert "lies below g*" in (row.reason or "")


def test_own_sequence_below_the_minimum_is_said() -> None:
    """g_k below g*: the run cannot be made, or condition (8) is false on it; never a verdict about the theorem."""
    problem = bv.zoo("linear-inverse")
    for level in (-1e-3, -0.5):
        rows = bv.verify(problem, "agm-bio/lemma-4-3", parameters={"g_k": level}).claims
        assert {row.verdict for row in rows} <= {"undecided", "not applicable"}


def test_rates_over_a_sweep_of_the_horizon() -> None:
    found = bv.verify(
        bv.zoo("weak-sharp"), "agm-bio/rates-theorem-4-5", sweep={"K": [10, 20, 40, 80, 160]}, x0=[1.0, 1.0]
    )
    assert {row.verdict for row in found.claims} <= {"consistent", "uninformative"}
    assert "consistent" in {row.verdict for row in found.claims}
    tilted = bv.verify(bv.zoo("power-hoelderian", r=4), "agm-bio/rates-theorem-4-4", sweep={"T": [10, 20, 40, 80, 160]})
    assert {row.verdict for row in tilted.claims} <= {"consistent", "uninformative"}
    for row in tilted.claims:
        assert row.measured is not None
        assert row.bound is not None
        assert row.measured <= row.bound + 0.05


INSIDE = """
[paper]
key = "inside"
standing = "Section 1"
title = "Claims on the feasible set"
[functions]
f = { arguments = ["1"], value = "1" }
[[lemma]]
id = "on-the-set"
  [[lemma.claim]]
  id = "true"
  over = "point"
  for = { a = "domain" }
  for_from = "Theorem 1"
  left = "f(a)"
  right = "1 + 1/10**9"
  [[lemma.claim]]
  id = "false"
  over = "point"
  for = { a = "domain" }
  for_from = "Theorem 1"
  left = "f(a)"
  right = "1/3"
"""


@pytest.mark.parametrize("feasible", [bv.Ball(1.0), bv.Simplex(), bv.L1Ball(1.0), bv.Box((0, 0), (0.5, 0.75))])
def test_points_are_drawn_from_the_feasible_set(feasible: FeasibleSet, tmp_path: Path) -> None:
    path = tmp_path / "inside.toml"
    path.write_text(INSIDE, encoding="utf-8")
    problem = bv.simple_bilevel(f="x1**2 + x2**2", g="(x1 - x2)**2", x="x1 x2", feasible=feasible)
    found = {row.claim: row.verdict for row in bv.verify(problem, path).claims}
    assert found["true"] in ("holds", "undecided")
    assert found["false"] == "refuted"
