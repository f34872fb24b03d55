"""A derivative can have a value where its function has none (1/t at -1, log has none): nothing is claimed there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.errors import MathematicalError

LEVELS = (
    ("x1**2 + y1", "(y1 - x1)**2 + log(x1)"),  # g has no value
    ("x1**2 + log(y1)/100", "(y1 - x1)**2"),  # f has none at y*
)
SINGLE = ("log(x1)", "x1**2/2 + log(x1)/1000", "log(x1**3)", "log(x1 + 3) + log(-log(-x1/9 + 1))")


@pytest.mark.parametrize("f", SINGLE)
@pytest.mark.parametrize("what", ["phi", "grad_phi", "hess_phi", "lambda_min_hess_phi"])
def test_one_level(f: str, what: str) -> None:
    known = bv.truth(bv.single_level(f=f, x="x1"))
    with pytest.raises(MathematicalError, match="no finite value"):
        getattr(known, what)([-1.0])
    assert np.isinf(getattr(known, f"{what}_batch")([[-1.0]])[1]).all()


@pytest.mark.parametrize(("f", "g"), LEVELS)
@pytest.mark.parametrize("what", ["phi", "grad_phi", "hess_phi"])
def test_two_levels(f: str, g: str, what: str) -> None:
    known = bv.truth(bv.bilevel(f=f, g=g, x="x1", y="y1"))
    with pytest.raises(MathematicalError):
        getattr(known, what)([-1.0])
    values, errors = getattr(known, f"{what}_batch")([[-1.0], [1.0]])
    assert np.isinf(errors[0])
    assert np.isfinite(errors[1])
    assert getattr(known, what)([1.0]).certainty == "certified"
    assert np.allclose(values[1], getattr(known, what)([1.0]).value)


def test_the_solution_of_a_lower_level_without_values() -> None:
    known = bv.truth(bv.bilevel(f="x1 + y1", g="y1**2 + log(-1 - x1**2)", x="x1", y="y1"))
    for what in ("y_star", "phi", "grad_phi", "grad_y_star"):
        with pytest.raises(MathematicalError):
            getattr(known, what)([1.0])
        assert np.isinf(getattr(known, f"{what}_batch")([[1.0]])[1]).all()


@pytest.mark.parametrize(
    "problem",
    [
        {"f": "x1**2 + y1", "g": "(y1 - x1)**2 + log(x1)", "y": "y1"},  # x1**2 + x1 is least at -1/2
        {"f": "sin(x1) + y1**2", "g": "y1**2 - x1*y1 + log(cos(x1) - 2)", "y": "y1"},
        {"f": "x1 + log(-1 - x1**2)/1000"},  # SymPy: tends to -oo
    ],
)
def test_no_infimum_is_certified_where_nothing_has_a_value(problem: dict[str, Any]) -> None:
    made = bv.bilevel(x="x1", **problem) if "g" in problem else bv.single_level(x="x1", **problem)
    with pytest.raises(MathematicalError):
        bv.truth(made).phi_min()


def test_a_ray_along_which_all_has_values_still_shows_that_there_is_no_infimum() -> None:
    assert bv.truth(bv.single_level(f="x1 + log(1 + x1**2)/1000", x="x1")).phi_min().certainty == "certified"
