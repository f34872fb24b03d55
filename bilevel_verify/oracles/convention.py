"""The calling convention between oracles and solver loops. Changing anything here changes every compiled file.

An oracle is a function ``(x, y, out)`` or ``(x, y, v, out)`` on C-contiguous float64 arrays that writes into ``out``
and returns nothing. ``x`` has length dx, ``y`` length dy (0 for problems of one block; ``y`` is then an empty array).
The functions of one problem travel as one named tuple, :class:`OracleSet`; what a method does not ask for is a stub.

===========================  =====================================================================================
field                        writes into ``out``
===========================  =====================================================================================
``value_f value_g``          ``out[0]``
``grad_f grad_g``            x-part then y-part, length dx + dy
``grad_x_f grad_x_g``        length dx
``grad_y_f grad_y_g``        length dy
``hess_f hess_g``            the full symmetric Hessian over (x, y), C order, length (dx+dy)^2
``third_f third_g``          symmetric storage: entries (i <= j <= k) over (x, y), lexicographic, n(n+1)(n+2)/6
``hvp_f hvp_g``              (nabla^2 h) v over (x, y); ``v`` and ``out`` of length dx + dy
``hvp_yy_f hvp_yy_g``        (nabla^2_yy h) v, length dy
``jvp_xy_f jvp_xy_g``        (nabla^2_xy h) v, v of length dy, out of length dx
``jvp_yx_f jvp_yx_g``        (nabla^2_yx h) v = (nabla^2_xy h)^T v, v of length dx, out of length dy
===========================  =====================================================================================

For a minimax problem ``g`` stands for ``-f`` (so that its y-minimiser is the inner solution); its calls are reported
as calls of ``f``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence

    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float64] | MutableSequence[float]"
"""A point, or what an oracle writes into: a float64 array; in many digits a list of mpmath numbers."""
Counts: TypeAlias = "NDArray[np.int64] | MutableSequence[int]"
"""Calls by kind, in the order of :data:`COUNTERS`, then what the budget needs."""
Evaluation: TypeAlias = "Callable[[Vector, Vector, Vector], None]"
"""An oracle ``(x, y, out)``; compiled loops get the address of one."""
Product: TypeAlias = "Callable[[Vector, Vector, Vector, Vector], None]"
"""An oracle ``(x, y, v, out)``."""

VERSION = 2
"""Part of every cache key."""

_KINDS = ("value", "grad", "grad_x", "grad_y", "hess", "third")
_PRODUCTS = ("hvp", "hvp_yy", "jvp_xy", "jvp_yx")
EVALUATIONS: tuple[str, ...] = tuple(f"{kind}_{h}" for h in "fg" for kind in _KINDS)
"""Oracles ``(x, y, out)``, in the order of :class:`OracleSet`."""
PRODUCTS: tuple[str, ...] = tuple(f"{kind}_{h}" for h in "fg" for kind in _PRODUCTS)
"""Oracles ``(x, y, v, out)``, in the order of :class:`OracleSet`."""
FIELDS = EVALUATIONS + PRODUCTS


class OracleSet(NamedTuple):
    """The oracles of one problem, as solver loops get them: functions, or the addresses of compiled ones."""

    value_f: Any
    grad_f: Any
    grad_x_f: Any
    grad_y_f: Any
    hess_f: Any
    third_f: Any
    value_g: Any
    grad_g: Any
    grad_x_g: Any
    grad_y_g: Any
    hess_g: Any
    third_g: Any
    hvp_f: Any
    hvp_yy_f: Any
    jvp_xy_f: Any
    jvp_yx_f: Any
    hvp_g: Any
    hvp_yy_g: Any
    jvp_xy_g: Any
    jvp_yx_g: Any


assert OracleSet._fields == FIELDS

COUNTERS: tuple[str, ...] = (
    "grad_f",
    "grad_g",
    "hvp_yy_g",
    "jvp_xy_g",
    "hess_f",
    "hess_g",
    "value_f",
    "value_g",
    "third_f",
    "third_g",
    "hvp_f",
    "hvp_g",
    "hvp_yy_f",
    "jvp_xy_f",
    "stop_grad_f",
    "stop_grad_g",
    "stop_value_f",
    "stop_value_g",
    "stop_hess_f",
    "stop_hess_g",
)
"""Kinds that are counted, in the order of the counter array. ``stop_*``: stopping tests that a paper does not count.
Steps on a feasible set (projections, linear minimisation) are no oracle calls: papers count them as iterations."""

(
    GRAD_F,
    GRAD_G,
    HVP_YY_G,
    JVP_XY_G,
    HESS_F,
    HESS_G,
    VALUE_F,
    VALUE_G,
    THIRD_F,
    THIRD_G,
    HVP_F,
    HVP_G,
    HVP_YY_F,
    JVP_XY_F,
    STOP_GRAD_F,
    STOP_GRAD_G,
    STOP_VALUE_F,
    STOP_VALUE_G,
    STOP_HESS_F,
    STOP_HESS_G,
) = range(len(COUNTERS))

CALLS, BUDGET, EXHAUSTED = (len(COUNTERS) + place for place in range(3))
"""Behind the counters: calls of all kinds together, the most allowed, and whether that was exceeded (0 or 1)."""
COUNTS_LENGTH = len(COUNTERS) + 3
NO_BUDGET = 2**62

KIND_OF: Mapping[str, str] = MappingProxyType(
    {
        **{f"{kind}_{h}": f"grad_{h}" for h in "fg" for kind in ("grad", "grad_x", "grad_y")},
        **{f"{kind}_{h}": f"{kind}_{h}" for h in "fg" for kind in ("value", "hess", "third", "hvp", "hvp_yy")},
        **{f"{kind}_{h}": f"jvp_xy_{h}" for h in "fg" for kind in ("jvp_xy", "jvp_yx")},
    }
)
"""Oracle -> counter. Both parts of a gradient are one gradient; a product with the mixed block or its transpose is one
Jacobian-vector product."""


def new_counts(budget: int | None = None) -> NDArray[np.int64]:
    """A counter array: zeros, and the budget (calls of all kinds together; None for none)."""
    import numpy as np

    counts = np.zeros(COUNTS_LENGTH, dtype=np.int64)
    counts[BUDGET] = most_calls(budget)
    return counts


def most_calls(budget: int | None) -> int:
    """A budget as the counter array holds it: a number beyond its range is no limit, a negative one allows nothing."""
    return NO_BUDGET if budget is None else min(max(budget, 0), NO_BUDGET)


def named_counts(counts: Counts, *, minimax: bool = False) -> dict[str, int]:
    """Kind -> calls, kinds that were never asked left out; for minimax the calls of ``g`` are calls of ``f``."""
    result: dict[str, int] = {}
    for kind, number in zip(COUNTERS, counts):
        name = kind[:-1] + "f" if minimax else kind
        if number:
            result[name] = result.get(name, 0) + int(number)
    return result
