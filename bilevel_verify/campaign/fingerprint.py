"""What an answer depends on besides its question: sources, versions, problem text and card text.

The key of a cell must be known before its parameters are resolved, since resolving them may take seconds. It therefore
covers everything that the resolution is a function of (problem, card, explicit parameters, and the source of *all*
rooms from the language down to the checks, constants included) instead of the resolved numbers; the answer has those.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from bilevel_verify.campaign.cell import Cell, digest
from bilevel_verify.campaign.solvers import solver_fingerprint
from bilevel_verify.campaign.sources import card_fingerprint, problem_fingerprint
from bilevel_verify.installation import theory_directory

ROOMS = (
    "language",
    "numbers",
    "atoms",
    "intervals",
    "problems",
    "symbolic",
    "constants",
    "oracles",
    "truth",
    "methods",
    "theorems",
    "solving",
    "checks",
)
"""Rooms whose source decides an answer of ``verify`` and ``solve``; an audit depends on ``audit`` as well."""
EXPERIMENT = tuple(f"experiments/{part}" for part in ("work", "files", "instances", "data", "ground_truth", "models"))
"""What decides the answer of a run of an experiment; verdicts and reports are made anew from the answers."""
NUMERICAL = ("numpy", "scipy", "sympy", "mpmath", "numba", "llvmlite", "cvxpy", "clarabel", "python-flint", "z3-solver")


@cache
def versions() -> dict[str, str]:
    """Versions of the package, of Python and of every numerical dependency (``absent`` where one is not installed)."""
    from bilevel_verify.version import VERSION

    found = {"bilevel-verify": VERSION, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in NUMERICAL:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


@cache
def source_fingerprint(*rooms: str) -> str:
    """SHA-256 over the Python source of the rooms, file by file in a fixed order."""
    root = Path(__file__).parents[1]
    state = hashlib.sha256()
    for room in rooms:
        for path in [root / f"{room}.py", *sorted((root / room).rglob("*.py"))]:
            if path.is_file():
                state.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for path in sorted((theory_directory() / "constants").glob("*.toml")):  # what the letters of a constant mean
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


def identity(cell: Cell) -> dict[str, object]:
    """Everything an answer depends on besides the question, as data; its digest with the question is the key.

    Raises
    ------
    InputError
        The problem, the card or the solver named by the cell does not exist or cannot be read.
    """
    own = {} if cell.solver is None else {"solver": solver_fingerprint(cell.solver)}
    more = {"audit": ("audit",), "experiment": EXPERIMENT}.get(cell.kind, ())
    rooms: tuple[str, ...] = (*ROOMS, *more)
    return {
        "problem": None if cell.problem is None else problem_fingerprint(cell.problem),
        "card": card_fingerprint(cell.statement, cell.card),
        "seed": cell.seed,
        "versions": versions(),
        "sources": source_fingerprint(*rooms),
        **own,
    }


def key_of(cell: Cell, depends: dict[str, object]) -> str:
    """Key of the answer: digest of the question with all that it depends on."""
    return digest({"cell": cell.to_dict(), "identity": depends})
