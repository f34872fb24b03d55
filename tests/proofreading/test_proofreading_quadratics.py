"""Extreme values of quadratics over the whole space, against closed forms; what is no quadratic has none."""

from __future__ import annotations

import numpy as np
import pytest

from bilevel_verify.proofreading.instances.quadratics import stationary_point

SEEDS = range(20)


def made(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    source = np.random.default_rng(seed)
    root = source.normal(size=(size, size))
    return root @ root.T + np.eye(size), source.normal(size=size), float(source.normal())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_where_the_gradient_is_zero(seed: int, sign: int) -> None:
    hessian, slope, start = made(seed, 1 + seed % 4)
    found = stationary_point(lambda y: sign * (y @ hessian @ y / 2) + slope @ y + start, len(slope), sign)
    assert found is not None
    np.testing.assert_allclose(sign * hessian @ found + slope, 0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quadratic_that_bends_the_other_way_has_none(seed: int) -> None:
    hessian, slope, start = made(seed, 3)
    assert stationary_point(lambda y: y @ hessian @ y / 2 + slope @ y + start, 3, -1) is None
    flat = hessian - np.linalg.eigvalsh(hessian)[0] * np.eye(3)
    assert stationary_point(lambda y: y @ flat @ y / 2 + slope @ y + start, 3, 1) is None
    assert stationary_point(lambda y: slope @ y + start, 3, 1) is None


@pytest.mark.parametrize(
    "extra", [lambda y: np.linalg.norm(y) ** 3, lambda y: 1e-3 * y[0] ** 3, lambda y: np.abs(y[1]), np.linalg.norm]
)
def test_what_is_no_quadratic_has_none(extra) -> None:
    assert stationary_point(lambda y: float(y @ y + extra(y)), 3, 1) is None
