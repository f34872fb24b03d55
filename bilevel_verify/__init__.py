"""From two closed formulas, an upper-level ``f(x, y)`` and a lower-level ``g(x, y)``, to a verdict on a theorem.

The public names are loaded when they are first used, so that ``import bilevel_verify`` stays fast and silent::

    import bilevel_verify as bv

    p = bv.bilevel(f="sin(x1) + y1**2/2", g="y1**2 - x1*y1", x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-3, 3)})
    bv.derive(p).hypergradient      # SymPy
    bv.constants(p)                 # certified smoothness constants
    bv.verify(p, "ragd-gs/lemma-1") # verdicts, each with its margin
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bilevel_verify.errors import (
    BilevelVerifyError,
    CardError,
    CertificationError,
    ExpressionError,
    InfeasibleError,
    InputError,
    LatexError,
    MathematicalError,
    MissingExtraError,
    ParameterError,
    ProblemError,
    SolverError,
    SolverFailure,
    StoreError,
)
from bilevel_verify.first_use import on_first_use
from bilevel_verify.version import VERSION as __version__

_HOME = {
    "problems": (
        "Problem ProblemFamily bilevel minimax single_level simple_bilevel load dump zoo "
        "Ball Box Orthant Simplex L1Ball WholeSpace HalfSpace Isotonic Intersection"
    ),
    "symbolic": "Derivation derive",
    "constants": "Constant constants",
    "oracles": "Oracles oracles",
    "truth": "Enclosure Truth truth",
    "methods": "Method Run Trace Trajectory methods run_batch",
    "theorems": "Card card cards statements read",
    "drafting": "Draft draft read_answers",
    "solving": "solve solve_batch",
    "checks": "Row Verification",
    "verifying": "verify",
    "worst": "WorstCase worst_case random_instances verify_random",
    "audit": "Finding audit check",
    "campaign": "run_campaign load_campaign",
    "reporting": "report",
}
_ROOMS = ("plot",)
"""Rooms that are public as they are: ``bv.plot.hyper_objective(p)``."""

__all__ = [
    "BilevelVerifyError",
    "CardError",
    "CertificationError",
    "ExpressionError",
    "InfeasibleError",
    "InputError",
    "LatexError",
    "MathematicalError",
    "MissingExtraError",
    "ParameterError",
    "ProblemError",
    "SolverError",
    "SolverFailure",
    "StoreError",
    "__version__",
    *" ".join(_HOME.values()).split(),
    *_ROOMS,
]


__getattr__ = on_first_use(__name__, _HOME, modules=_ROOMS, public=True)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps ``bv.constants`` the function although a room (sub-package) has the same name.

    Importing a sub-package binds it on its parent; for the few rooms named like the function that they exist for, that
    binding is dropped. ``from bilevel_verify.constants import ...`` is not affected.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in __all__ and name not in _ROOMS:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if TYPE_CHECKING:  # the same names for type checkers and editors
    from bilevel_verify import plot
    from bilevel_verify.audit import Finding, audit, check
    from bilevel_verify.campaign import load_campaign, run_campaign
    from bilevel_verify.checks import Row, Verification
    from bilevel_verify.constants import Constant, constants
    from bilevel_verify.methods import Method, Run, Trace, Trajectory, methods, run_batch
    from bilevel_verify.oracles import Oracles, oracles  # type: ignore[no-redef]
    from bilevel_verify.problems import (  # type: ignore[no-redef]
        Ball,
        Box,
        HalfSpace,
        Intersection,
        Isotonic,
        L1Ball,
        Orthant,
        Problem,
        ProblemFamily,
        Simplex,
        WholeSpace,
        bilevel,
        dump,
        load,
        minimax,
        simple_bilevel,
        single_level,
        zoo,
    )
    from bilevel_verify.reporting import report
    from bilevel_verify.solving import solve, solve_batch
    from bilevel_verify.symbolic import Derivation, derive
    from bilevel_verify.theorems import Card, card, cards, read, statements
    from bilevel_verify.truth import Enclosure, Truth, truth
    from bilevel_verify.verifying import verify
    from bilevel_verify.worst import WorstCase, random_instances, verify_random, worst_case
