"""The one scalar function that needs a form of its own in each arithmetic (the compiled form is ``math.sqrt``)."""

from __future__ import annotations

import math
from typing import Any

from bilevel_verify.oracles.jit import compiled_as


@compiled_as(math.sqrt)
def square_root(a: Any) -> Any:
    """sqrt(a), correctly rounded for floats; NaN below zero."""
    if isinstance(a, (int, float)):
        return math.sqrt(a) if a >= 0 else math.nan
    return a.context.sqrt(a) if a >= 0 else a * math.nan
