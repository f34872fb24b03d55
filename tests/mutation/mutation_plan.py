"""What is mutated, by which tests it shall be noticed, and which mutants are known to change nothing.

``rooms/NAME.toml`` holds one room: its modules with their tests, and its equivalent mutants, each with a reason.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import mutation_worker as worker
from mutation_operators import Module, Mutant

HERE = Path(__file__).resolve().parent
ROOT = worker.ROOT
MAKES_CODE = ("atoms", "symbolic", "oracles", "methods")
"""Rooms whose source decides machine code: their mutants run without the cache of compiled functions."""


class TableError(Exception):
    """A table names something that is not there; the message says what to change."""


@dataclass(frozen=True)
class Target:
    """A module to mutate: its room, and the test files that shall notice, relative to the root of the repository.

    ``plain`` runs its tests without numba: a mutant of a compiled function is then what really runs.
    """

    room: str
    path: str
    tests: tuple[str, ...]
    plain: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """Environment of its test runs."""
        plain = {"BILEVEL_VERIFY_PLAIN": "1", "NUMBA_DISABLE_JIT": "1"} if self.plain else {}
        compiled = self.plain or self.path.split("/")[1] in MAKES_CODE
        return {**plain, "BILEVEL_VERIFY_CACHE": "off" if compiled else str(kept() / "machine-code")}


@dataclass(frozen=True)
class Planned:
    """A mutant and its names: the lines touched before and after; ``reason`` if it is declared equivalent."""

    target: Target
    source: Module
    mutant: Mutant
    before: str
    after: str
    occurrence: int
    reason: str | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.target.path, self.before, self.after, self.occurrence

    @property
    def place(self) -> str:
        return f"{self.target.path}:{self.source.line(self.mutant)}"


def kept() -> Path:
    """Folder of baselines, bytecode and machine code: outside the tree, this user's own, one for each checkout."""
    mark = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    path = Path(tempfile.gettempdir()) / f"bilevel-verify-mutation-{os.getuid()}" / mark
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def read_rooms(one: Path | None) -> dict[str, dict[str, Any]]:
    """The tables of all rooms by name, or that of one file."""
    files = sorted((HERE / "rooms").glob("*.toml")) if one is None else [one]
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in files}


def targets_of(rooms: dict[str, dict[str, Any]]) -> list[Target]:
    """Every module of the tables.

    Raises
    ------
    TableError : a module or a test file is not there, or a module stands in two rooms.
    """
    found: dict[str, Target] = {}
    for room, table in rooms.items():
        shared = table.get("tests", [])
        for entry in table["module"]:
            target = Target(room, entry["path"], (*entry.get("tests", ()), *shared), entry.get("plain", False))
            for name in (target.path, *target.tests):
                if not (ROOT / name).is_file():
                    raise TableError(f"rooms/{room}.toml: there is no {name}; name the file as it is called now")
            if target.path in found:
                raise TableError(f"rooms/{room}.toml: {target.path} stands in rooms/{found[target.path].room}.toml too")
            if not target.tests:
                raise TableError(f"rooms/{room}.toml: {target.path} has no tests; name at least one test file")
            found[target.path] = target
    return list(found.values())


def with_fast_tests(target: Target) -> Target:
    """The target with those of its test files that mark tests as ``fast``."""
    return replace(target, tests=tuple(n for n in target.tests if "mark.fast" in (ROOT / n).read_text("utf-8")))


def equivalents_of(rooms: dict[str, dict[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Module, line before, line after -> why nothing changes."""
    found = {}
    for room, table in rooms.items():
        for entry in table.get("equivalent", []):
            if not entry.get("reason", "").strip():
                raise TableError(f"rooms/{room}.toml: an equivalent of {entry['module']} has no reason; give one")
            key = entry["module"], " ".join(entry["before"].split()), " ".join(entry["after"].split())
            found[key] = entry["reason"]
    return found


@lru_cache(maxsize=2)
def _module(path: str, text: str) -> Module:
    """The module of the last plans: its mutants are asked for twice, a few a line and all."""
    return Module(path, text)


def plan(target: Target, equivalents: dict[tuple[str, str, str], str], dense: bool = False) -> list[Planned]:
    """The mutants of one module (``dense``: all of them, not a few a line)."""
    source = _module(target.path, (ROOT / target.path).read_text(encoding="utf-8"))
    seen: dict[tuple[str, str], int] = {}
    planned = []
    for mutant in source.every if dense else source.mutants:
        pair = source.diff(mutant)
        seen[pair] = seen.get(pair, -1) + 1
        reason = equivalents.get((target.path, *pair))
        planned.append(Planned(target, source, mutant, *pair, seen[pair], reason))
    return planned


def sample(planned: Sequence[Planned], size: int, seed: int) -> list[Planned]:
    """``size`` mutants, as nearly as may be the same number from every room, in the order of the plan.

    What is drawn of a room does not depend on the other rooms: so many of each, room by room, are the same mutants.
    """
    rooms: dict[str, list[int]] = {}
    for k, one in enumerate(planned):
        rooms.setdefault(one.target.room, []).append(k)
    for room, members in rooms.items():
        random.Random(f"{seed} {room}").shuffle(members)
    chosen: list[int] = []
    while len(chosen) < min(size, len(planned)):
        for members in rooms.values():
            if members and len(chosen) < size:
                chosen.append(members.pop())
    return [planned[k] for k in sorted(chosen)]


def of_some_modules(planned: Sequence[Planned], count: int, seed: int) -> list[Planned]:
    """The mutants of ``count`` modules, as nearly as may be the same number of modules from every room."""
    rooms: dict[str, dict[str, None]] = {}
    for one in planned:
        rooms.setdefault(one.target.room, {}).setdefault(one.target.path)
    generator = random.Random(seed)
    waiting = [generator.sample(sorted(paths), len(paths)) for paths in rooms.values()]
    chosen: set[str] = set()
    while len(chosen) < count and any(waiting):
        for paths in waiting:
            if paths and len(chosen) < count:
                chosen.add(paths.pop())
    return [one for one in planned if one.target.path in chosen]


def slips(targets: Sequence[Target], path: Path | None = None) -> list[Planned]:
    """The named slips of ``slips.toml`` as mutants; ``occurrence`` is their place in the file.

    Raises
    ------
    TableError : the text of a slip is not found once in its file.
    """
    table = tomllib.loads((path or HERE / "slips.toml").read_text(encoding="utf-8"))
    known = {target.path: target for target in targets}
    planned = []
    for k, entry in enumerate(table["slip"]):
        file, before = entry["file"], entry["before"].strip("\n")
        text = (ROOT / file).read_text(encoding="utf-8")
        if text.count(before) != 1:
            raise TableError(f"slip {entry['id']}: its text stands {text.count(before)} times in {file}, not once")
        tests = tuple(entry.get("tests", ()))
        target = known.get(file, Target("slips", file, tests))
        if tests:
            target = Target(target.room, file, tests, target.plain)
        if not target.tests:
            raise TableError(f"slip {entry['id']}: {file} stands in no room; give the slip its own tests")
        start = len(text[: text.index(before)].encode())
        mutant = Mutant(start, start + len(before.encode()), entry["after"].strip("\n"), entry["id"])
        source = Module(file, text)
        planned.append(Planned(target, source, mutant, *source.diff(mutant), k, entry.get("equivalent")))
    return planned
