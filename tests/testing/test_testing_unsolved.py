"""A hypergradient whose formula is right and whose lower level is not solved is told from a wrong formula."""

from __future__ import annotations

import numpy as np
import pytest

from bilevel_verify.testing import BrokenContract, Profile, assert_hypergradient

SHORT = Profile("short", 4)


def hypergradient(oracles, x, sign=-1.0, steps=2000):
    y = np.zeros(oracles.dy)
    for _ in range(steps):
        y = y - oracles.grad_y_g(x, y) / oracles.L
    _, gxy, gyy = oracles.hess_g(x, y)
    fx, fy = oracles.grad_f(x, y)
    return fx + sign * gxy @ np.linalg.solve(gyy, fy)


def complaint(**fault) -> str:
    with pytest.raises(BrokenContract) as found:
        assert_hypergradient(lambda oracles, x: hypergradient(oracles, x, **fault), profile_=SHORT)
    return str(found.value).splitlines()[0]


def test_too_few_inner_steps_are_named_with_the_point_and_its_slope() -> None:
    said = complaint(steps=3)
    assert "looks like the right formula at y = [" in said
    assert "where the lower level is not solved (|grad_y g| = " in said


def test_a_wrong_sign_at_a_solved_lower_level_is_not_called_unsolved() -> None:
    said = complaint(sign=1.0)
    assert "wrong sign" in said
    assert "not solved" not in said


def test_a_wrong_sign_and_too_few_steps_are_not_called_the_right_formula() -> None:
    assert "the right formula" not in complaint(sign=1.0, steps=3)
