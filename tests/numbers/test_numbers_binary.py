"""Binary numbers of any length: exact conversions, functions beside mpmath's, NaN where there is no value."""

from __future__ import annotations

import math
from typing import Any

import flint
import mpmath
import numpy as np
import pytest

from bilevel_verify.numbers import binary
from bilevel_verify.numbers.rounding import precision

pytestmark = pytest.mark.fast
BITS = 182


@pytest.mark.parametrize("text", ["0", "1", "-3", "0.1", "-1e-200", "7e300", "123456789123456789.25"])
def test_both_conversions_are_exact(text: str) -> None:
    with mpmath.workprec(BITS):
        number = mpmath.mpf(text)
        assert binary.to_mpmath(binary.binary(number)) == number


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_infinities_and_nan_stay(value: float) -> None:
    back = binary.to_mpmath(binary.binary(mpmath.mpf(value)))
    assert back == value or (math.isnan(value) and mpmath.isnan(back))


def test_counts_and_floats_of_a_vector_are_taken() -> None:
    assert binary.binary((3, 4)) == (3, 4)
    assert [binary.to_mpmath(one) for one in (0.0, 2, flint.arf(0.5))] == [0, 2, 0.5]
    assert binary.entries_to_mpmath(np.array([[flint.arf(3), 0.25]], dtype=object)).tolist() == [[3, 0.25]]


@pytest.mark.parametrize("name", "exp log log1p sqrt sin cos tan sinh cosh tanh asinh atan erf".split())
def test_functions_are_those_of_mpmath(name: str) -> None:
    with precision(BITS), mpmath.workprec(BITS):
        for value in ("0.7", "2.25"):
            number = mpmath.mpf(value)
            found = binary.to_mpmath(binary.function(name)(binary.binary(number)))
            assert abs(found - getattr(mpmath, name)(number)) <= mpmath.ldexp(1, 4 - BITS) * max(1, abs(found))


@pytest.mark.parametrize(
    "of", [lambda a: binary.root(a), lambda a: binary.function("log")(a), lambda a: binary.power(a, 0.5)]
)
def test_what_has_no_value_is_nan(of: Any) -> None:
    assert of(flint.arf(-2)).is_nan()


def test_powers_and_kernels_of_mpmath() -> None:
    with precision(BITS), mpmath.workprec(BITS):
        assert abs(float(binary.power(flint.arf(3), 1.5)) - 3**1.5) < 1e-14
        square = binary.through_mpmath(lambda a, n: a**n)
        assert float(square(flint.arf(3), 2)) == 9
