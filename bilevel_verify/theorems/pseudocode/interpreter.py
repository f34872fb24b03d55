"""The literal run: a printed pseudo-code, statement by statement, exactly as it stands.

It is slow on purpose and knows nothing about the fast solvers, so that they can be compared with it step by step. What
the print leaves undefined stops the run with a :class:`ScriptFinding` that carries the paper's line number: an entry
that was never assigned, an index that is not an integer, an empty range, a division by zero, NaN, a loop that cannot
end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bilevel_verify.language import tree
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.pseudocode.execution import Execution, Halt, ScriptFinding
from bilevel_verify.theorems.pseudocode.expressions import Budget, Expressions
from bilevel_verify.theorems.pseudocode.numbers import Field, Floats, Value, same

RECURRENCES = 3


class _Break(Exception):
    pass


class _Return(Exception):
    def __init__(self, values: tuple[Value, ...]) -> None:
        self.values = values
        super().__init__()


def interpret(
    algorithm: Algorithm | script.Program,
    inputs: Mapping[str, object],
    functions: Mapping[str, Callable[..., Value]],
    *,
    numbers: Field | None = None,
    budget: int = 200_000,
    library: Mapping[str, Algorithm] | None = None,
) -> Execution:
    """Run a pseudo-code literally.

    Parameters
    ----------
    inputs : letter -> number or vector (sequences of parameters as callables of their index).
    functions : ``grad_f`` and its kind, on vectors of the field.
    numbers : :class:`Floats` (default) or :class:`Multiprecision`.
    budget : most statements that are executed, those of called algorithms included.
    library : algorithms that this one calls, by the name it uses.
    """
    program = algorithm.program if isinstance(algorithm, Algorithm) else algorithm
    machine = Machine(numbers or Floats(), functions, library or {}, Budget(budget))
    return machine.run(program, inputs)


class Machine(Expressions):
    """Statements of a pseudo-code, one after the other; who watches a run derives from it."""

    def run(self, program: script.Program, inputs: Mapping[str, object]) -> Execution:
        self.given = inputs
        self.letters = {name: self.import_value(value) for name, value in inputs.items()}
        findings: list[ScriptFinding] = []
        outputs: tuple[Value, ...] = ()
        try:
            with np.errstate(all="ignore"):  # what is not finite is found where it is kept
                self.block(program.statements)
            findings.append(ScriptFinding("no output", "", "the steps end without a return"))
        except _Return as returned:
            outputs = returned.values
        except Halt as halt:
            findings.append(ScriptFinding(halt.kind, halt.line or self.line, halt.message))
        except ZeroDivisionError:
            findings.append(ScriptFinding("division by zero", self.line, "division by zero"))
        except OverflowError:
            findings.append(ScriptFinding("budget", self.line, "a number beyond the range of the arithmetic"))
        except RecursionError:
            findings.append(ScriptFinding("budget", self.line, "the algorithms call each other too deeply"))
        return Execution(outputs, self.letters, self.sequences, self.order, tuple(findings), self.done)

    def block(self, statements: Sequence[script.Statement]) -> None:
        for statement in statements:
            self.statement(statement)

    def spend(self) -> None:
        self.done += 1
        self.budget.left -= 1
        if self.budget.left < 0:
            raise Halt("budget", "the statement budget ends before the algorithm does", self.line)

    def statement(self, statement: script.Statement) -> None:
        self.line = statement.shown
        self.spend()
        match statement:
            case script.Assign(targets=targets, value=value):
                found = self.finite(self.value(value))
                for target in targets:
                    self.assign(target, found)
            case script.If(test=test, body=body, orelse=orelse):
                self.block(body if self.test(test) else orelse)
            case script.While():
                self.while_loop(statement)
            case script.For(index=index, start=start, stop=stop, body=body):
                self.for_loop(index, start, stop, body)
            case script.Break():
                raise _Break
            case script.Return(values=values):
                raise _Return(tuple(self.finite(self.value(v)) for v in values))

    def assign(self, target: tree.Letter | tree.Index, value: Value) -> None:
        if isinstance(target, tree.Letter):
            self.letters[target.name] = value
            return
        index = tuple(self.index(i) for i in target.indices)
        entries = self.sequences.setdefault(target.base, {})
        if index not in entries:
            self.order.append((target.base, index))
        entries[index] = value

    def while_loop(self, loop: script.While) -> None:
        seen: list[list[Value]] = []
        repeated = 0
        while True:
            self.line = loop.shown
            self.spend()
            outer, self.reads = self.reads, []
            try:
                go_on = self.test(loop.test)
                if go_on:
                    self.block(loop.body)
            except _Break:
                return
            finally:
                mine, self.reads = self.reads, outer
                if outer is not None:
                    outer.extend(mine or [])
            if not go_on:
                return
            repeated = repeated + 1 if _recurs(mine or [], seen) else 0
            if repeated >= RECURRENCES:
                raise Halt(
                    "unreachable exit", "the values that the loop reads recur; its exit is never reached", loop.shown
                )
            seen = [*seen[-8:], mine or []]

    def for_loop(self, index: str, start: tree.Node, stop: tree.Node, body: Sequence[script.Statement]) -> None:
        first, last = self.index(start), self.index(stop)
        for k in range(first, last):
            self.letters[index] = k
            try:
                self.block(body)
            except _Break:
                return

    def inner(self, other: Algorithm) -> Machine:
        """A machine for an algorithm that this one calls."""
        return Machine(self.field, self.functions, self.library, self.budget)

    def run_other(self, other: Algorithm, values: list[Value]) -> Value:
        if len(values) != len(other.needs):
            raise Halt("undefined", f"{other.id} takes {len(other.needs)} inputs, not {len(values)}", self.line)
        result = self.inner(other).run(other.program, dict(zip(other.needs, values)))
        self.done += result.statements
        if result.findings:
            inner = result.findings[0]
            raise Halt(inner.kind, f"{other.id}, {inner}", self.line)
        return result.outputs[0] if len(result.outputs) == 1 else result.outputs


def _recurs(reads: list[Value], seen: list[list[Value]]) -> bool:
    """Whether the values read in one pass of a loop are those of an earlier pass, all of them and in order."""
    return any(
        len(reads) == len(earlier) and all(same(a, b) for a, b in zip(reads, earlier) if not callable(a))
        for earlier in seen
    )


__all__ = ["Execution", "Halt", "Machine", "ScriptFinding", "interpret"]
