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
from threading import Lock
from typing import Any

import numpy as np

from bilevel_verify.methods.engine import KernelStepper, Setup, oracles_of
from bilevel_verify.methods.letters import resolve_start, to_float
from bilevel_verify.methods.memory import begin_at
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.streams import RunStream
from bilevel_verify.oracles.compiling import is_wanted
from bilevel_verify.oracles.handing import entry_of
from bilevel_verify.problems.problem import Problem

MOST_KEPT = 32
LARGEST = 2**21
"""Most bytes of the memory of a run that is kept."""
FIXED = (int, float, Fraction, np.float64, str)
"""Types whose values nobody can change from outside."""


class Repeated:
    """A request that has come before: its stepper, and the memory as it is before the first iteration."""

    def __init__(self, setup: Setup) -> None:
        self.starts = dict(setup.starts)
        self.setup = replace(setup, starts=self.starts)
        self.oracles = oracles_of(setup.problem)  # whose machine code the stepper knows by address
        self.stepper, self.busy = KernelStepper(self.setup), Lock()
        self.stepper.function = entry_of(self.stepper.function)
        self.memory, self.counts = self.stepper.memory, self.stepper.counts
        records: list[Any] = [self.memory.at, self.memory.letters]
        blocks = [part for part in (*self.memory, *self.memory.lower) if isinstance(part, np.ndarray)]
        parts = [*(record.base for record in records), *blocks, self.counts]
        self.beginning = [(part, part.copy()) for part in parts if part.size]

    @property
    def size(self) -> int:
        """Bytes of its memory."""
        return sum(part.nbytes for part, _ in self.beginning)

    def run(self, x0: object) -> Run | None:
        """The run from a start; None while another thread is in the middle of one.

        Raises
        ------
        ParameterError : no start in the domain.
        """
        if not self.busy.acquire(blocking=False):
            return None
        try:
            self.starts["x0"] = resolve_start(self.setup.problem, "x0", x0, to_float)
            self._rewind()
            return RunStream(self.setup, lambda _: self.stepper).to_the_end()
        finally:
            self.busy.release()

    def _rewind(self) -> None:
        for part, kept in self.beginning:
            part[...] = kept
        self.stepper.again(self.memory, self.counts)
        begin_at(self.memory, self.stepper.scheme, self.starts)


_KNOWN: OrderedDict[Hashable, tuple[Problem, int, Repeated | None]] = OrderedDict()
"""Requests (the problem by its identity, which it keeps while it stands here): how often they came, what is kept."""
_CHANGING = Lock()


def request(
    problem: Problem, method: object, parameters: Mapping[str, object], budget: object, seed: object, record: object,
    compiled: object, eps: object,
) -> Hashable | None:  # fmt: skip
    """A request by value; None where it has parts that may change, or another form of arithmetic."""
    simple = type(method) is str and type(seed) is int and isinstance(parameters, Mapping)
    simple = simple and (compiled is None or compiled is True)
    if not simple or getattr(problem, "ready_oracles", None) is not None or not is_wanted():
        return None
    limits = [*budget.items()] if isinstance(budget, Mapping) else [("calls", budget)]
    given = [*parameters.items(), *limits, ("record", record), ("eps", eps)]
    for _, value in given:
        if value is not None and (type(value) not in FIXED or (value == 0 and type(value) is not int)):
            return None  # zeros have two signs
    values = [(name, type(value), value) for name, value in given]
    return (id(problem), method, len(parameters), seed, compiled, *values)


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
            made = made if made.size <= LARGEST else None
        _KNOWN[key] = (setup.problem, times + 1, made)
        _KNOWN.move_to_end(key)
        if len(_KNOWN) > MOST_KEPT:
            _KNOWN.popitem(last=False)
    finally:
        _CHANGING.release()
