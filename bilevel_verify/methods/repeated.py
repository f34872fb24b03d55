"""The same request once more: what does not depend on the start is kept, and a short run costs little but its loop.

A request is a problem, a method, letters and options, by value and type. Asked a second time it gets a stepper of its
own, whose memory is put back to its beginning for every further run; nothing of a result lies in that memory. The loop,
the letters and all checks of the start are those of any run, and so are its numbers, bit for bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from threading import Lock
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.methods.engine import KernelStepper, Setup, oracles_of
from bilevel_verify.methods.kernels.state import Lower, Memory
from bilevel_verify.methods.letters import finite_ends, plain, resolve_start, to_float
from bilevel_verify.methods.memory import begin_at
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.streams import RunStream
from bilevel_verify.oracles.compiling import is_wanted
from bilevel_verify.oracles.handing import entry_of
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEPT = 32
LARGEST = 2**21
"""Most bytes of the memory of a run that is kept."""
WORD = 64
"""Bytes at whose multiples an array begins."""
FIXED = frozenset((int, float, Fraction, np.float64, str, NoneType))
"""Types whose values nobody can change from outside."""


class Repeated:
    """A request that has come before: its stepper, and the memory as it is before the first iteration."""

    def __init__(self, setup: Setup) -> None:
        self.starts = dict(setup.starts)
        self.setup = replace(setup, starts=self.starts)
        self.oracles = oracles_of(setup.problem)  # whose machine code the stepper knows by address
        self.stepper, self.busy = KernelStepper(self.setup), Lock()
        self.stepper.function = entry_of(self.stepper.function)
        self.memory, self.counts, self.block = gathered(self.stepper.memory, self.stepper.counts)
        self.beginning = self.block.copy()
        self.ends = [finite_ends(setup.problem, symbol) for symbol in setup.problem.x]

    def run(self, x0: object) -> Run | None:
        """The run from a start; None while another thread is in the middle of one.

        Raises
        ------
        ParameterError : no start in the domain.
        """
        if not self.busy.acquire(blocking=False):
            return None
        try:
            self.starts["x0"] = self._start(x0)
            self._rewind()
            return RunStream(self.setup, lambda _: self.stepper).to_the_end()
        finally:
            self.busy.release()

    def _start(self, x0: object) -> list[float]:
        """See :func:`resolve_start`, which says what is wrong with a start."""
        start = plain(x0)
        fits = start is not None and len(start) == len(self.ends)
        if start and fits and all(low <= entry <= high for entry, (low, high) in zip(start, self.ends)):
            return [*map(float, start)]
        return resolve_start(self.setup.problem, "x0", x0, to_float)

    def _rewind(self) -> None:
        self.block[...] = self.beginning
        self.stepper.again(self.memory, self.counts)
        begin_at(self.memory, self.stepper.scheme, self.starts)


def gathered(memory: Memory, counts: NDArray[np.int64]) -> tuple[Memory, NDArray[np.int64], NDArray[np.uint8]]:
    """The same memory and counts in one block of bytes, which one copy puts back, and that block."""
    records: list[np.ndarray] = [getattr(record, "base") for record in (memory.at, memory.letters)]  # noqa: B009
    parts = [part for part in (*memory, *memory.lower, counts) if isinstance(part, np.ndarray)]
    sizes = [-(-part.nbytes // WORD) * WORD for part in (*records, *parts)]
    block = np.zeros(sum(sizes), dtype=np.uint8)
    places: dict[int, np.ndarray] = {}
    for part, begin in zip((*records, *parts), [0, *accumulate(sizes)]):
        places[id(part)] = block[begin : begin + part.nbytes].view(part.dtype).reshape(part.shape)
        places[id(part)][...] = part
    at, letters = (places[id(record)][0] for record in records)
    lower = Lower(at, *(places[id(part)] for part in memory.lower[1:]))
    moved: list[Any] = [places.get(id(part), part) for part in memory]
    return Memory(*moved)._replace(at=at, letters=letters, lower=lower), places[id(counts)], block


_KNOWN: OrderedDict[Hashable, tuple[Problem, int, Repeated | None]] = OrderedDict()
"""Requests (the problem by its identity, which it keeps while it stands here): how often they came, what is kept."""
_CHANGING = Lock()


def request(
    problem: object, method: object, parameters: object, budget: object, seed: object, record: object,
    compiled: object, eps: object,
) -> Hashable | None:  # fmt: skip
    """A request by value; None where it has parts that may change, or another form of arithmetic."""
    simple = type(method) is str and type(seed) is int and (compiled is None or compiled is True)
    if (
        not (simple and isinstance(parameters, Mapping))
        or getattr(problem, "ready_oracles", None) is not None
        or not is_wanted()
    ):
        return None
    limits = budget if isinstance(budget, Mapping) else {"calls": budget}
    values = (*parameters.values(), *limits.values(), record, eps)
    types = (*map(type, values),)
    if not FIXED.issuperset(types) or (0 in values and any(v == 0 and type(v) is not int for v in values)):
        return None  # zeros have two signs
    return (id(problem), method, seed, compiled, (*parameters,), (*limits,), values, types)


def known(key: Hashable | None) -> Repeated | None:
    """What is kept of a request."""
    found = None if key is None else _KNOWN.get(key)
    return None if found is None else found[2]


def takes_all(again: Repeated, method: str, parameters: Mapping[str, object]) -> bool:
    """Whether a kept request is of the very method that has this name, and that method has all these letters."""
    return again.setup.method.name == method and parameters.keys() <= again.setup.letters.keys()


def keep(key: Hashable | None, stream: RunStream) -> None:
    """Remember a request whose run is over; what it needs again is made when it has come a second time."""
    stepper, setup = stream.stepper, stream.setup
    if key is None or not isinstance(stepper, KernelStepper) or not stepper.compiled:
        return
    if not _CHANGING.acquire(blocking=False):
        return  # another thread, or one that a fork has left behind
    try:
        _, times, made = _KNOWN.get(key, (setup.problem, 0, None))
        if times == 1:
            made = Repeated(setup)
            made = made if made.block.nbytes <= LARGEST else None
        _KNOWN[key] = (setup.problem, times + 1, made)
        _KNOWN.move_to_end(key)
        if len(_KNOWN) > MOST_KEPT:
            _KNOWN.popitem(last=False)
    finally:
        _CHANGING.release()
