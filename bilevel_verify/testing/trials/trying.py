"""How an assertion tries a callable: examples from bytes, first in a child process; failures made simpler."""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.errors import InputError
from bilevel_verify.files import is_file
from bilevel_verify.testing.instances.decoding import LENGTH, POINTS
from bilevel_verify.testing.trials.contracts import HEARTBEAT, SEEN, BrokenContract, Profile, hidden
from bilevel_verify.testing.trials.ledger import Entry, note

__tracebackhide__ = hidden

SEED_VARIABLE = "BILEVEL_VERIFY_SEED"
EXAMPLE_VARIABLE = "BILEVEL_VERIFY_EXAMPLE"
"""A file that a failure printed (or its last line): only that example is tried, as it is."""
PATIENCE = 5.0
"""Seconds more than twice what a call may take before its process is ended from outside."""
SIMPLIFYING = 20.0
"""Seconds that the search for a simpler example may take; a whole run each can be slow."""
NO_FORK = ("jax", "jaxlib", "torch", "tensorflow")
"""Packages whose threads do not survive a fork: with them everything runs in this process."""

Judge = Callable[[bytes], None]
Describe = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Trial:
    """One assertion at work on one callable."""

    judge: Judge
    describe: Describe
    profile: Profile
    examples: Sequence[bytes]


def try_out(
    assertion: str,
    who: str,
    judge: Judge,
    describe: Describe,
    given: Profile,
    seed: int | None,
    shapes: bool = False,
) -> None:
    """Judge example after example, simplest first; a failure is made simpler before it is reported.

    All run in a child process: what never returns, exits or crashes is ended there and named, and the suite goes on.
    What the child survived is run here, too, for the simplest example: a compiler's work is kept. ``shapes``: the first
    bytes are those of two-level instances, whose kinds and dimensions are all to be met.

    Raises
    ------
    BrokenContract : with the simplest example found and a problem file that repeats it.
    """
    start, tried, broken, message = time.perf_counter(), 0, "", ""
    repeated = example_given()
    drawn = [repeated] if repeated is not None else examples(given.examples, seed)
    if shapes and repeated is None:
        drawn = [in_turn(data, number) for number, data in enumerate(drawn)]
    trial = Trial(judge, describe, given, drawn)
    token = SEEN.set(set())
    try:
        failed = _in_child(trial)
        if failed is None or failed[0]:
            failed = _here(trial, 1 if _can_fork() else len(trial.examples)) or failed
        tried = len(trial.examples) if failed is None else failed[0] + 1
        if failed is not None:
            raise _simplest(trial, *failed, who)
    except BrokenContract as failure:
        broken, message = failure.contract, str(failure)
        raise
    finally:
        SEEN.reset(token)
        note(Entry(assertion, who, tried, time.perf_counter() - start, broken, message))


def examples(count: int, seed: int | None) -> list[bytes]:
    """The simplest example, then random ones, every third with small bytes only."""
    rng = np.random.default_rng(int(os.environ.get(SEED_VARIABLE, "0")) if seed is None else seed)
    draws = [rng.integers(0, 4 if i % 3 == 2 else 256, LENGTH, dtype=np.uint8).tobytes() for i in range(count - 1)]
    return [bytes(LENGTH), *draws]


def example_given() -> bytes | None:
    """The one example that :data:`EXAMPLE_VARIABLE` asks for; None if it is not set.

    Raises
    ------
    InputError : the file cannot be read, or holds no example.
    """
    given = os.environ.get(EXAMPLE_VARIABLE, "").strip()
    if not given:
        return None
    try:
        content = Path(given).read_text(encoding="utf8") if os.path.sep in given or is_file(Path(given)) else given
    except OSError as error:
        raise InputError(f"{EXAMPLE_VARIABLE}: cannot read {given}: {error.strerror}") from None
    found = re.findall(rf"^(?:# {EXAMPLE_VARIABLE}=)?([0-9a-f]{{2,}})$", content, re.M)
    if not found or len(found[-1]) % 2:
        raise InputError(f"{EXAMPLE_VARIABLE}: no line '# {EXAMPLE_VARIABLE}=...' in {given[:60]}")
    return bytes.fromhex(found[-1]).ljust(LENGTH, b"\0")


def line_of(data: bytes) -> str:
    """The last line of a problem file: the example itself."""
    return f"# {EXAMPLE_VARIABLE}={data.rstrip(bytes(1)).hex() or '00'}\n"


