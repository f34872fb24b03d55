"""Seconds and memory that bind: an engine runs in a process of its own, which can be ended.

One such process is kept for the next question. What ends there for want of time or memory comes back as
:class:`Ended`, which names what ran out and where; it never changes what an engine that comes to its end says. The
engines are loaded once: the process that answers is a fork of one that has them, and where it was ended, the next fork
takes its place. A command that has loaded nothing but what the engines need, too, is forked itself.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import math
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO, Any

from bilevel_verify.audit.forked import Forked, can_fork
from bilevel_verify.errors import InputError

GIBIBYTE = 2**30
MEMORY = 2 * GIBIBYTE
"""Bytes that an engine may use beyond those of the process itself."""
MOST = 2**50
"""No machine has more; the system's own limits are counted in such numbers."""
START_SECONDS = 120.0
"""A process that has not begun to listen after this time will not do so."""
PATIENCE = 20.0
"""How many times its seconds of processor time a process may take by the clock before it is taken to hang."""
TIMER = hasattr(signal, "SIGPROF")
"""Whether the system can end a process after so much processor time."""
NO_MEMORY = 4
"""Status with which the process that answers ends where its memory is not enough."""
SHORTEST = 0.01
"""Seconds of processor time that are worth a question."""
_memory: ContextVar[int] = ContextVar("memory", default=MEMORY)
_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)
_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether engines run in this process."""
_listener: IO[bytes] | None = None
"""Who hears what begins now."""
PROGRAM = "import sys; sys.path[:] = {path!r}; from bilevel_verify.audit.limits import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Ended:
    """A question that had no answer: ``reason`` says what ran out, and in which engine."""

    reason: str


@dataclass(slots=True)
class _Allowance:
    """Seconds of processor time for several questions together, and when they end by the monotonic clock."""

    total: float
    left: float
    until: float = math.inf


@contextlib.contextmanager
def seconds_limit(seconds: float, until: float = math.inf) -> Iterator[None]:
    """All questions inside the block may use so many seconds of processor time together.

    ``until`` is the monotonic time at which they end even where others have used the processor.
    """
    token = _allowance.set(_Allowance(seconds, seconds, until))
    try:
        yield
    finally:
        _allowance.reset(token)


@contextlib.contextmanager
def memory_limit(size: float) -> Iterator[None]:
    """Engines may use so many bytes inside the block."""
    token = _memory.set(_bytes(size))
    try:
        yield
    finally:
        _memory.reset(token)


def bounded(function: str, *arguments: object, seconds: float, **options: object) -> Any:
    """What a function says in the process of the engines, or :class:`Ended`.

    Parameters
    ----------
    function : ``module:name``; what it takes and gives can be pickled. In that process already, it is simply called.
    seconds : of processor time (where the system cannot count it: of real time), from when the process listens, at
        most what is left inside :func:`seconds_limit`.

    Raises
    ------
    Exception : what the function raises.
    """
    if _inside.get():
        return _named(function)(*arguments, **options)
    allowance = _allowance.get()
    if allowance is None or allowance.left >= seconds:
        named = seconds
    else:
        seconds, named = allowance.left, allowance.total
    until = math.inf if allowance is None else allowance.until
    if time.monotonic() >= until:
        return Ended(_by_the_clock(named, "what came before"))
    if seconds < SHORTEST:
        return Ended(_late(named, "what came before"))
    with _LOCK:
        worker = _Worker.running(_memory.get())
        found = worker.ask((function, arguments, options), seconds, named, until)
    if allowance is not None:
        allowance.left -= worker.used
    return found


def begin(memory: float = MEMORY) -> None:
    """Start the process of the engines now: it loads while this one reads the question."""
    if not _inside.get():
        with _LOCK:
            _Worker.running(_bytes(memory))


def _bytes(size: float) -> int:
    if not 0 < size <= MOST:
        raise InputError(f"memory must be positive and at most {MOST // GIBIBYTE} GiB")
    return int(size)


def note(what: str) -> None:
    """Say what begins now, so that the reason of an end can name it."""
    if _listener is not None:
        _send(_listener, ("at", what))


@contextlib.contextmanager
def in_this_process() -> Iterator[None]:
    """Engines run in this process inside the block, and no limit binds them."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def _late(seconds: float, place: str) -> str:
    return f"{seconds:g} s of processor time were over in {place}"


def _by_the_clock(seconds: float, place: str) -> str:
    return f"{seconds:g} s by the clock were over in {place}"


