"""Families: ranges, candidates, what is no family."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.errors import ProblemError
from bilevel_verify.worst import families, family
from bilevel_verify.worst.family import Range, from_file, from_table, inside

QUADRATIC = {"kind": "single_level", "f": "m*x1**2/2 + x2**2/2", "x": "x1 x2", "knobs": {"m": 1}}


def table(**free: object) -> dict[str, object]:
    return {**QUADRATIC, "free": free}


def test_scales_reach_both_ends_and_stay_between():
    assert [Range("a", 1, 100, "log").at(u) for u in (0, 0.5, 1)] == [1, 10, 100]
    assert [Range("a", -1, 3).at(u) for u in (0, 0.5, 1)] == [-1, 1, 3]
    whole = [Range("n", 2, 4, "integer").at(u) for u in np.linspace(0, 1, 31)]
    assert set(whole) == {2, 3, 4}
    assert [whole.count(n) for n in (2, 3, 4)] == pytest.approx([10, 10, 10], abs=1)
    assert Range("a", 1, 2).at(-5) == 1
    assert Range("a", 1, 2).at(math.pi) == 2


def test_numbers_of_a_candidate_have_six_digits_so_that_its_text_is_the_candidate():
    found = from_table("q", table(m=[0.1, 1]), None).candidate([1 / 3, 0.123456789, 0.9], 0.1)
    assert found.knobs == {"m": "0.4"}
    assert found.x0 == (-1.50617, 1.6)
    assert str(found.problem.knobs["m"]) == "2/5"


def test_a_dumped_candidate_is_the_same_problem():
    from bilevel_verify.problems.files import dump, loads

    for one in families():
        found = one.candidate(np.linspace(0.2, 0.8, one.size(True)).tolist(), None, True)
        assert loads(dump(found.problem)).content_hash() == found.problem.content_hash(), one.name


def test_shipped_families_cover_the_four_kinds_and_start_inside():
    every = families()
    assert {one.kind for one in every} == {"single_level", "bilevel", "minimax", "simple_bilevel"}
    for one in families("simple_bilevel"):
        for u in np.random.default_rng(0).random((5, one.size(False))):
            found = one.candidate(u.tolist())
            assert found.problem.feasible.contains(list(found.x0)), one.name
    assert {one.kind for one in families("minimax")} == {"minimax"}


@pytest.mark.parametrize("name", [one.name for one in families() if "minimum" in one.spec.get("known", {})])
def test_the_minimum_that_a_family_states_is_one(name):
    """The search takes it at its word: no point of a sample lies below it, and descent comes near it."""
    from scipy.optimize import minimize

    from bilevel_verify.problems.numbers import read_knobs

    one = family(name)
    rng = np.random.default_rng(5)
    for u in rng.random((2, one.size(False))):
        problem = one.candidate(u.tolist()).problem
        least = float(read_knobs({"least": problem.known["minimum"]}, problem.knobs)["least"])
        truth = bv.truth(problem)
        values = [float(truth.phi(x).value) for x in rng.uniform(-3, 3, (12, problem.dx))]
        assert min(values) >= least - 1e-9
        if one.kind == "single_level":
            starts = [np.zeros(problem.dx), *rng.uniform(-4, 4, (8, problem.dx))]
            found = min(
                minimize(lambda x, t=truth: float(t.phi(x).value), x, options={"maxiter": 25}).fun for x in starts
            )
            assert found == pytest.approx(least, abs=1e-3)


def test_starts_are_moved_into_the_domain():
    boxed = bv.single_level(f="x1**2", x="x1", domain={"x1": (-1, 1)})
    assert inside(boxed, (5.0,)) == (1.0,)
    ball = bv.simple_bilevel(f="x1**2 + x2**2", g="x1**2", x="x1 x2", feasible=bv.Ball(radius=1))
    assert np.linalg.norm(inside(ball, (3.0, 4.0))) <= 1 + 1e-6
    assert inside(ball, (0.1, 0.2)) == (0.1, 0.2)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (QUADRATIC, "needs a table"),
        (table(), "needs a table"),
        (table(z=[0, 1]), "no knob 'z'"),
        (table(m=[1, 0]), "low <= high"),
        (table(m=[0, 1, 2]), "low <= high"),
        (table(m="0..1"), "low <= high"),
        (table(m=[0, True]), "low <= high"),
        (table(m=[0, float("inf")]), "low <= high"),
        (table(m={"low": 0, "high": 1, "scale": "log"}), "positive"),
        (table(m={"low": 1, "high": 2, "scale": "cubic"}), "scale"),
        (table(m={"low": 1, "high": 2, "step": 1}), "scale"),
        (table(eps=[0, 1]), "tolerance is positive"),
        ({**table(m=[0, 1]), "kind": "three_level"}, "kind"),
        ({**table(m=[0, 1]), "f": "m*x1**2 +"}, r"\w"),
    ],
)
def test_what_is_no_family_says_so_in_one_line(given, match):
    with pytest.raises((ProblemError, bv.ExpressionError), match=match) as caught:
        from_table("q", given, None)
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('kind = "single_level"\nf = "m*x1**2"\nx = "x1"\n[knobs]\nm = 1\n[free]\nm = [1, 2]\n')
    assert from_file(path).candidate([1.0, 0.5]).knobs == {"m": "2"}
    assert bv.load(path).knobs["m"] == 1  # a family is an ordinary problem file too
    with pytest.raises(ProblemError, match=r"none\.toml"):
        from_file(tmp_path / "none.toml")
    with pytest.raises(ProblemError, match="did you mean"):
        family("single-hubber")
