"""Processes of a mutation run: one warm parent, one server a module, one child a mutant.

The parent imports the heavy libraries once and nothing of the package. A server is a fork of it that has imported the
modules of the package which do not stand on the mutated one. A child is a fork of a server: it puts the mutated source
in the place of the module by an import hook, so that nothing is written into the tree, and runs pytest in its own
process. What a child starts in other processes is therefore not mutated.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import linecache
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bilevel_verify", "bilevel_check")
HEAVY = (
    "numpy sympy scipy.optimize scipy.linalg scipy.special scipy.sparse numba flint z3 mpmath hypothesis pytest cvxpy "
    "clarabel jinja2 rich.console rich.table matplotlib.figure _pytest.assertion.rewrite _pytest.pytester tomllib"
).split()
LIMIT = 20.0
"""Seconds of processor time that a mutant gets."""
PATIENCE = 30.0
"""A mutant that waits (for a lock, a pipe) is ended after so many times its processor time."""
MEMORY = 4 * 2**30
BUDGET = 12.0
"""Seconds of processor time that the chosen tests of one module may need on the true code."""
NO_TESTS = 5
"""What pytest ends with when it has collected nothing."""
CALLS, LINES = 40, 400
"""So many calls of one function a test, and lines of one call, are watched: watching costs more than running."""


def warm(bytecode: Path, libraries: Sequence[str] = HEAVY) -> None:
    """Import the heavy libraries into this process, nothing of the package; bytecode is kept in a folder of its own."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if str(ROOT) not in sys.path:
        sys.path[:0] = [str(ROOT)]
    sys.pycache_prefix, sys.dont_write_bytecode = str(bytecode), False  # outside the tree, so it may always be written
    for name in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in importlib.import_module("_pytest.config").default_plugins:
        importlib.import_module(f"_pytest.{name}")
    for plugin in importlib.metadata.entry_points(group="pytest11"):  # else every child imports them
        if not plugin.value.startswith(PACKAGES):
            with contextlib.suppress(ImportError):
                plugin.load()
    loaded = [name for name in sys.modules if name.split(".")[0] in PACKAGES]
    if loaded:
        raise RuntimeError(f"the warm process must not know the package: {loaded[:3]}")
    gc.freeze()  # what is never freed need not be looked at (nor its pages copied) in every fork


# --- children


def forked(work: Callable[[Callable[[Any], None]], None], seconds: float | None = None) -> Iterator[Any]:
    """Run ``work(tell)`` in a fork; ``seconds`` limits its processor time, and :data:`PATIENCE` times that its waiting.

    It forks when it is first asked for a message, so that work may be listed before it begins.
    Yields a file descriptor while there is nothing to read, every message (a dict) that the fork tells, and at last
    ``{"end": "done" | "timeout" | "crash"}``.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, seconds, read, write)
    os.close(write)
    yield from _messages(pid, read, time.monotonic() + PATIENCE * seconds if seconds else None)


def _child(work: Callable[[Callable[[Any], None]], None], seconds: float | None, read: int, write: int) -> None:
    """Never returns."""
    status = 1
    try:
        os.setsid()
        _die_with_parent()
        os.close(read)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1) if os.environ.get("MUTATION_DEBUG") else (0, 1, 2):
            os.dup2(null, stream)
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(write, "wb") as pipe:

            def tell(message: Any) -> None:
                pipe.write(json.dumps(message).encode() + b"\n")
                pipe.flush()

            work(tell)
        status = 0
    except BaseException:
        if os.environ.get("MUTATION_DEBUG"):
            traceback.print_exc()
    finally:
        os._exit(status)


def _die_with_parent() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _address_space() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 8 * 2**30


def _messages(pid: int, read: int, deadline: float | None) -> Iterator[Any]:
    rest, status, late = b"", None, False
    while True:
        ready, _, _ = select.select([read], [], [], 0.0)
        if ready:
            part = os.read(read, 1 << 16)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            yield from (json.loads(line) for line in lines)
        elif status is not None:  # it has ended, and what it started still holds the pipe
            break
        elif deadline is not None and time.monotonic() > deadline:
            late = True
            break
        else:
            yield read
            ended, code = os.waitpid(pid, os.WNOHANG)
            status = code if ended else None
    os.close(read)
    if late:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1] if status is None else status
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # what it started and left behind
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        yield {"end": "done"}
        return
    slow = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
    yield {"end": "timeout" if slow else "crash"}


def together(works: Iterable[tuple[Any, Iterator[Any]]], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Run forks, ``jobs`` at a time; yields pairs of key and message as they come, the end of each included."""
    waiting, running = iter(works), {}
    while True:
        while len(running) < jobs:
            following = next(waiting, None)
            if following is None:
                break
            key, process = following
            running[key] = process
        if not running:
            return
        pipes = []
        for key, process in list(running.items()):
            told = next(process)
            if isinstance(told, int):
                pipes.append(told)
                continue
            if "end" in told:
                del running[key]
            yield key, told
        if pipes and len(pipes) == len(running):
            select.select(pipes, [], [], 0.2)


