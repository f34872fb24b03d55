"""The testing kit: problems with known constants, assertions on any callable, broken controls, a pytest plugin.

Names are loaded when they are first used: the plugin of this room is imported by every pytest run of an environment.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "instances.blocks": "Block ChainBlock block",
    "instances.data_sums": "DataBlock",
    "instances.families": "Instance",
    "instances.simple": "SimpleInstance",
    "instances.ridges": "Ridge ridge",
    "instances.counting": "CountedOracles",
    "instances.strategies": (
        "bilevel_instances minimax_instances single_level_instances simple_bilevel_instances saddle_instances "
        "displaced_instances hoelder_instances hard_instances data_sum_instances "
        "instances blocks spectra bases exponents points tolerances feasible_sets"
    ),
    "trials.contracts": "BrokenContract Profile QUICK THOROUGH profile",
    "assertions.gradients": "assert_hypergradient assert_hyper_hessian",
    "assertions.inner_solvers": "assert_inner_solver_rate assert_linear_solver",
    "assertions.solvers": "assert_descent assert_counts assert_same_iterates assert_stationary",
    "assertions.promises": "assert_keeps_promises",
    "assertions.simple_solvers": "SimpleOracles assert_simple_bilevel",
    "assertions.statements": "assert_oracles assert_constants",
    "assertions.everything": "assert_all",
    "assertions.black_box": "assert_black_box assert_invariant assert_rate assert_stopping",
    "assertions.stochastic": "SampledOracles assert_unbiased assert_variance assert_seeded",
    "instances.formulas": "formulas parameters",
    "assertions.metamorphic": "RELATIONS assert_metamorphic",
    "instances.rewriting": "RewrittenOracles Rewriting rewritten",
    "controls.broken": "CONTROLS REFERENCES Control detection_matrix",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted((*_MODULE_OF, "random_instances"))


def __getattr__(name: str) -> Any:
    """Load a public name on first use (a MissingExtraError names the extra that is absent)."""
    if name == "random_instances":
        from bilevel_verify.worst import random_instances

        return random_instances
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'bilevel_verify.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bilevel_verify.testing.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
