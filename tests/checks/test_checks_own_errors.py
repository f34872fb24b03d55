"""An exception of the user's solver is the user's: no word of ours about precision, in floats or in many digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.solvers.own_solver import run_own

STATEMENT = "restarted-agd-hb/theorem-1:equation-7,gradients"


class Raises:
    """A solver that takes two steps and raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, oracles: Any, x0: Any, parameters: Any) -> Any:
        oracles.grad_x_f(x0)
        raise self.error


@pytest.fixture(scope="module")
def bowl() -> bv.Problem:
    return bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2")


@pytest.mark.parametrize("error", [ZeroDivisionError("1/0"), ValueError("no"), TypeError("t"), KeyError("k")])
def test_an_exception_of_the_solver_is_named_and_kept(bowl: bv.Problem, error: Exception) -> None:
    with pytest.raises(bv.SolverError, match=f"raised {type(error).__name__}: ") as caught:
        bv.verify(bowl, STATEMENT, eps=0.05, x0=[2.0, 1.5], method=Raises(error))
    assert caught.value.__cause__ is error


def test_our_own_errors_pass_through(bowl: bv.Problem) -> None:
    with pytest.raises(bv.ParameterError, match="mine") as caught:
        run_own(bowl, Raises(bv.ParameterError("mine")), {}, np.array([2.0, 1.5]), {}, None)
    assert not isinstance(caught.value, bv.SolverError)


def test_a_solver_without_a_name_is_called_callable(bowl: bv.Problem) -> None:
    with pytest.raises(bv.SolverError, match="'callable' raised OverflowError"):
        run_own(bowl, Raises(OverflowError("big")), {}, np.array([2.0, 1.5]), {}, None)


def test_many_digits_are_not_a_fault_of_the_solver(bowl: bv.Problem) -> None:
    with pytest.raises(NotImplementedError, match="TypeError: floats only"):
        run_own(bowl, Raises(TypeError("floats only")), {}, np.array([2.0, 1.5]), {"digits": 50}, None)