def result_of(work: Callable[[Callable[[Any], None]], None], seconds: float | None) -> Any:
    """The one message of a fork, or ``{"outcome": "timeout" | "crash"}``."""
    answer = None
    for _, told in together([(0, forked(work, seconds))], 1):
        if "end" not in told:
            answer = told
        elif answer is None or told["end"] == "timeout":
            answer = {"outcome": told["end"] if told["end"] != "done" else "crash"}
    return answer


# --- the mutated source in place of the module


class Replaced(importlib.machinery.SourceFileLoader):
    """Loads a module of the package from a given source."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source
        self.used = False

    def come_first(self) -> None:
        """Stand before every other finder (pytest's own, which rewrites plugins, puts itself first)."""
        sys.meta_path[:] = [self, *(finder for finder in sys.meta_path if finder is not self)]

    def get_code(self, fullname: str) -> Any:
        self.used = True
        linecache.cache[self.path] = (len(self.source), None, self.source.splitlines(True), self.path)
        return compile(self.source, self.path, "exec", dont_inherit=True)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        package = Path(self.path).name == "__init__.py"
        where = [str(Path(self.path).parent)] if package else None
        return importlib.util.spec_from_file_location(name, self.path, loader=self, submodule_search_locations=where)


def module_name(path: str) -> str:
    """``bilevel_verify/atoms/table.py`` -> ``bilevel_verify.atoms.table``; a helper of tests has its bare name."""
    if path.startswith("tests/"):
        return Path(path).stem
    parts = list(Path(path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# --- pytest inside a child


class Recorder:
    """pytest plugin: outcomes, processor time, and the lines of the watched files that each test reaches."""

    def __init__(self, watched: frozenset[str]) -> None:
        self.watched = watched
        self.tests: dict[str, dict[str, Any]] = {}

    def begin(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self.calls: dict[Any, int] = {}

    def trace(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.watched:
            return None
        self.calls[code] = self.calls.get(code, 0) + 1
        if self.calls[code] > CALLS:
            return None
        add, left = self.lines.setdefault(code.co_filename, set()).add, LINES

        def line(frame: Any, event: str, arg: Any) -> Any:
            nonlocal left
            add(frame.f_lineno)
            left -= 1
            frame.f_trace_lines = left > 0
            return line

        add(frame.f_lineno)
        return line

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        self.begin()
        self.tests[item.nodeid] = {"cpu": -time.process_time(), "lines": self.lines, "failed": False}
        sys.settrace(self.trace)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.tests[report.nodeid]["failed"] = True
        if report.when == "teardown":
            sys.settrace(None)
            self.tests[report.nodeid]["cpu"] += time.process_time()


class Chooser:
    """pytest plugin: only the chosen tests, in the order chosen; remembers the first that fails."""

    def __init__(self, chosen: list[str], hook: Replaced) -> None:
        self.hook = hook
        self.order = {name: k for k, name in enumerate(chosen)}
        self.failed: str | None = None
        self.where: str | None = None

    def pytest_configure(self) -> None:
        self.hook.come_first()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.where = "import"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


def _pytest(files: list[str], plugin: Any, *options: str) -> int:
    import pytest

    os.chdir(ROOT)
    folder = tempfile.mkdtemp(prefix="mutant-")
    try:
        where = ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "--basetemp", f"{folder}/t"]
        fixed = [
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        return int(pytest.main([*fixed, *where, *options, *files], plugins=[plugin]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settle(settings: dict[str, str]) -> None:
    """What holds for every test run: bytecode and machine code outside the tree, plain Python where asked."""
    os.environ.update(settings)
    if settings.get("NUMBA_DISABLE_JIT") == "1":
        with contextlib.suppress(ImportError):
            importlib.import_module("numba").config.DISABLE_JIT = 1


def baseline(file: str, watched: frozenset[str], settings: dict[str, str], marked: str = "") -> dict[str, Any]:
    """Run one test file on the true code: outcome, processor time and lines reached of every test.

    ``marked`` keeps the tests that carry this mark; a file without one is green.
    """
    _settle(settings)
    recorder = Recorder(watched)
    began = time.process_time()
    status = _pytest([file], recorder, *(["-m", f"({marked})"] if marked else []))
    sys.settrace(None)

    def plain(lines: dict[str, set[int]]) -> dict[str, list[int]]:
        return {os.path.relpath(name, ROOT): sorted(found) for name, found in lines.items()}

    tests = {name: {**test, "lines": plain(test["lines"])} for name, test in recorder.tests.items()}
    return {
        "outcome": "green" if status == 0 or (marked and status == NO_TESTS) else "red",
        "status": status,
        "tests": tests,
        "cpu": time.process_time() - began,
        "modules": sorted(name for name in sys.modules if name.split(".")[0] in PACKAGES),
    }


def run_mutant(path: str, source: str, tests: list[str], settings: dict[str, str]) -> dict[str, Any]:
    """Run tests on a mutated module, until the first that fails.

    ``outcome`` is ``caught``, ``survived``, or ``stillborn`` (the module cannot even be imported).
    """
    _settle(settings)
    began = time.process_time()
    try:
        hook = Replaced(module_name(path), str(ROOT / path), source)
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        return {"outcome": "stillborn", "test": "syntax"}
    hook.come_first()
    chooser = Chooser(tests, hook)
    status = _pytest(list(dict.fromkeys(name.split("::")[0] for name in tests)), chooser, "-x")
    cpu = time.process_time() - began
    if chooser.failed is not None:
        return {"outcome": "caught", "test": chooser.failed, "cpu": cpu}
    if chooser.where is not None:
        return {"outcome": "stillborn", "test": "import", "cpu": cpu}
    if not hook.used:
        return {"outcome": "survived", "test": "its tests do not import the module", "cpu": cpu}
    if status == 0:
        return {"outcome": "survived", "cpu": cpu}
    return {"outcome": "caught" if status == 1 else "error", "test": f"pytest ended with {status}", "cpu": cpu}


# --- servers


def preload(names: Iterable[str], mutated: str = "") -> None:
    """Import what does not stand on the mutated module; what asks for it by a name that is put together waits."""
    standing = dependents(mutated) if mutated.startswith(PACKAGES) else set()
    later = _Later(standing)
    sys.meta_path.insert(0, later)
    try:
        for name in names:
            if name not in standing and not name.startswith("bilevel_verify.testing") and name not in PACKAGES:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    finally:
        sys.meta_path.remove(later)
    if mutated in sys.modules:
        raise RuntimeError(f"{mutated} was imported before its mutants")
    gc.freeze()


class _Later(importlib.abc.MetaPathFinder):
    """Refuses modules that stand on the mutated one, so that they are imported in the fork of a mutant."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname in self.names:
            raise ImportError(f"{fullname} waits for its mutant", name=fullname)


def dependents(module: str) -> set[str]:
    """The modules of the package that import a module, directly or not, wherever the import stands; itself too."""
    above: dict[str, set[str]] = {}
    for name, imported in imports().items():
        for target in imported:
            above.setdefault(target, set()).add(name)
    found, waiting = {module}, [module]
    while waiting:
        for name in above.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


@functools.cache
def imports() -> dict[str, set[str]]:
    """Modules of the package -> the modules they import; the packages they stand in are imported with them.

    It takes seconds: the parent asks once, before it forks.
    """
    graph: dict[str, set[str]] = {}
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        name = module_name(str(path.relative_to(ROOT)))
        graph[name] = _with_parents(name) - {name}
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGES):
                graph[name] |= _with_parents(node.module)
                graph[name] |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith(PACKAGES):
                        graph[name] |= _with_parents(alias.name)
    return graph


def _with_parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:k]) for k in range(2, len(parts) + 1)}


def fingerprint(paths: Iterable[Path]) -> str:
    """SHA-256 of files, names and contents."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(set(paths)):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
