"""Who reads a clock, and for what: no verdict is decided by seconds, so whoever is not in this table may not look."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast
ROOT = Path(__file__).parents[2] / "bilevel_verify"
READS = {"monotonic", "perf_counter", "process_time", "thread_time", "time", "setitimer", "monotonic_ns", "time_ns"}

ENDS = {
    "audit/limits.py": "processor time of the process of the engines, for a command the clock, too; the row says which",
    "cli/main.py": "when the command began: the budget of check counts from there",
    "campaign/run.py": "time for everything; the cells that are left are not answered",
    "worst/finding.py": "minutes of a search; how many candidates were tried is told",
    "worst/search.py": "the same; the best so far is kept",
    "testing/trials/contracts.py": "a callable that never returns; processor time where the machine is busy",
    "testing/trials/trying.py": "how long a found failure is made simpler; that it fails stands before",
    "testing/controls/slip_table.py": "minutes of a sample of slips; how many were tried is told",
    "time_limit.py": "what a user gives truth, solve, verify, constants; what it breaks off has no value and says so",
    "cli/commands/refining.py": "rounds of constants; what each has is certified, and which bound was reached is told",
    "reporting/pictures.py": "waiting for a picture; none is drawn",
}
"""Seconds that end something, and say so."""
TELLS = {
    "campaign/agenda.py": "when leases are renewed and others asked for",
    "campaign/pool.py": "how long a cell took; one beyond the limit of its time is a failure that names it",
    "campaign/store.py": "the clock by which others are silent",
    "campaign/worker.py": "how long a cell took",
    "checks/engine.py": "how long an answer took",
    "cli/commands/auditing.py": "when progress is told; when the budget of a link ends",
    "cli/commands/worst.py": "when progress is told",
    "cli/output.py": "when progress is told",
    "experiments/work.py": "seconds as an axis of a curve",
    "methods/batch.py": "rows of a block, so that a reader sees them come",
    "methods/streams.py": "rows of a block, so that a reader sees them come; how long a run took",
    "oracles/external.py": "how long a call of a model took",
    "oracles/store.py": "files that nobody came back for",
    "plot/progress.py": "how long a call took",
    "testing/__main__.py": "how long a part took",
    "testing/assertions/promises.py": "how long a part took",
}
"""Seconds that are told, or that order the work."""
ASKED = {"audit/formula.py": "the budget that a user gives to check", "audit/scalar/deciding.py": "far beyond its work"}
"""Who hands seconds to the engines; ``audit/entries/definedness.py`` has a limit of its own, far beyond its work."""


@cache
def texts() -> dict[str, str]:
    files = sorted(p for p in ROOT.rglob("*.py") if "benchmarks" not in p.parts)
    return {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in files}


def modules(*words: str) -> dict[str, ast.Module]:
    """The modules whose text has one of some words."""
    return {name: ast.parse(text) for name, text in texts().items() if any(word in text for word in words)}


def reads(tree: ast.Module) -> bool:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in READS)
    return any(isinstance(n.value, ast.Name) and n.value.id in ("time", "signal") for n in found)


def test_who_reads_a_clock() -> None:
    read = {name for name, tree in modules("time.", "signal.").items() if reads(tree)}
    assert read == ENDS.keys() | TELLS.keys()


def test_nobody_imports_a_clock_by_its_name() -> None:
    for name, tree in modules("from time", "from signal").items():
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module in ("time", "signal")]
        assert not {a.name for n in imports for a in n.names} & READS, name


@pytest.mark.slow
def test_who_hands_seconds_to_the_engines() -> None:
    engines = {"decide", "bounded", "undefined"}
    calls = {
        (name, ast.unparse(node.func))
        for name, tree in modules("seconds").items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and any(k.arg == "seconds" for k in node.keywords)
    }
    handed = {name for name, function in calls if function in engines}
    assert handed == ASKED.keys() | {"audit/entries/definedness.py"}
