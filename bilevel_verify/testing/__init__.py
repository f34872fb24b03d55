"""The testing kit: problems with known constants, assertions on any callable, broken controls, a pytest plugin.

Names are loaded when they are first used: the plugin of this room is imported by every pytest run of an environment.
"""

from __future__ import annotations

from bilevel_verify.first_use import on_first_use

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
    ".worst": "random_instances verify_random",
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

__all__ = sorted(" ".join(_HOME.values()).split())


__getattr__ = on_first_use(__name__, _HOME)  # a MissingExtraError names the extra that is absent
