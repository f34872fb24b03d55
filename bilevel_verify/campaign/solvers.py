"""Solvers of the user in a campaign: how they are named, what text is behind them, how a worker finds them.

A solver is written ``FILE.py:FUNCTION`` or ``module:FUNCTION``. Such a reference comes from the command line or from
Python code only: a campaign file says ``own:FUNCTION``, which means nothing until its reader names the file, so a file
of a stranger runs no code.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from bilevel_verify.errors import InputError
from bilevel_verify.files import is_file

Solver = Callable[..., Any]
OWN = "own:"
"""What the name of a user's solver begins with in a list of methods."""
HOW = "write FILE.py:FUNCTION or module:FUNCTION"
_LOADED: dict[tuple[str, str], ModuleType] = {}
"""Modules by file and digest: a file that was changed is read again."""


def reference_of(solver: Solver) -> str:
    """The reference of a function that a worker process can find by itself.

    Raises
    ------
    InputError : one that was not defined at the top of a file (a lambda, a cell of a notebook, a bound method).
    """
    name, home = getattr(solver, "__qualname__", ""), sys.modules.get(getattr(solver, "__module__", None) or "")
    path = getattr(home, "__file__", None)
    if not name.isidentifier() or path is None or not is_file(Path(path)) or getattr(home, name, None) is not solver:
        shown = name or type(solver).__name__
        raise InputError(f"own solver {shown}: workers must find it: define it with def at the top level of a file")
    if home is not None and home.__package__ and home.__name__ != "__main__":
        return f"{home.__name__}:{name}"
    return f"{Path(path).resolve()}:{name}"


def name_of(reference: str) -> str:
    """What a grid and its rows call the solver: the name of its function.

    Raises
    ------
    InputError : not a reference, or the name of a method of ours, with which its rows would be mixed up.
    """
    from bilevel_verify.methods import METHODS

    home, _, name = reference.rpartition(":")
    if not home or not name.isidentifier():
        raise InputError(f"own solver {reference!r}: {HOW}")
    if name in METHODS:
        raise InputError(f"own solver {reference!r}: {name} is a method of ours; give the function another name")
    return name


def named(solvers: Sequence[str | Solver]) -> dict[str, str]:
    """``own:FUNCTION`` -> reference, of the solvers that the caller names.

    Raises
    ------
    InputError : two of one name, or one that is no reference.
    """
    found: dict[str, str] = {}
    for solver in solvers:
        reference = _absolute(solver if isinstance(solver, str) else reference_of(solver))
        name = OWN + name_of(reference)
        if found.setdefault(name, reference) != reference:
            raise InputError(f"two own solvers are called {name_of(reference)}; rename one of the functions")
    return found


def given(name: str, known: Mapping[str, str], where: str) -> str | None:
    """The reference behind a name in a list of methods; None for a method of ours.

    Raises
    ------
    InputError : an own solver that nobody named on the command line or in Python.
    """
    if not name.startswith(OWN):
        return None
    if name not in known:
        function = name.removeprefix(OWN)
        raise InputError(
            f"{where}: {name} is code, which a campaign file cannot bring; name it yourself: "
            f"--solver FILE.py:{function}, in Python solvers=[...]"
        )
    return known[name]


def load_solver(reference: str) -> Solver:
    """The function behind a reference; runs the file that it names.

    Raises
    ------
    InputError : no such file, module or function, or the file raises an exception.
    """
    home, _, name = reference.rpartition(":")
    path = source_of(reference)
    try:
        module = _from_file(path) if home.endswith(".py") else importlib.import_module(home)
    except Exception as error:  # the user's code
        raise InputError(f"own solver {reference}: {home} raised {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f"own solver {reference}: {home} has no function {name}")
    solver: Solver = found
    return solver


def source_of(reference: str) -> Path:
    """The file of a solver.

    Raises
    ------
    InputError : there is none.
    """
    home, _, _ = reference.rpartition(":")
    if home.endswith(".py"):
        path = Path(home)
    else:
        try:
            spec = importlib.util.find_spec(home)
        except (ImportError, ValueError):
            spec = None
        path = Path(spec.origin) if spec is not None and spec.origin else Path(home)
    if not is_file(path):
        missing = f"no such file {path}" if home.endswith(".py") else f"no module {home} with a file of its own"
        raise InputError(f"own solver {reference}: {missing}; {HOW}")
    return path


def solver_fingerprint(reference: str) -> str:
    """SHA-256 over the file of a solver, the files beside it that it imports, and the versions of other packages.

    What a solver reads besides (data, files imported by name at run time) is not seen.
    """
    state = hashlib.sha256(name_of(reference).encode())
    files, packages = _imports(source_of(reference))
    for path in files:
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for name in sorted(packages - set(sys.stdlib_module_names)):
        try:
            state.update(f"{name} {metadata.version(name)}\0".encode())
        except metadata.PackageNotFoundError:
            continue
    return state.hexdigest()


def _imports(first: Path) -> tuple[list[Path], set[str]]:
    """A file with those beside it that it imports, at whatever distance; and the names of other packages."""
    files, waiting, packages = [first], [first], set[str]()
    while waiting:
        for name in _imported(waiting.pop()):
            beside = [p for p in (first.parent / f"{name}.py",) if p.is_file()]
            beside += sorted((first.parent / name).rglob("*.py"))
            new = [p for p in beside if p not in files]
            files += new
            waiting += new
            if not beside:
                packages.add(name)
    return sorted(files), packages


def _imported(path: Path) -> Iterator[str]:
    """First parts of the names of modules in the import statements of a file."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return  # said by the room that loads it
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from [module.partition(".")[0]] if module else [alias.name for alias in node.names]


def _absolute(reference: str) -> str:
    home, _, name = reference.rpartition(":")
    return f"{Path(home).resolve()}:{name}" if home.endswith(".py") else reference


def _from_file(path: Path) -> ModuleType:
    """The module of a file, under a name of its own; it finds its neighbours as a script does."""
    key = (str(path), hashlib.sha256(path.read_bytes()).hexdigest())
    if key not in _LOADED:
        spec = importlib.util.spec_from_file_location(f"own_solver_{path.stem}", path)
        assert spec is not None  # a file that ends with .py has a loader
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        with _uncompiled():
            spec.loader.exec_module(module)
        _LOADED[key] = module
    return _LOADED[key]


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Nothing compiled is kept: an edit within the same second that keeps the length of a file would go unnoticed."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
