"""A command or a block of Python in a process of its own that has imported the package and read the cards already.

Most of the time of a short command in a new interpreter is importing. Where there is no fork, it is a new interpreter.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from bilevel_verify.cli import main
from bilevel_verify.theorems.library import cards

ROOT = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "160"}
LOADED = (
    "sympy",
    "jinja2",
    "rich.table",
    "matplotlib.figure",
    *(
        f"bilevel_verify.{one}"
        for one in ("verifying", "solving", "reporting.html", "campaign.work", "theorems.library")
    ),
)
LONGEST = 300


def in_a_new_interpreter(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command as a shell starts it."""
    command = [sys.executable, "-m", "bilevel_verify", *words]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=LONGEST)


def command(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of ours in that folder; what it prints and its exit status."""
    if not hasattr(os, "fork"):
        return in_a_new_interpreter(words, folder)
    return _forked(list(words), folder, lambda: main(list(words)))


def python(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A block of Python in that folder, as ``python -c`` runs it."""
    line = [sys.executable, "-c", text]
    if not hasattr(os, "fork"):
        return subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=LONGEST)

    def execute() -> int:
        sys.path.insert(0, "")
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
        return 0

    return _forked(line, folder, execute)


@cache
def _load() -> None:
    """What nearly every fork would import or read again."""
    for name in LOADED:
        importlib.import_module(name)
    cards()


def _forked(line: list[str], folder: Path, work: Callable[[], int]) -> subprocess.CompletedProcess[str]:
    _load()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
            child = os.fork()
        if child == 0:
            _child(out.fileno(), err.fileno(), folder, work)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(line, status, *texts)


def _child(out: int, err: int, folder: Path, work: Callable[[], int]) -> None:
    """The child's whole life: it never returns."""
    status = 3
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8")  # noqa: SIM115
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST)
        os.chdir(folder)
        os.environ.update(ENVIRONMENT)
        warnings.resetwarnings()
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
