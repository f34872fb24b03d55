"""How an assertion tries a callable: examples from bytes, guarded calls, shrinking, one message for every failure."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.ledger import Entry, note

FloatArray = NDArray[np.float64]
LENGTH = 120
"""Bytes of one example: points first, then the instance."""
POINTS = 24
PROFILE_VARIABLE = "BILEVEL_VERIFY_PROFILE"
SEED_VARIABLE = "BILEVEL_VERIFY_SEED"


class BrokenContract(AssertionError):
    """A callable broke a contract.

    Attributes
    ----------
    contract : which one, in few words. ``where`` : at which call or iterate. ``detail`` : by how much.
    problem_file : text of a problem file that repeats it.
    """

    def __init__(self, contract: str, where: str = "", detail: str = "", problem_file: str = "", who: str = "") -> None:
        self.contract, self.where, self.detail, self.problem_file, self.who = contract, where, detail, problem_file, who
        place = f" at {where}" if where else ""
        repeat = f"\nProblem file that repeats it:\n{problem_file}" if problem_file else ""
        super().__init__(f"{who + ': ' if who else ''}{contract}{place}{': ' + detail if detail else ''}{repeat}")


@dataclass(frozen=True, slots=True)
class Profile:
    """How hard to try: examples per assertion, seconds that one call may take, attempts at a simpler example."""

    name: str
    examples: int
    seconds: float = 10.0
    simplify: int = 400


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


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """End Python code that runs too long; only the main thread of a POSIX process can be interrupted."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: FrameType | None) -> NoReturn:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, before)


def call(function: Callable[..., Any], *arguments: Any, where: str, seconds: float) -> Any:
    """Call with a time limit; arrays among the arguments must come back unchanged.

    Raises
    ------
    BrokenContract : it raises, never returns, goes over its budget, or changes its input.
    """
    from bilevel_verify.oracles import BudgetExhausted

    before = [(a, a.copy()) for a in arguments if isinstance(a, np.ndarray)]
    try:
        with _alarm(seconds), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result = function(*arguments)
    except _TimeUp:
        raise BrokenContract("never returns", where, f"no answer within {seconds:g} s") from None
    except BudgetExhausted as error:
        raise BrokenContract("never returns within its budget", where, str(error)) from None
    except BrokenContract:
        raise
    except Exception as error:
        raise BrokenContract("raises", where, f"{type(error).__name__}: {error}") from error
    if any(not np.array_equal(now, then) for now, then in before):
        raise BrokenContract("changes its input", where, "an array that was passed in was overwritten")
    return result


def vector(value: Any, length: int, where: str) -> FloatArray:
    """The answer as an array of shape (length,) of finite numbers.

    Raises
    ------
    BrokenContract : wrong shape, no numbers, NaN or infinity.
    """
    return _numbers(value, (length,), where)


def rows(value: Any, count: int, length: int, where: str) -> FloatArray:
    """The answer as ``count`` iterates of shape (length,), finite.

    Raises
    ------
    BrokenContract : wrong shape, no numbers, NaN or infinity.
    """
    return _numbers(value, (count, length), where)


def _numbers(value: Any, shape: tuple[int, ...], where: str) -> FloatArray:
    try:
        found: FloatArray = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise BrokenContract("returns no numbers", where, f"{type(value).__name__}: {error}") from None
    if found.shape != shape:
        raise BrokenContract("returns the wrong shape", where, f"{found.shape}, not {shape}")
    if not np.isfinite(found).all():
        raise BrokenContract("returns NaN or infinity", where, f"{found.tolist()}")
    return found


Judge = Callable[[bytes], None]
Describe = Callable[[bytes], str]


def try_out(assertion: str, who: str, judge: Judge, describe: Describe, given: Profile, seed: int | None) -> None:
    """Judge example after example, simplest first; a failure is made simpler before it is reported.

    Raises
    ------
    BrokenContract : with the simplest example found and a problem file that repeats it.
    """
    start, tried, broken = time.perf_counter(), 0, ""
    try:
        _in_child(judge, given.seconds)
        for data in _examples(given.examples, seed):
            tried += 1
            failure = _judged(judge, data)
            if failure is not None:
                data, failure = _simplify(judge, data, failure, given)
                raise BrokenContract(failure.contract, failure.where, failure.detail, describe(data), who)
    except BrokenContract as failure:
        broken = failure.contract
        if not failure.who:
            raise BrokenContract(
                failure.contract, failure.where, failure.detail, describe(bytes(LENGTH)), who
            ) from None
        raise
    finally:
        note(Entry(assertion, who, tried, time.perf_counter() - start, broken))


def _examples(count: int, seed: int | None) -> Iterator[bytes]:
    """The simplest example, then random ones, every third with small bytes only."""
    rng = np.random.default_rng(int(os.environ.get(SEED_VARIABLE, "0")) if seed is None else seed)
    yield bytes(LENGTH)
    for i in range(count - 1):
        yield rng.integers(0, 4 if i % 3 == 2 else 256, LENGTH, dtype=np.uint8).tobytes()


def _judged(judge: Judge, data: bytes) -> BrokenContract | None:
    try:
        judge(data)
    except BrokenContract as failure:
        return failure
    return None


def _simplify(judge: Judge, data: bytes, failure: BrokenContract, given: Profile) -> tuple[bytes, BrokenContract]:
    """Bytes towards zero, in shrinking chunks, as long as the same contract breaks."""
    attempts, size = given.simplify if failure.contract != "never returns" else 0, LENGTH // 2
    while size and attempts > 0:
        for start in range(0, LENGTH, size):
            piece = data[start : start + size]
            for simpler in (bytes(len(piece)), bytes(b // 2 for b in piece)):
                if simpler == piece or attempts <= 0:
                    continue
                attempts -= 1
                candidate = data[:start] + simpler + data[start + size :]
                found = _judged(judge, candidate)
                if found is not None and found.contract == failure.contract:
                    data, failure = candidate, found
                    break
        size //= 2
    return data, failure


def _in_child(judge: Judge, seconds: float) -> None:
    """The first example in a child process: code that no signal reaches is ended there and named.

    Raises
    ------
    BrokenContract : the child had to be ended.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return

    def target() -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        _judged(judge, bytes(LENGTH))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = multiprocessing.get_context("fork").Process(target=target, daemon=True)
        child.start()
    child.join(4 * seconds)
    if child.is_alive():
        child.kill()
        child.join()
        raise BrokenContract("never returns", "the simplest example", f"its process was ended after {4 * seconds:g} s")
    child.close()
