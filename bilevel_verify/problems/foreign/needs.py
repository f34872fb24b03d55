"""What the operations of another program need in order to have a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from bilevel_verify.problems.definedness import Need, sign_of_base
from bilevel_verify.problems.foreign.entries import Entries

SIGNS = {
    "log": (0, "positive"),
    "log1p": (0, "positive"),
    "rsqrt": (0, "positive"),
    "sqrt": (0, "nonnegative"),
    "div": (-1, "nonzero"),
}
"""Operation -> the operand that must have a sign, and the sign."""
BASES = frozenset(("pow", "integer_pow", "power", "powerapprox"))
"""Operations whose exponent says what the base must be."""


class Needs(list[Need]):
    """What the operations of a program need of their operands; also in branches that are not taken."""

    def note(self, operation: str, operands: Sequence[Entries], exponent: sympy.Expr | None = None) -> None:
        """Add the needs of one operation; ``exponent`` is that of a power if it is no operand."""
        if operation not in SIGNS and operation not in BASES:
            return
        for values in zip(*(operand.flat for operand in np.broadcast_arrays(*operands))):
            place, sign = SIGNS.get(operation, (0, None))
            argument = values[place] + int(operation == "log1p")
            if operation in BASES:
                sign = sign_of_base(argument, values[-1] if exponent is None else exponent)
            if sign is not None and not argument.is_number:
                self.append(Need(argument, sign, "", 0))
