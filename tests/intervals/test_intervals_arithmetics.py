"""Programs run over boxes and balls contain the values at every sampled point."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from seeds import SEED

from bilevel_verify.atoms import logsumexp, psi, softplus
from bilevel_verify.intervals import INTERVALS, Interval, arithmetics, ball_ends, floats_of
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import NUMPY
from bilevel_verify.symbolic.differentiate import gradient, hessian
from bilevel_verify.symbolic.program import program_of

x, y = sympy.symbols("x y", real=True)
FORMULAS = [
    y**2 + sympy.sin(x * y) / (2 + sympy.cos(x)),
    softplus(x - y) + logsumexp(x, 2 * y, 1) + psi(sympy.Rational(1, 2), x + y),
    sympy.exp(x) * sympy.tanh(y) + sympy.sqrt(1 + x**2) - sympy.Max(x, y),
    sympy.Piecewise((x**2, x < 0), (x**3 * y, True)) + sympy.Abs(y),
]

BALLS = ArbBalls()


@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_boxes_contain_their_points(number: int) -> None:
    rng = np.random.default_rng(SEED + number)
    programs = [program_of(FORMULAS[number], [x, y])]
    if number < 2:
        programs += [gradient(programs[0]), hessian(programs[0])]
    lo = rng.uniform(-1.5, 1, size=(2, 50))
    hi = lo + rng.exponential(0.3, size=(2, 50))
    for program in programs:
        found = program.run(INTERVALS, [Interval(lo[0], hi[0]), Interval(lo[1], hi[1])])
        for _ in range(20):
            points = lo + rng.random((2, 50)) * (hi - lo)
            values = program.run(NUMPY, [points[0], points[1]])
            for interval, value in zip(found, values):
                assert (interval.lo <= value + 1e-12).all(), SEED
                assert (interval.hi >= value - 1e-12).all(), SEED


@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_balls_at_points(number: int) -> None:
    import flint

    program = program_of(FORMULAS[number], [x, y])
    for a, b in ((0.3, -0.7), (-1.25, 0.5), (2.0, 1.0)):
        low, high = floats_of(program.run(BALLS, [flint.arb(a), flint.arb(b)])[0])
        value = float(program.run(NUMPY, [np.array([a]), np.array([b])])[0][0])
        assert low <= value + 1e-13
        assert high >= value - 1e-13
        assert high - low < 1e-12


def test_logarithms_of_sums_are_proved_where_ends_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside ``ball_ends`` nothing rests on the exponential of NumPy, which is only assumed to be accurate."""
    import mpmath

    columns = [Interval.of([0.3, -700.0], [0.3, 2.0]), Interval.of([1.0, 3.0], [1.5, 3.0]), Interval.of([-2.0, 0.0])]
    fast = INTERVALS.logsumexp(columns)
    wrong = lambda ends, side: np.zeros(2)
    monkeypatch.setattr(arithmetics, "_logsumexp_end", wrong)
    assert INTERVALS.logsumexp(columns).lo.tolist() == [0.0, 0.0]
    with ball_ends():
        proved = INTERVALS.logsumexp(columns)
    for found in (fast, proved):
        for row in range(2):
            with mpmath.workdps(40):
                low, high = (
                    mpmath.log(mpmath.fsum(mpmath.exp(getattr(c, side)[row]) for c in columns)) for side in ("lo", "hi")
                )
            assert found.lo[row] <= low <= high <= found.hi[row]
            assert found.hi[row] - found.lo[row] <= float(high - low) + 1e-13
