"""Correct reference solvers with switches: ``fault`` names one deliberate mistake, the empty text none.

Each mistake is a small change at the line where a person makes it; the controls are these functions with a fault.
"""

from bilevel_verify.testing.references.hypergradients import (
    Remembering,
    asks_for_ever,
    ends_the_process,
    finite_differences,
    implicit_hypergradient,
    lower_solution,
    penalty_hypergradient,
    raises,
    runs_for_ever,
)
from bilevel_verify.testing.references.inner import accelerated_descent, conjugate_gradients, jacobi, shared_buffer
from bilevel_verify.testing.references.outer import (
    descent,
    hyper_descent,
    reporting_solver,
    restarted_descent,
    two_level_descent,
)
from bilevel_verify.testing.references.simple import regularised
from bilevel_verify.testing.references.stated import constants_helper, hyper_hessian, written_by_hand

__all__ = [
    "Remembering",
    "accelerated_descent",
    "asks_for_ever",
    "conjugate_gradients",
    "constants_helper",
    "descent",
    "ends_the_process",
    "finite_differences",
    "hyper_descent",
    "hyper_hessian",
    "implicit_hypergradient",
    "jacobi",
    "lower_solution",
    "penalty_hypergradient",
    "raises",
    "regularised",
    "reporting_solver",
    "restarted_descent",
    "runs_for_ever",
    "shared_buffer",
    "two_level_descent",
    "written_by_hand",
]
