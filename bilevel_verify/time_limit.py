"""Seconds that a user gives for an answer: they end it and are named; what is known then is told, nothing is decided.

What may change a verdict counts its work. Seconds only break off: whatever was not finished has no value, or says how
far it came.
"""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType

from bilevel_verify.errors import InputError

SOON = 0.001
"""Seconds after which the clock strikes again where it came at a time at which nothing can be broken off."""


class TimeOver(KeyboardInterrupt):
    """The clock breaks in, as a user may; what it says is how far the work had come."""


_kept: ContextVar[frozenset[str]] = ContextVar("kept", default=frozenset())


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """In this block an unfinished ``run`` or ``search`` gives what it has; elsewhere it gives nothing, as nobody there
    asks how far it came.
    """
    token = _kept.set(_kept.get() | {what})
    try:
        yield
    finally:
        _kept.reset(token)


def goes_on(stop: KeyboardInterrupt, what: str) -> bool:
    """Whether an unfinished ``run`` or ``search`` gives what it has: a user who breaks in always wants that."""
    return not isinstance(stop, TimeOver) or what in _kept.get()


@dataclass
class TimeLimit:
    """The seconds of the clock that are given.

    Attributes
    ----------
    seconds : None for as long as it takes. ``over`` : whether they are. ``again`` : as in :func:`time_limit`.
    """

    seconds: float | None = None
    over: bool = False
    breaking: bool = False
    again: float = 0.0

    @contextlib.contextmanager
    def broken_off(self) -> Iterator[None]:
        """A block that the end of the time breaks off.

        Raises
        ------
        TimeOver : the time is over, now or already.
        """
        if self.over:
            raise TimeOver
        self.breaking = True
        try:
            yield
        finally:
            self.breaking = False

    @property
    def ended(self) -> str:
        """How the end of the time is named."""
        return f"the {self.seconds or 0.0:g} s asked for were over"

    def _struck(self, _: int, __: FrameType | None) -> None:
        self.over = True
        if self.breaking:
            raise TimeOver

    @contextlib.contextmanager
    def _strikes_again_where_lost(self) -> Iterator[None]:
        """What is raised while an object is finalised is lost: its end, a weak reference's, garbage collection."""
        before = sys.unraisablehook

        def lost(what: sys.UnraisableHookArgs) -> None:
            if what.exc_type is TimeOver:
                signal.setitimer(signal.ITIMER_REAL, SOON, self.again)
            else:
                before(what)

        sys.unraisablehook = lost
        try:
            yield
        finally:
            sys.unraisablehook = before


def has_timer() -> bool:
    """Whether a clock can break in here: in the main thread, where the system has one (not on Windows)."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def time_limit(seconds: float | None, again: float = 0.0) -> Iterator[TimeLimit]:
    """A limit for the block; without seconds, or where no clock can break in, it never ends.

    Parameters
    ----------
    again : after so many seconds more it strikes once more, and so on: for work that tells what it has and goes on.
    """
    limit = TimeLimit(seconds, again=again)
    if not seconds or not has_timer():
        yield limit
        return
    before = signal.signal(signal.SIGALRM, limit._struck)
    rest = signal.setitimer(signal.ITIMER_REAL, seconds, again)  # of whoever set one: it goes on afterwards
    try:
        with limit._strikes_again_where_lost():
            yield limit
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *rest)


def checked_seconds(seconds: float | None) -> float | None:
    """The seconds that a caller gives, or None.

    Raises
    ------
    InputError : no positive number, or nothing here can keep to it.
    """
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise InputError(f"seconds must be a positive number, not {seconds!r}")
    if not has_timer():
        raise InputError("seconds: only the main thread, on a system with interval timers, can keep to a limit of time")
    return float(seconds)
