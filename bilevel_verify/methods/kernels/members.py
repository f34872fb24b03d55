"""Many runs of one method in one call: each has its own memory, all share the oracles."""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import Memory, Vector
from bilevel_verify.oracles.jit import loop


@loop
def advance_members(
    scheme: Any,
    P: Any,
    estimate: Any,
    value: Any,
    exact: Any,
    chosen: Vector,
    codes: Vector,
    counts: Any,
    whole: Any,
    real: Any,
    outer: Any,
    inner: Any,
    joint: Any,
    blocks: Any,
    trace: Any,
) -> None:
    """Let the scheme run for each chosen member; ``codes`` takes why each came back.

    All arrays have one entry per member in front; what lies behind is the memory of a single run.
    """
    for place in range(len(chosen)):
        i = chosen[place]
        m = Memory(whole[i], real[i], outer[i], inner[i], joint[i], blocks[i], trace[i])
        codes[i] = scheme(P, estimate, value, exact, counts[i], m)
