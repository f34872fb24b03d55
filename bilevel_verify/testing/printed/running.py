"""A run of pseudo-code on an example, with what every line made and asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError, ParameterError
from bilevel_verify.testing.instances.counting import Call
from bilevel_verify.testing.printed.library import Printed
from bilevel_verify.testing.printed.oracles import NamedOracles, functions
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.pseudocode.expressions import Budget
from bilevel_verify.theorems.pseudocode.interpreter import Machine
from bilevel_verify.theorems.pseudocode.literal import STARTS, input_of
from bilevel_verify.theorems.pseudocode.numbers import Floats, Value

FloatArray = NDArray[np.float64]
Key = tuple[int, int]
STATEMENTS = 12_000


class Place(NamedTuple):
    """A line: its label in the paper, its place in the text, the called algorithm it stands in, the line that calls."""

    label: str
    number: int
    inside: str = ""
    caller: str = ""

    def __str__(self) -> str:
        called = f", called in {self.caller}" if self.caller else ""
        return f"line {self.label or self.number}{f' of {self.inside}' if self.inside else ''}{called}"


START = Place("", 0)


@dataclass(frozen=True, slots=True)
class Event:
    """What a line did: made an entry (``name``, ``key``, ``value``) or asked an oracle (``call``)."""

    place: Place
    name: str = ""
    key: Key | None = None
    value: Any = None
    call: Call | None = None


@dataclass
class Transcript:
    """A run: entries of every sequence by (t, k), the output, the calls, what happened in order, how it ended."""

    sequences: dict[str, dict[Key, FloatArray]]
    output: FloatArray | None
    log: list[Call]
    halted: str = ""
    events: list[Event] = field(default_factory=list)
    last: Place = START

    @property
    def epochs(self) -> list[list[FloatArray]]:
        """x, epoch by epoch, from k = 0 on."""
        found: dict[int, list[FloatArray]] = {}
        for (t, k), point in sorted(self.sequences.get("x", {}).items()):
            if k >= 0:
                found.setdefault(t, []).append(point)
        return [found[t] for t in sorted(found)]


class _Watched(Machine):
    """A machine that notes what each line makes."""

    def __init__(self, *arguments: Any, trail: list[Event] | None, inside: str = "", place: list[Place]) -> None:
        super().__init__(*arguments)
        self.trail, self.inside, self.place = trail, inside, place
        self.caller = str(place[0]) if inside else ""

    def statement(self, statement: script.Statement) -> None:
        self.place[0] = Place(statement.label, statement.number, self.inside, self.caller)
        super().statement(statement)

    def assign(self, target: Any, value: Value) -> None:
        super().assign(target, value)
        if self.trail is None or not isinstance(value, np.ndarray):
            return
        base = getattr(target, "base", "")
        key = _key(tuple(self.index(i) for i in target.indices)) if base else None
        self.trail.append(Event(self.place[0], base or target.name, key, value))

    def inner(self, other: Algorithm) -> Machine:
        shared = (self.field, self.functions, self.library, self.budget)
        return _Watched(*shared, trail=self.trail, inside=other.called, place=self.place)

    def run_other(self, other: Algorithm, values: list[Value]) -> Value:
        before = self.place[0]
        try:
            return super().run_other(other, values)
        finally:
            self.place[0] = before


def _key(index: tuple[int, ...]) -> Key | None:
    if len(index) not in (1, 2):
        return None
    return (index[0], index[1]) if len(index) == 2 else (0, index[0])


def transcribe(
    printed: Printed,
    asked: NamedOracles,
    x0: FloatArray,
    parameters: Mapping[str, Any],
    watched: bool = False,
    statements: int = STATEMENTS,
) -> Transcript:
    """Run the pseudo-code on oracles. ``parameters`` : letters, starts ``y0``, ``v0`` and ``noise``.

    ``halted`` says what ended a run that did not return.
    """
    trail: list[Event] | None = [] if watched else None
    place = [START]
    if trail is not None:
        asked.watch = lambda call: trail.append(Event(place[0], call=call))
    noise = parameters.get("noise")
    rows = None if noise is None else np.asarray(noise, dtype=float)
    table = functions(asked, parameters.get("lam"), rows, parameters.get("sigma"))
    machine = _Watched(Floats(), table, printed.library, Budget(statements), trail=trail, place=place)
    starts = {"x0": x0, **{name: parameters.get(name, np.zeros(asked.dy)) for name in ("y0", "v0")}}
    inputs = {name: _input(printed, name, parameters, starts) for name in printed.algorithm.needs}
    halted, outputs, sequences = "", (), machine.sequences
    try:
        with np.errstate(all="ignore"):
            done = machine.run(printed.algorithm.program, inputs)
        halted, outputs = ", ".join(str(finding) for finding in done.findings), done.outputs
    except (BilevelVerifyError, ArithmeticError, ValueError, TypeError) as error:
        halted = f"{type(error).__name__}: {error}"
    finally:
        asked.watch = None
    found = {name: _entries(entries) for name, entries in sequences.items()}
    output = np.asarray(outputs[0], dtype=float) if outputs and isinstance(outputs[0], np.ndarray) else None
    return Transcript(found, output, list(asked.log), halted, trail or [], place[0])


def _entries(entries: Mapping[tuple[int, ...], object]) -> dict[Key, FloatArray]:
    pairs = ((_key(index), value) for index, value in entries.items())
    return {key: value for key, value in pairs if key is not None and isinstance(value, np.ndarray) and value.ndim == 1}


def _input(printed: Printed, name: str, given: Mapping[str, object], starts: Mapping[str, object]) -> Any:
    if name in STARTS:
        return starts[STARTS[name]]
    if name == "r" and name not in given:
        return 0.0  # the perturbations themselves are given
    value = input_of(printed.algorithm, name, given, starts)
    if name == "g_k" and not callable(value):
        return lambda k: value[k]
    if value is None:
        raise ParameterError(f"{printed.method}: no value for {name}")
    return value
