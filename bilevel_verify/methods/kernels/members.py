"""Many runs of one method in one call: each has its own memory, all share the oracles."""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.state import Ask, Lower, Memory, Vector
from bilevel_verify.oracles.handing import call_2
from bilevel_verify.oracles.jit import loop


@loop
def advance_members(scheme: Any, ask: Ask, chosen: Vector, codes: Vector, counts: Any, all_of: Memory) -> None:
    """Let the scheme run for each chosen member; ``codes`` takes why each came back.

    ``counts``, and every field of ``all_of``, has one entry per member in front; what lies behind is a single run.
    """
    below = all_of.lower
    for place in range(len(chosen)):
        i = chosen[place]
        lower = Lower(
            all_of.at[i],
            below.letters[i],
            below.lengths[i],
            below.inner[i],
            below.outer[i],
            below.joint[i],
            below.hessians[i],
            below.matrix[i],
            below.tape[i],
        )
        m = Memory(
            all_of.at[i],
            all_of.letters[i],
            all_of.vectors[i],
            all_of.supply[i],
            lower,
            all_of.epochs[i],
            all_of.steps[i],
            all_of.points[i],
            all_of.lowers[i],
        )
        codes[i] = call_2(scheme, Ask(ask.P, ask.gradient, ask.value, ask.exact, counts[i]), m)
