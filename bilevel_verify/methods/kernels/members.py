"""Many runs of one method in one call: each has its own memory, all share the oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bilevel_verify.methods.kernels.state import Ask, Lower, Memory
from bilevel_verify.oracles.convention import Counts
from bilevel_verify.oracles.handing import Integers, Numbers, Vectors, call_2
from bilevel_verify.oracles.jit import inlined, loop


class Stack(NamedTuple):
    """Blocks of all members, one behind the other: where the first begins, bytes to the next, entries of a row."""

    address: int
    step: int
    length: int


@inlined
def vectors_of(stack: Stack, i: int) -> Vectors:
    """The block of vectors of a member."""
    return Vectors(stack.address + i * stack.step, stack.length)


@inlined
def integers_of(stack: Stack, i: int) -> Integers:
    """The table of integers of a member."""
    return Integers(stack.address + i * stack.step, stack.length)


@loop
def advance_members(
    scheme: Any, ask: Ask, chosen: Counts, codes: Counts, counts: Sequence[Counts], members: Any
) -> None:
    """Let the scheme run for each chosen member; ``codes`` takes why each came back.

    ``counts`` and the records of ``members`` have one entry per member, its blocks are stacks.
    """
    below = members.lower
    for place in range(len(chosen)):
        i = chosen[place]
        lower = Lower(
            members.at[i],
            Numbers(below.letters.address + i * below.letters.step),
            integers_of(below.lengths, i),
            vectors_of(below.inner, i),
            vectors_of(below.outer, i),
            vectors_of(below.joint, i),
            vectors_of(below.hessians, i),
            vectors_of(below.matrix, i),
            vectors_of(below.tape, i),
        )
        m = Memory(
            members.at[i],
            members.letters[i],
            vectors_of(members.vectors, i),
            vectors_of(members.supply, i),
            lower,
            integers_of(members.stamps, i),
            vectors_of(members.points, i),
            vectors_of(members.lowers, i),
        )
        codes[i] = call_2(scheme, Ask(ask.P, ask.gradient, ask.value, ask.exact, counts[i]), m)
