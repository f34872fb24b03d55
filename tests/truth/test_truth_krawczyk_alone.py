"""Krawczyk's test on systems that answer what is written: sizes, steps, trial radii, what the image covers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from bilevel_verify.numbers.rounding import precision
from bilevel_verify.truth.arithmetic.krawczyk import krawczyk

pytestmark = pytest.mark.fast
TINY = 2.0 ** (-53 + 16)


class Tried(Exception):
    """The system was asked."""


def refuses(_: Any) -> Any:
    raise Tried


def identity(n: int) -> Any:
    return flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def shifted(*target: float) -> Any:
    """``u = target``."""
    return lambda u: ([v - t for v, t in zip(u, target, strict=True)], identity(len(target)))


def test_sizes_up_to_three_hundred_are_tried_and_nothing_else_than_numbers() -> None:
    with pytest.raises(Tried):
        krawczyk(refuses, [0.0] * 300)
    assert krawczyk(refuses, [0.0] * 301) is None
    for lost in (np.nan, np.inf, -np.inf):
        assert krawczyk(refuses, [0.0, lost]) is None


def test_thirty_newton_steps_and_no_more() -> None:
    """A residual that stays 1 moves the middle by 1 each time."""
    found = krawczyk(lambda u: ([flint.arb(1)], identity(1)), [0.0])
    assert found is not None
    assert float(found[0].mid()) == -30.0
    assert float(found[0].rad()) == pytest.approx(1.0, rel=1e-6, abs=0.0)


@pytest.mark.parametrize(
    ("start", "target", "found"),
    [
        ([0.0], [999.0], True), ([0.0], [1000.0], False), ([0.0], [1500.0], False), ([1.0], [1500.0], True),
        ([-1.0], [1500.0], True), ([1.0], [2001.0], False), ([0.0, 9.0], [5000.0, 9.0], True),
        ([9.0, 0.0], [9.0, 5000.0], True),
        ([0.0, 9.0], [-5000.0, 9.0], True), ([0.0, 0.0], [0.0, -1500.0], False),
    ],
)  # fmt: skip
def test_steps_are_limited_by_the_size_of_the_start(start: Any, target: Any, found: bool) -> None:
    balls = krawczyk(shifted(*target), start)
    assert (balls is not None) == found
    if balls is not None:
        assert all(ball.contains(t) for ball, t in zip(balls, target))


def test_a_step_that_is_no_number_ends_the_search() -> None:
    assert krawczyk(lambda u: ([flint.arb("nan")], identity(1)), [0.0]) is None
    assert krawczyk(lambda u: ([u[0]], flint.arb_mat([[0]])), [0.0]) is None


def recorded(residuals: list[float], jacobian: Any) -> tuple[Any, list[Any]]:
    """A system that answers the residuals one after the other (the last for ever), with the arguments it was asked."""
    asked: list[Any] = []

    def system(u: list[Any]) -> Any:
        asked.append(u[0])
        return [flint.arb(residuals[min(len(asked), len(residuals)) - 1])], flint.arb_mat([[jacobian]])

    return system, asked


@pytest.mark.parametrize(
    ("move", "steps"), [(2.0**-46, 1), (-(2.0**-46), 1), (2.0**-45, 2), (-(2.0**-45), 2), (2.0 ** (-0.85 * 53), 2)]
)
def test_newton_goes_on_until_a_step_is_below_rounding(move: float, steps: int) -> None:
    system, asked = recorded([move, 0.0], 1)
    assert krawczyk(system, [1.0]) is not None
    assert len(asked) == steps + 2, "the steps, the residual at the middle, one box"


def test_every_unknown_has_to_settle() -> None:
    for at_rest in (0, 1):

        def system(u: list[Any], at_rest: int = at_rest) -> Any:
            v, w = u[at_rest], u[1 - at_rest]
            slopes = [[1, 0], [0, 2 * w]] if at_rest == 0 else [[2 * w, 0], [0, 1]]
            residual = [v, w * w - 2] if at_rest == 0 else [w * w - 2, v]
            return residual, flint.arb_mat(slopes)

        start = [0.0, 1.2] if at_rest == 0 else [1.2, 0.0]
        found = krawczyk(system, start)
        assert found is not None
        assert found[at_rest].contains(0)
        assert found[1 - at_rest].contains(flint.arb(2).sqrt().mid())
        assert float(found[1 - at_rest].rad()) < 1e-15


@pytest.mark.parametrize(("start", "residual"), [(3.0, 0.0), (-3.0, 0.0), (0.0, 0.0), (-3.0, 2.0**-50)])
def test_trial_radii(start: float, residual: float) -> None:
    """Four times the last step and ``2^(16 - prec) (1 + |v|)``, then 64 times as large, ten times in all."""
    system, asked = recorded([0.0, residual, 0.0], flint.arb(1, 2))
    assert krawczyk(system, [start]) is None
    boxes = asked[2:]
    first = 4 * residual + TINY * (1 + abs(start))
    assert len(boxes) == 10
    for k, box in enumerate(boxes):
        assert float(box.mid()) == start
        assert float(box.rad()) == pytest.approx(first * 64.0**k, rel=1e-6, abs=0.0)


def test_the_result_covers_the_image_and_not_much_more() -> None:
    """Jacobian 1 +- 1/4, last residual d: the image reaches ``r / 4 + d`` for the trial radius ``r = 4 d + tiny``."""
    d = 2.0**-40
    system, _ = recorded([0.0, d, 0.0], flint.arb(1, 0.25))
    found = krawczyk(system, [5.0])
    assert found is not None
    r = Fraction(4 * d) + Fraction(TINY) * 6
    reach = r / 4 + Fraction(d)
    assert float(found[0].mid()) == 5.0
    assert found[0].contains(flint.arb(5) + flint.fmpq(reach.numerator, reach.denominator))
    assert found[0].contains(flint.arb(5) - flint.fmpq(reach.numerator, reach.denominator))
    assert float(found[0].rad()) <= float(reach) * (1 + 1e-6)


@pytest.mark.parametrize("slack", [1 - 2.0**-30, 1 - 3 * 2.0**-30, 1.0, 1.5])
def test_a_jacobian_that_may_vanish_proves_nothing(slack: float) -> None:
    """With ``J`` in [0, 2] the image is the box, where radii of 30 bits round a little early: it has to lie inside."""
    assert krawczyk(recorded([0.0], flint.arb(1, slack))[0], [0.0]) is None
    assert krawczyk(recorded([0.0], flint.arb(1, 0.99))[0], [0.0]) is not None


def test_one_unknown_that_is_not_proved_is_enough_to_refuse() -> None:
    def system(u: list[Any]) -> Any:
        return [u[0], u[1]], flint.arb_mat([[flint.arb(1, 3), 0], [0, 1]])

    def turned(u: list[Any]) -> Any:
        return [u[0], u[1]], flint.arb_mat([[1, 0], [0, flint.arb(1, 3)]])

    assert krawczyk(system, [0.0, 0.0]) is None
    assert krawczyk(turned, [0.0, 0.0]) is None


def test_coupled_unknowns_share_their_uncertainty() -> None:
    """Off the diagonal 1/4 and 1/8 of uncertainty: each image reaches so much of the other radius."""

    def system(u: list[Any]) -> Any:
        return [u[0] - 1, u[1] - 4], flint.arb_mat([[1, flint.arb(0, 0.25)], [flint.arb(0, 0.125), 1]])

    found = krawczyk(system, [1.0, 4.0])
    assert found is not None
    radii = [TINY * 2, TINY * 5]
    assert float(found[0].rad()) == pytest.approx(0.25 * radii[1], rel=1e-6, abs=0.0)
    assert float(found[1].rad()) == pytest.approx(0.125 * radii[0], rel=1e-6, abs=0.0)


def test_higher_precision_gives_smaller_balls() -> None:
    with precision(300):
        found = krawczyk(lambda u: ([u[0] ** 3 - 5], flint.arb_mat([[3 * u[0] ** 2]])), [1.7])
        assert found is not None
        assert (found[0] ** 3).contains(5)
        assert float(found[0].rad()) < 1e-80
