"""Contracts of a callable: guarded calls, time limits that leave room for a compiler, one error for every breach."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError

FloatArray = NDArray[np.float64]
PROFILE_VARIABLE = "BILEVEL_VERIFY_PROFILE"


class BrokenContract(AssertionError):
    """A callable broke a contract.

    Attributes
    ----------
    contract : which one, in few words. ``where`` : at which call or iterate. ``detail`` : by how much.
    problem_file : text of a problem file that repeats it. ``who`` : the callable.
    """

    def __init__(self, contract: str, where: str = "", detail: str = "", problem_file: str = "", who: str = "") -> None:
        self.contract, self.where, self.detail, self.problem_file, self.who = contract, where, detail, problem_file, who
        place = f" at {where}" if where else ""
        repeat = f"\nProblem file that repeats it:\n{problem_file}" if problem_file else ""
        super().__init__(f"{who + ': ' if who else ''}{contract}{place}{': ' + detail if detail else ''}{repeat}")

    def save(self, path: str | Path) -> Path:
        """Write the problem file; ``BILEVEL_VERIFY_EXAMPLE=path`` makes the same assertion try this example only."""
        target = Path(path)
        target.write_text(self.problem_file, encoding="utf8")
        return target

    def __reduce__(self) -> tuple[object, ...]:
        return BrokenContract, (self.contract, self.where, self.detail, self.problem_file, self.who)


def hidden(raised: Any) -> bool:
    """Whether pytest leaves a frame out of what it shows: a module of the kit sets ``__tracebackhide__`` to this.

    A broken contract is told by its message and the line of the test; an error of another kind shows all frames.
    """
    return bool(raised is not None and raised.errisinstance(BrokenContract))


@dataclass(frozen=True, slots=True)
class Profile:
    """How hard to try.

    Attributes
    ----------
    examples : per assertion. ``simplify`` : attempts at a simpler example.
    seconds : that one call may take without asking anything that is counted (what asks is ended by its budget of
    calls, or after :data:`LONGER` times as long).
    compile_seconds : that the first call for each shape may take: a just-in-time compiler may run then.
    """

    name: str
    examples: int
    seconds: float = 10.0
    simplify: int = 400
    compile_seconds: float = 60.0


QUICK = Profile("quick", 40)
THOROUGH = Profile("thorough", 400, simplify=1000)
PROFILES = {"quick": QUICK, "thorough": THOROUGH}


def profile(given: Profile | str | None = None) -> Profile:
    """The profile asked for; by default the one of ``pytest --bilevel``, else quick.

    Raises
    ------
    InputError : no such profile.
    """
    if isinstance(given, Profile):
        return given
    name = given or os.environ.get(PROFILE_VARIABLE) or "quick"
    if name not in PROFILES:
        raise InputError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


class _TimeUp(BaseException):
    """Raised inside a callable that takes too long; not an Exception, so that it is not swallowed there."""


def _in_a_callback(frame: FrameType | None) -> bool:
    """Whether the interpreter itself called this code, or what called it: what is raised there is lost."""
    while frame is not None:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if name in ("gc_callback", "__del__") or (
            name in ("remove", "_remove") and "weakref" in os.path.basename(file)
        ):
            return True
        frame = frame.f_back
    return False


LONGER = 30
"""What goes on asking counted oracles may take so many times the seconds of a call: its budget of work ends it before,
on a slow or busy machine as on a fast one."""


@contextmanager
def _alarm(seconds: float, asked: Callable[[], int], beat: Callable[[float], None]) -> Iterator[None]:
    """End Python code that runs too long; only the main thread of a POSIX process can be interrupted.

    A process that hardly got a processor in that time waits (for another one, or asleep): it gets the time again, up to
    five times. One that has ``asked`` since gets it again, up to :data:`LONGER` times, and ``beat`` is told.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    began = time.process_time()
    since, used, questions = time.monotonic(), began, asked()

    def ring(signum: int, frame: FrameType | None) -> None:
        nonlocal since, used, questions
        now = asked()
        if now > questions:
            since, used, questions = time.monotonic(), time.process_time(), now
        waits = time.process_time() - used < 0.3 * seconds and time.monotonic() - since < 4.9 * seconds
        if waits and time.process_time() - began < LONGER * seconds:
            beat(seconds)
            signal.setitimer(signal.ITIMER_REAL, seconds)
        elif _in_a_callback(frame):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, before)


SEEN: ContextVar[set[Any] | None] = ContextVar("SEEN", default=None)
"""Shapes that the callable under test has met: what is compiled is compiled."""
HEARTBEAT: ContextVar[Callable[[float], None] | None] = ContextVar("HEARTBEAT", default=None)
"""Told before each call how long it may take: whoever watches this process from outside."""


