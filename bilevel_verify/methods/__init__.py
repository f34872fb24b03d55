"""Who asks: outer schemes fed by gradient estimators, and the methods that papers name.

``run_method(problem, name, parameters, x0, ...)`` runs a method, ``run_batch(...)`` from many starts or seeds at once;
``stream(...)`` delivers the trace block by block while the run goes on; ``compose(scheme, estimator)`` makes a cell of
the table that no paper has named; ``methods()`` lists what there is.
"""

from __future__ import annotations

from bilevel_verify.methods import named  # noqa: F401  (fills the registry)
from bilevel_verify.methods.batch import run_batch
from bilevel_verify.methods.cubic import inexact as _inexact  # noqa: F401
from bilevel_verify.methods.cubic import named as _second_order  # noqa: F401
from bilevel_verify.methods.registry import (
    ESTIMATORS,
    METHODS,
    SCHEMES,
    Estimator,
    Letter,
    Method,
    Reading,
    Scheme,
    compose,
    register,
    register_estimator,
    register_scheme,
)
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.methods.simple import named as _simple  # noqa: F401
from bilevel_verify.methods.solve import find_method, run_method, stream
from bilevel_verify.methods.trajectory import Trajectory


def methods() -> list[Method]:
    """Every named method."""
    return list(METHODS.values())


__all__ = [
    "ESTIMATORS",
    "METHODS",
    "SCHEMES",
    "Estimator",
    "Letter",
    "Method",
    "Reading",
    "Run",
    "Scheme",
    "Trace",
    "Trajectory",
    "compose",
    "find_method",
    "methods",
    "register",
    "register_estimator",
    "register_scheme",
    "run_batch",
    "run_method",
    "stream",
]
