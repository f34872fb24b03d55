"""Rescaling, permuting and rotating a problem transforms its constants as the theory says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from constants_generator import SEED, random_sample

from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis

A, B, C = sympy.symbols("a b c", real=True)
WHOLE = [
    sympy.sin(A) + B**2 / 2 + sympy.cos(A - B),
    A**2 - A * B + sympy.tanh(A + 2 * B) + sympy.log(1 + (A - B) ** 2),
    sympy.cos(A + B) + sympy.cos(A - B + C) + C**2,
    sympy.exp(-(A**2 + B**2) / 2) + sympy.sqrt(1 + A**2),
]


def _analysis(
    expression: Any, variables: tuple[Any, ...], dx: int = 1, box: float | None = None, effort: float = 0.3
) -> Analysis:
    n = len(variables)
    size = math.inf if box is None else box
    domain = Domain(np.full(n, -size), np.full(n, size), "test", box is None)
    return Analysis(
        structure_of(normalise(expression), variables), (True,) * dx + (False,) * (n - dx), domain, "h", effort
    )


def _pair(analysis: Analysis, form: str) -> tuple[float, float]:
    bound = analysis.norm(form)
    return bound.lower, bound.upper


def _overlap(first: tuple[float, float], second: tuple[float, float], factor: float) -> bool:
    low, high = first[0] * factor, first[1] * factor
    return low <= second[1] * (1 + 1e-6) + 1e-12 and second[0] <= high * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("number", range(len(WHOLE)))
@pytest.mark.parametrize("form", ["zz", "zzz", "zzzz"])
def test_scaling_of_values_and_variables(number: int, form: str) -> None:
    """h -> a h, z -> b z multiplies the k-th constant by a b^k."""
    expression = WHOLE[number]
    variables = tuple(sorted(expression.free_symbols, key=str))
    scaled = 3 * expression.subs({v: sympy.Rational(1, 2) * v for v in variables}, simultaneous=True)
    first, second = _pair(_analysis(expression, variables), form), _pair(_analysis(scaled, variables), form)
    assert _overlap(first, second, 3 * 0.5 ** len(form))
    assert second[1] == pytest.approx(first[1] * 3 * 0.5 ** len(form), rel=0.03)


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_permutation_of_variables(number: int) -> None:
    expression = WHOLE[number]
    variables = tuple(sorted(expression.free_symbols, key=str))
    turned = tuple(reversed(variables))
    for form in ("zz", "zzz"):
        first, second = _pair(_analysis(expression, variables, 0), form), _pair(_analysis(expression, turned, 0), form)
        assert second[1] == pytest.approx(first[1], rel=0.02)


@pytest.mark.parametrize("number", range(len(WHOLE)))
@pytest.mark.parametrize("form", ["zz", "zzz"])
def test_rotation_on_the_whole_space(number: int, form: str) -> None:
    """z -> Q z with the rational rotation (3/5, 4/5) keeps joint constants."""
    expression = WHOLE[number]
    variables = tuple(sorted(expression.free_symbols, key=str))
    c, s = sympy.Rational(3, 5), sympy.Rational(4, 5)
    rotated = expression.subs({A: c * A - s * B, B: s * A + c * B}, simultaneous=True)
    first, second = _pair(_analysis(expression, variables), form), _pair(_analysis(rotated, variables), form)
    assert _overlap(first, second, 1.0)
    assert second[1] == pytest.approx(first[1], rel=0.05)


def test_rotation_of_a_box_overlaps() -> None:
    """On a rotated box (its hull) the enclosures [lower, upper] of the inner boxes overlap after transformation."""
    expression = A**4 / 4 + sympy.sin(A * B) + B**2
    c, s = sympy.Rational(3, 5), sympy.Rational(4, 5)
    rotated = expression.subs({A: c * A - s * B, B: s * A + c * B}, simultaneous=True)
    for form in ("zz", "zzz"):
        inner = _pair(_analysis(expression, (A, B), 1, 1.0), form)
        # the unit box lies inside the rotated image of the box of half-width 7/5, and contains that of 5/7
        outer = _pair(_analysis(rotated, (A, B), 1, 1.4), form)
        small = _pair(_analysis(rotated, (A, B), 1, 0.714), form)
        assert inner[0] <= outer[1] * (1 + 1e-9)
        assert small[0] <= inner[1] * (1 + 1e-9)


def test_constant_shift_changes_nothing() -> None:
    for expression in WHOLE[:2]:
        variables = tuple(sorted(expression.free_symbols, key=str))
        for form in ("zz", "zzz"):
            assert _pair(_analysis(expression, variables), form) == pytest.approx(
                _pair(_analysis(expression + 10**8, variables), form)
            )


@pytest.mark.parametrize("block", range(4))
def test_random_problems_scale(block: int) -> None:
    rng = np.random.default_rng(SEED + 77 + block)
    for _ in range(10):
        sample = random_sample(rng)
        size = None if sample.box is None else sample.box
        form = ["zz", "zzz"][int(rng.integers(2))]
        first = _analysis(sample.expression, sample.variables, sample.dx, size, 0.0).norm(form).upper
        halved = sample.expression.subs({v: 2 * v for v in sample.variables}, simultaneous=True)
        second = (
            _analysis(5 * halved, sample.variables, sample.dx, None if size is None else size / 2, 0.0).norm(form).upper
        )
        if math.isfinite(first) and first > 1e-9:
            assert second == pytest.approx(first * 5 * 2 ** len(form), rel=0.1), (SEED, sample)