def in_turn(data: bytes, number: int) -> bytes:
    """An example whose kind and dimensions are those of its turn: the first three bytes of a two-level instance.

    A wrong transpose shows on square problems of one kind only, and chance alone misses those too often.
    """
    changed = bytearray(data)
    for place, turn in enumerate((number + number // 9, number // 3, number), POINTS):
        changed[place] += (turn - changed[place]) % 3 - 3 * (changed[place] >= 253)
    return bytes(changed)


def _judged(judge: Judge, data: bytes) -> BrokenContract | None:
    try:
        judge(data)
    except BrokenContract as failure:
        return failure
    return None


def _here(trial: Trial, count: int) -> tuple[int, BrokenContract] | None:
    """The first failure among so many examples, judged in this process."""
    for i, data in enumerate(trial.examples[:count]):
        failure = _judged(trial.judge, data)
        if failure is not None:
            return i, failure
    return None


ENDED = ("never returns", "ends its process")


def _simplest(trial: Trial, place: int, failure: BrokenContract, who: str) -> BrokenContract:
    """The failure to report: made simpler, if it can be repeated here without waiting.

    Not repeated is what nobody wants simpler and has no other error behind it: the child has said all.
    """
    data = trial.examples[place]
    asked = trial.profile.simplify > 0 or failure.__cause__ is not None
    if asked and failure.contract not in ENDED:
        here = _judged(trial.judge, data)
        if here is not None and here.contract == failure.contract:
            data, failure = _simplify(trial, data, here)
    found = BrokenContract(failure.contract, failure.where, failure.detail, _repeating(trial.describe(data), data), who)
    found.__cause__ = failure.__cause__
    return found


def _repeating(described: str, data: bytes) -> str:
    return f"{described.rstrip()}\n{line_of(data)}"


def _simplify(trial: Trial, data: bytes, failure: BrokenContract) -> tuple[bytes, BrokenContract]:
    """Bytes towards zero, in shrinking chunks, as long as the same contract breaks."""
    attempts, size, until = trial.profile.simplify, LENGTH // 2, time.monotonic() + SIMPLIFYING
    while size and attempts > 0:
        for start in range(0, LENGTH, size):
            piece = data[start : start + size]
            for simpler in (bytes(len(piece)), bytes(b // 2 for b in piece)):
                if simpler == piece or attempts <= 0 or time.monotonic() > until:
                    continue
                attempts -= 1
                candidate = data[:start] + simpler + data[start + size :]
                found = _judged(trial.judge, candidate)
                if found is not None and found.contract == failure.contract:
                    data, failure = candidate, found
                    break
        size //= 2
    return data, failure


def _can_fork() -> bool:
    return "fork" in multiprocessing.get_all_start_methods() and not any(name in sys.modules for name in NO_FORK)


def _in_child(trial: Trial) -> tuple[int, BrokenContract] | None:
    """All examples judged in a child process; the first failure, or what the child died of."""
    if not _can_fork():
        return None
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = multiprocessing.get_context("fork").Process(target=_work, args=(trial, theirs), daemon=True)
        child.start()
    theirs.close()
    try:
        return _watch(child, ours, trial.profile.compile_seconds)
    except _NotTheirs as error:
        trial.judge(trial.examples[error.place])  # wrong use of the kit: its own error, raised here
        raise RuntimeError(f"the testing kit itself failed at example {error.place + 1}:\n{error}") from None
    finally:
        ours.close()
        if child.is_alive():
            child.kill()
        child.join()
        child.close()


class _NotTheirs(Exception):
    """An error that is not the callable's."""

    def __init__(self, place: int, text: str) -> None:
        super().__init__(text)
        self.place = place


def _watch(child: Any, ours: Connection, patience: float) -> tuple[int, BrokenContract] | None:
    place, allowed = 0, patience
    while True:
        try:
            heard = ours.recv() if ours.poll(2 * allowed + PATIENCE) else None
        except EOFError:
            child.join()
            return place, BrokenContract("ends its process", f"example {place + 1}", _exit(child.exitcode))
        if heard is None:
            detail = f"its process was ended after {allowed:g} s"
            return place, BrokenContract("never returns", f"example {place + 1}", detail)
        kind, *rest = heard
        if kind == "done":
            return None
        if kind == "broken":
            *told, cause = rest
            failure = BrokenContract(*told)
            failure.__cause__ = RuntimeError(cause) if cause else None
            return place, failure
        if kind == "error":
            raise _NotTheirs(place, rest[0])
        if kind == "example":
            place = rest[0]
        else:
            allowed = rest[0]


def _exit(code: int | None) -> str:
    """In words: how a process ended."""
    if code is not None and code < 0:
        return f"it crashed ({signal.Signals(-code).name})"
    return f"exit code {code}"


def _work(trial: Trial, theirs: Connection) -> None:
    """What the child does: judge, and say so."""
    gc.freeze()  # looking for garbage among what the parent holds would copy all of it
    faulthandler.disable()  # a crash is named by the parent
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf8")  # noqa: SIM115  (the process ends soon)
    HEARTBEAT.set(lambda seconds: theirs.send(("call", seconds)))
    for i, data in enumerate(trial.examples):
        theirs.send(("example", i))
        try:
            failure = _judged(trial.judge, data)
        except Exception:
            theirs.send(("error", traceback.format_exc()))
            return
        if failure is not None:
            cause = "" if failure.__cause__ is None else repr(failure.__cause__)
            theirs.send(("broken", failure.contract, failure.where, failure.detail, cause))
            return
    theirs.send(("done",))
