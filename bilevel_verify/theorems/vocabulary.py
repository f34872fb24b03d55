"""What an expression of a card may mention, scope by scope.

Names are the field's. A claim that mentions a quantity its scope does not have is a card error; the tables here are
what the reader checks against and what the evaluators of the rooms below must know.
"""

from __future__ import annotations

from bilevel_verify.language import binding
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS, Scope

NUMBERS = frozenset({"pi", "E", "oo"})
"""Letters that are always known."""

SCALAR_FUNCTIONS = frozenset({*ELEMENTARY, *"abs max min plus binomial factorial".split()})
SCALAR_CALLS = frozenset("floor ceil min max abs sqrt log exp".split())
"""The same as far as ranges, tests and indices need them: what exact numbers and their enclosures follow."""
RANGE_FUNCTIONS = binding.RANGE_FUNCTIONS
RANGE_ONLY = RANGE_FUNCTIONS - {"max", "min"}

VECTOR_FUNCTIONS = frozenset(
    "norm dot lambda_min lambda_max T inv mode frobenius integral eigenvalue coordinate dim".split()
)
"""``integral(body, (t, a, b))``; ``eigenvalue(A, j)`` is the j-th smallest eigenvalue of a symmetric matrix and
``coordinate(A, v, j)`` the component of v along its unit eigenvector, j from 1; ``dim(v)`` the number of entries."""

ARGUMENTS = {
    **dict.fromkeys(SCALAR_FUNCTIONS - {"max", "min", "binomial"}, 1),
    **dict.fromkeys("norm lambda_min lambda_max T inv frobenius dim".split(), 1),
    **dict.fromkeys("binomial dot eigenvalue integral".split(), 2),
    **dict.fromkeys("mode coordinate".split(), 3),
}
"""How many arguments functions take that take a fixed number of them."""

ORDER_FUNCTIONS = ORDER_SYMBOLS

ORACLE_FUNCTIONS = frozenset(
    "f g grad_f grad_x_f grad_y_f grad_g grad_x_g grad_y_g hess_f hess_xx_f hess_xy_f hess_yx_f hess_yy_f "
    "hess_g hess_xx_g hess_xy_g hess_yx_g hess_yy_g third_xxx_g third_xxy_g third_xyx_g third_yxx_g third_xyy_g "
    "third_yxy_g third_yyx_g third_yyy_g third_xxy_f third_xyy_f third_yyy_f third_xxy_L third_xyy_L "
    "third_yyy_L".split()
)
TRUTH_FUNCTIONS = frozenset(
    "y_star y_star_lam v_star phi grad_phi hess_phi grad_y_star grad_y_star_lam hess_y_star hess_y_star_lam "
    "L_star grad_L_star hess_L_star L_lam grad_L_lam grad_x_L grad_y_L hess_xx_L hess_xy_L hess_yx_L hess_yy_L "
    "h grad_h hess_h phi_star x_star f_star g_star dist".split()
)
"""Truth of the problem: ``phi_star()`` is the infimum of phi, on one level also ``f_star()``; ``L_star`` and its kind
are at the penalty ``lam`` in force; ``h`` is a function under test of a lemma about one function (its minimiser is the
letter ``z_star`` or ``q_star``)."""

RUN_FUNCTIONS = frozenset({"calls", "probability"})
RUN_LETTERS = frozenset("iterations epochs status output lambda_min_output".split())
STEP_LETTERS = frozenset("k t k_end ended_by_restart last_epoch small_gradient x_int".split())
SEQUENCES = frozenset("x w y z v u e ghat wbar xi mu_k g_k".split())
ORACLE_KINDS = frozenset(
    "grad_f grad_g hvp_yy_g jvp_xy_g hvp_f hvp_g hvp_yy_f jvp_xy_f hess_f hess_g value_f value_g third_g stop_grad_f "
    "stop_grad_g any".split()
)
"""What ``calls(...)`` may name; ``any`` is the sum of the gradient calls of f and g."""

_MATH = SCALAR_FUNCTIONS | RANGE_FUNCTIONS | VECTOR_FUNCTIONS
_POINT = _MATH | ORACLE_FUNCTIONS | TRUTH_FUNCTIONS

FUNCTIONS_OF_SCOPE: dict[Scope, frozenset[str]] = {
    "parameters": SCALAR_FUNCTIONS | RANGE_FUNCTIONS | ORDER_FUNCTIONS,
    "point": _POINT | ORDER_FUNCTIONS,
    "step": _POINT,
    "epoch": _POINT | ORDER_FUNCTIONS,
    "run": _POINT | RUN_FUNCTIONS | ORDER_FUNCTIONS,
    "order": _POINT | RUN_FUNCTIONS | ORDER_FUNCTIONS,
}
LETTERS_OF_SCOPE: dict[Scope, frozenset[str]] = {
    "parameters": frozenset(),
    "point": frozenset(),
    "step": STEP_LETTERS | {"output"},
    "epoch": STEP_LETTERS | {"output"},
    "run": RUN_LETTERS | STEP_LETTERS,
    "order": RUN_LETTERS | STEP_LETTERS,
}
SCOPES_WITH_SEQUENCES: frozenset[Scope] = frozenset({"step", "epoch", "run", "order"})


def scopes_of_letter(name: str) -> list[Scope]:
    """The scopes in which a letter of the run exists (for the error message)."""
    return [scope for scope, letters in LETTERS_OF_SCOPE.items() if name in letters]


def scopes_of_function(name: str) -> list[Scope]:
    """The scopes in which a function exists (for the error message)."""
    return [scope for scope, functions in FUNCTIONS_OF_SCOPE.items() if name in functions]
