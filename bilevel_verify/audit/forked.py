"""A fork of this process with pipes for its input and output, used like ``subprocess.Popen``.

A new interpreter starts anew and loads again what this process has; a fork has it already.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO


def can_fork(heavy: str) -> bool:
    """Whether a fork is as good as a new interpreter: one thread, and a ``heavy`` library is not loaded yet."""
    return sys.platform == "linux" and threading.active_count() == 1 and heavy not in sys.modules


class Forked:
    """A process that runs ``program`` as the leader of a session of its own and ends with it.

    Attributes
    ----------
    stdin, stdout : the ends of its input and output that are here.
    """

    def __init__(self, program: Callable[[], None]) -> None:
        questions, self.stdin = _pipe()
        self.stdout, answers = _pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is not written yet would be written twice
        self.pid = os.fork()
        if not self.pid:
            with contextlib.suppress(BaseException):
                os.setsid()
                self.stdin.close()
                self.stdout.close()
                os.dup2(questions.fileno(), 0)
                os.dup2(answers.fileno(), 1)
                sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 (they end with the process)
                program()
            os._exit(0)
        questions.close()
        answers.close()
        self._status: int | None = None

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self.wait(os.WNOHANG)

    def wait(self, how: int = 0) -> int | None:
        """Wait for its end; minus the number of the signal that ended it, else its exit status."""
        if self._status is None:
            ended, status = os.waitpid(self.pid, how)
            self._status = os.waitstatus_to_exitcode(status) if ended else None
        return self._status

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    """Where is read, where is written."""
    out, into = os.pipe()
    return open(out, "rb"), open(into, "wb")
