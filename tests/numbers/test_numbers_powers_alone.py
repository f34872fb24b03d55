"""Powers and roots of rationals: rational exactly where they are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers import powers
from bilevel_verify.numbers.powers import LONGEST, exact_root, rational_power

pytestmark = pytest.mark.fast
F = Fraction


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("number", [*range(40), 10**20, 10**20 + 1, 2**200, 2**200 - 1, 3**90, 5**91 + 3])
def test_roots_of_whole_numbers(number: int, degree: int) -> None:
    power = number**degree
    assert powers._integer_root(power, degree) == number
    for near in (power - 1, power + 1):
        found = powers._integer_root(near, degree) if near >= 0 else None
        assert found is None or found**degree == near
        if found is None and near >= 0 and near < 2000:
            assert all(k**degree != near for k in range(near + 1))


@pytest.mark.parametrize(
    ("base", "exponent", "value"),
    [
        (F(4), F(1, 2), F(2)), (F(4, 9), F(1, 2), F(2, 3)), (F(4, 9), F(-1, 2), F(3, 2)), (F(8, 27), F(2, 3), F(4, 9)),
        (F(2), F(1, 2), None), (F(4, 3), F(1, 2), None), (F(3, 4), F(1, 2), None), (F(0), F(0), F(1)),
        (F(0), F(5), F(0)),
        (F(0), F(1, 3), F(0)), (F(-2), F(3), F(-8)), (F(-2), F(-2), F(1, 4)), (F(7), F(0), F(1)), (F(1), F(1, 5), F(1)),
        (F(2), F(1, 3), None), (F(7), F(1, 4), None),
    ],
)  # fmt: skip
def test_powers(base: Fraction, exponent: Fraction, value: Fraction | None) -> None:
    assert rational_power(base, exponent) == value


@pytest.mark.parametrize(("base", "exponent"), [(F(0), F(-1)), (F(0), F(-1, 2)), (F(-4), F(1, 2)), (F(-8), F(1, 3))])
def test_what_is_no_real_power(base: Fraction, exponent: Fraction) -> None:
    with pytest.raises(MathematicalError):
        rational_power(base, exponent)


def test_long_powers_are_not_written_out() -> None:
    assert rational_power(F(2), F(LONGEST // 2)) == 2 ** (LONGEST // 2)  # 2 has two bits
    assert rational_power(F(2), F(LONGEST // 2 + 1)) is None
    assert rational_power(F(1, 2), F(-LONGEST // 2)) == 2 ** (LONGEST // 2)
    assert rational_power(F(1, 2), F(-LONGEST // 2 - 1)) is None
    assert rational_power(F(1, 4), F(LONGEST // 3 + 1)) is None
    assert exact_root(F(16, 81), 4) == F(2, 3)