def _named(function: str) -> Callable[..., object]:
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def _started(memory: int) -> subprocess.Popen[bytes] | Forked:
    """The process of the engines: a fork where this process has loaded nothing else that is heavy."""
    if can_fork("sympy"):
        return Forked(functools.partial(serve, memory))
    program = PROGRAM.format(path=[p or os.getcwd() for p in sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", program, str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


class _Worker:
    """A process that answers one question at a time."""

    current: _Worker | None = None

    def __init__(self, memory: int) -> None:
        self.owner, self.memory = os.getpid(), memory
        self.at, self.used, self.until = "its start", 0.0, math.inf
        self.process: subprocess.Popen[bytes] | Forked = _started(memory)
        self.listening = False

    @classmethod
    def running(cls, memory: int) -> _Worker:
        """The process that is kept, or a new one: a fork must not share that of its parent."""
        worker = cls.current
        if worker is None or worker.owner != os.getpid() or worker.process.poll() is not None:
            worker = cls.current = cls(memory)
        elif worker.memory != memory:
            worker.end()
            worker = cls.current = cls(memory)
        return worker

    def ask(self, question: Any, seconds: float, named: float, until: float = math.inf) -> Any:
        """The answer; ``used`` tells the processor time that it took, ``named`` is the limit that an end names.

        ``until`` is when it has to be there, by the clock.
        """
        self.at, self.used, self.until = "its start", 0.0, until
        try:
            if not self.listening and not self.started():
                late = time.monotonic() >= until
                return self.ended(
                    _by_the_clock(named, "their start") if late else "the process of the engines did not start"
                )
            assert self.process.stdin is not None
            try:
                _send(self.process.stdin, (seconds, *question))
            except BrokenPipeError:
                return self.ended(self.reason("gone", named))
            patience = PATIENCE if TIMER else 1.0
            return self.answer(time.monotonic() + patience * seconds, seconds, named)
        except BaseException:
            self.end()
            raise

    def started(self) -> bool:
        message = self.read(time.monotonic() + START_SECONDS)
        self.listening = message == ("listening", None)
        return self.listening

    def answer(self, until: float, seconds: float, named: float) -> Any:
        while True:
            message = self.read(until)
            kind: str = message[0] if message else "hangs"
            value: Any = message[1] if message else None
            match kind:
                case "answer":
                    return value
                case "error":
                    raise _as_error(value)
                case "at":
                    self.at = str(value)
                case "used":
                    self.used = float(value)
                case "late" | "memory" | "died":
                    self.used = seconds
                    return Ended(self.reason(kind, named))
                case _:
                    self.used = seconds
                    return self.ended(self.reason(kind, named))

    def reason(self, kind: str, seconds: float) -> str:
        """What ran out."""
        if kind in ("late", "hangs"):
            busy = kind == "hangs" and time.monotonic() >= self.until
            return _by_the_clock(seconds, self.at) if busy else _late(seconds, self.at)
        memory = f"{self.memory / GIBIBYTE:g} GiB of memory were not enough"
        if kind == "memory":
            return f"{memory} in {self.at}"
        return f"the process of the engines ended in {self.at}: {memory}, or the system ended it"

    def read(self, until: float) -> Any:
        """The next message; None where the time is over first, ``gone`` where the process is."""
        assert self.process.stdout is not None
        until = min(until, self.until)
        size = self.bytes(8, until)
        body = size and self.bytes(struct.unpack("<Q", size)[0], until)
        if size is None or body is None:
            return None
        return pickle.loads(body) if body else ("gone", None)

    def bytes(self, count: int, until: float) -> bytes | None:
        assert self.process.stdout is not None
        parts, descriptor = b"", self.process.stdout.fileno()
        while len(parts) < count:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            part = os.read(descriptor, count - len(parts))
            if not part:
                return b""
            parts += part
        return parts

    def ended(self, reason: str) -> Ended:
        self.end()
        return Ended(reason)

    def end(self) -> None:
        """Kill the process; the next question starts another one."""
        if self.owner == os.getpid():
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)  # it leads a session: the fork that answers ends with it
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        _Worker.current = None


_LOCK = threading.Lock()


@atexit.register
def close() -> None:
    """End the process that is kept."""
    if _Worker.current is not None and _Worker.current.owner == os.getpid():
        _Worker.current.end()


def serve(memory: int) -> None:
    """Load the engines and answer until there are no more questions: the program of the process of the engines."""
    try:
        _serve(memory)
    except BrokenPipeError:  # nobody waits for an answer any more, and nobody wants to read of it
        os._exit(0)


def _serve(memory: int) -> None:
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # read when NumPy is loaded, by the engines
    gc.disable()  # what is loaded is not garbage: looking for some takes a sixth of the loading
    import z3

    for module in ("entries.definedness", "scalar.prove", "entries.script"):
        importlib.import_module(f"bilevel_verify.audit.{module}")
    gc.freeze()
    gc.enable()
    z3.set_param("memory_max_size", max(1, memory // 2**20))
    _send(sys.stdout.buffer, ("listening", None))
    while hasattr(os, "fork"):
        child = os.fork()
        if not child:
            break
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return
        late = TIMER and status == -signal.SIGPROF
        _send(sys.stdout.buffer, ("late" if late else "memory" if status == NO_MEMORY else "died", None))
    _answer(memory)
    os._exit(0)


def _answer(memory: int) -> None:
    """Answer questions in this process."""
    global _listener
    _inside.set(True)
    _limit_memory(memory)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    _listener = outgoing
    while size := incoming.read(8):
        seconds, function, arguments, options = pickle.loads(incoming.read(struct.unpack("<Q", size)[0]))
        _end_after(seconds)
        began = time.process_time()
        try:
            message = ("answer", _named(function)(*arguments, **options))
        except MemoryError:
            os._exit(NO_MEMORY)
        except Exception as error:
            message = ("error", error)
        _end_after(0.0)
        _send(outgoing, ("used", time.process_time() - began))
        _send(outgoing, message)


def _as_error(value: object) -> Exception:
    return value if isinstance(value, Exception) else RuntimeError(str(value))


def _end_after(seconds: float) -> None:
    """Let the system end this process after so many seconds of processor time (0: never)."""
    if TIMER:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(size: int) -> None:
    """Let the process grow by so many bytes; where the system knows no such limit, there is none."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, OSError, ValueError):
        return


def _send(stream: IO[bytes], message: object) -> None:
    body = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(body)) + body)
    stream.flush()
