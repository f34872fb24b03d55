"""What a literal run leaves behind: entries, outputs, and the finding that stopped it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilevel_verify.theorems.pseudocode.numbers import Value

Key = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ScriptFinding:
    """Something that the printed text does not say or cannot do.

    ``kind`` is one of ``unassigned``, ``non-integer index``, ``empty range``, ``division by zero``, ``not a number``,
    ``undefined``, ``unknown function``, ``unsupported``, ``unused input``, ``unassigned output``, ``unsupplied input``,
    ``unreachable exit``, ``budget``, ``no output``.
    """

    kind: str
    line: str
    message: str
    static: bool = False

    def __str__(self) -> str:
        return f"{self.line}: {self.message}" if self.line else self.message


class Halt(Exception):
    """Ends a run with a finding."""

    def __init__(self, kind: str, message: str, line: str = "") -> None:
        self.kind, self.message, self.line = kind, message, line
        super().__init__(message)


@dataclass(slots=True)
class Execution:
    """What a literal run left behind.

    ``sequences[name][index]`` holds every entry, ``letters`` the last value of every plain letter, ``order`` the keys
    of sequence entries in the order in which they were first assigned, ``statements`` how many were executed.
    """

    outputs: tuple[Value, ...] = ()
    letters: dict[str, Value] = field(default_factory=dict)
    sequences: dict[str, dict[tuple[int, ...], Value]] = field(default_factory=dict)
    order: list[Key] = field(default_factory=list)
    findings: tuple[ScriptFinding, ...] = ()
    statements: int = 0

    @property
    def output(self) -> Value:
        """The single output; None if the run was stopped."""
        return self.outputs[0] if self.outputs else None
