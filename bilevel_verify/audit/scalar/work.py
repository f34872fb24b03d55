"""Work that is counted: what the engines may cost together, in units that do not depend on the load of the machine.

A unit is about a millisecond of an idle machine. Where the work is over, the verdict is ``undecided: budget``; seconds
and memory are another matter (``limits``): they end a run and are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

UNITS = 4_000.0
"""For one second of effort."""


@dataclass
class Work:
    """What one relation may cost, and what it has cost so far."""

    limit: float
    spent: float = 0.0
    ended: str = ""
    """What was ended in the middle."""

    @property
    def over(self) -> bool:
        """Whether no further engine is started."""
        return self.spent >= self.limit


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def counting(limit: float) -> Iterator[Work]:
    """Count the work inside the block."""
    work = Work(limit)
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


def spend(units: float) -> None:
    """So much work was done."""
    work = _current.get()
    if work is not None:
        work.spent += units


def over() -> bool:
    """Whether the work that was allowed is done."""
    work = _current.get()
    return work is not None and work.over


def ended(what: str) -> None:
    """Something was ended in the middle: an undecided answer says so."""
    work = _current.get()
    if work is not None:
        work.ended = what