def _shapes(arguments: tuple[object, ...]) -> tuple[object, ...]:
    found: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            found.append(value.shape)
        elif hasattr(value, "dx"):
            found.append((value.dx, getattr(value, "dy", 0), getattr(value, "kind", "")))
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append(value)  # a number of steps is a length
    return tuple(found)


def _allowed(arguments: tuple[object, ...], limit: Profile) -> tuple[float, Callable[[], None]]:
    """Seconds for this call, and what to do when it has returned."""
    seen, key = SEEN.get(), _shapes(arguments)
    if seen is None or key in seen:
        return limit.seconds, lambda: None
    return max(limit.seconds, limit.compile_seconds), lambda: seen.add(key)


def _questions(arguments: tuple[object, ...]) -> int:
    """Calls so far of the counted oracles among some arguments."""
    kept = (getattr(value, "counts", None) for value in arguments)
    return sum(sum(counts.values()) for counts in kept if isinstance(counts, Mapping))


def call(
    function: Callable[..., object],
    *arguments: object,
    where: str,
    limit: Profile,
    asked: Callable[[], int] | None = None,
) -> Any:
    """Call with a time limit; arrays among the arguments must come back unchanged.

    ``asked``: how often the callable has asked so far, where that is not counted by oracles among the arguments.

    Raises
    ------
    BrokenContract : it raises, exits, never returns, goes over its budget, or changes its input.
    """
    from bilevel_verify.oracles import BudgetExhausted

    __tracebackhide__ = True  # pytest shows the frames of the callable alone
    before = [(a, a.copy()) for a in arguments if isinstance(a, np.ndarray)]
    seconds, returned = _allowed(arguments, limit)
    beat = HEARTBEAT.get() or (lambda seconds: None)
    beat(seconds)
    try:
        alarm = _alarm(seconds, asked or (lambda: _questions(arguments)), beat)
        with alarm, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library that warns (torch of its own parts) breaks no promise
            result = function(*arguments)
    except _TimeUp:
        raise BrokenContract("never returns", where, f"no answer within {seconds:g} s") from None
    except BudgetExhausted as error:
        raise BrokenContract("never returns within its budget", where, str(error)) from None
    except BrokenContract:
        raise
    except SystemExit as error:
        raise BrokenContract("raises", where, f"SystemExit: {error.code}") from None
    except Exception as error:
        raise BrokenContract("raises", where, _said(error)) from error
    returned()
    if any(not np.array_equal(now, then, equal_nan=True) for now, then in before):
        raise BrokenContract("changes its input", where, "an array that was passed in was overwritten")
    return result


def _said(error: Exception) -> str:
    """What an exception says, the names like the one that is not there, and the line of the user's file."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, AttributeError) and hasattr(error.obj, "dx"):
        there = [name for name in dir(error.obj) if not name.startswith("_")]
        said += f" (there are {', '.join(get_close_matches(error.name or '', there, 3, 0.5) or there)})"
    files = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [f"{file.name}:{line}" for file, line in files if file.exists() and not _is_library(file)]
    return said + (f", at {own[-1]}" if own else "")


def _is_library(file: Path) -> bool:
    """Whether a file is this package's or an installed one's."""
    return file.is_relative_to(Path(__file__).parents[2]) or "site-packages" in file.parts


def vector(value: object, length: int, where: str) -> FloatArray:
    """The answer as an array of shape (length,) of finite numbers.

    Raises
    ------
    BrokenContract : wrong shape, no numbers, NaN or infinity.
    """
    return numbers(value, (length,), where)


def rows(value: object, count: int, length: int, where: str) -> FloatArray:
    """The answer as ``count`` iterates of shape (length,), finite.

    Raises
    ------
    BrokenContract : wrong shape, no numbers, NaN or infinity.
    """
    return numbers(value, (count, length), where)


def numbers(value: object, shape: tuple[int, ...], where: str) -> FloatArray:
    """The answer as a finite float64 array of a shape.

    Raises
    ------
    BrokenContract : wrong shape, no numbers, NaN or infinity.
    """
    try:
        found: FloatArray = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrokenContract("returns no numbers", where, f"{type(value).__name__}: {error}") from None
    if found.shape != shape:
        raise BrokenContract("returns the wrong shape", where, f"{found.shape}, not {shape}")
    if not np.isfinite(found).all():
        raise BrokenContract("returns NaN or infinity", where, f"{found.tolist()}")
    return found
