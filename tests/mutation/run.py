"""Plant slips in the code on which verdicts stand, and count how many the tests notice.

    python tests/mutation/run.py --sample 48 --modules 16 --fast --seed today --jobs 2 --accuse
    python tests/mutation/run.py --room intervals --json intervals.jsonl
    python tests/mutation/run.py --module bilevel_verify/truth/minimum/minimum.py
    python tests/mutation/run.py --slips

Survivors are printed as they are found, as a line before and after. Exit status: 0 every room reached ``--at-least``
(with ``--accuse``: no room is shown not to reach it; with ``--equivalents``: none was noticed); 1 one did not; 2 wrong
use, or the tests fail on the true code; 3 the time was over before all had been run (the same command with the same
``--json`` goes on).
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import mutation_plan as plans
import mutation_worker as worker
from mutation_plan import Planned, Target
from mutation_score import LEVEL, Score, accused, table, total

CHUNK = 30
"""Mutants of one module that one server runs, one after the other."""
FILES = 6
"""Test files whose baselines one server runs."""
WRONG = ("caught", "timeout", "stillborn")
"""Outcomes that a declared equivalent must not have."""


class NotGreen(Exception):
    """Tests fail on the true code: nothing can be said about mutants."""


class TimeOver(Exception):
    """The time was over before the tests had been run on the true code; what was run is remembered."""


# --- the true code


@dataclass(frozen=True)
class Baseline:
    """One test file on the true code: processor seconds and lines reached of each test, modules loaded in the end."""

    tests: dict[str, dict[str, Any]]
    modules: list[str]


Known = dict[tuple[str, bool], Baseline]


def baselines(
    targets: Sequence[Target], jobs: int, say: Callable[[str], None], fast: bool = False, until: float = inf
) -> Known:
    """Every test file of the targets, run once (or remembered, if nothing has changed since).

    Raises
    ------
    NotGreen : a test fails, or a file has no tests.
    TimeOver : some had not begun at ``until`` (monotonic).
    """
    # what a test file reaches is noted for every module of the tables, so that it need not be run again for another
    watched = sorted({t.path for t in plans.targets_of(plans.read_rooms(None))} | {t.path for t in targets})
    wanted: dict[tuple[str, bool], Target] = {}
    for target in targets:
        for test in target.tests:
            wanted.setdefault((test, target.plain), target)
    marks = {key: _mark(key[0], watched) for key in wanted}
    found, rooms = {}, dict[tuple[str, bool], list[str]]()
    for key, target in wanted.items():
        file = _kept(key, fast)
        answer = json.loads(file.read_text()) if file.is_file() else {}
        if answer.get("mark") == marks[key]:
            found[key] = answer
        else:
            rooms.setdefault((target.room, target.plain), []).append(key[0])
    works = []
    for (room, plain), files in rooms.items():
        mine = [t for t in targets if t.room == room and t.plain == plain]
        for at in range(0, len(files), FILES):
            part = files[at : at + FILES]
            works.append(((plain, tuple(part)), worker.forked(_baselines(part, mine, watched, fast, until))))
    for (plain, files), told in worker.together(works, jobs):
        if "end" in told:
            if time.monotonic() > until:
                continue
            lost = [name for name in files if (name, plain) not in found]
            if lost:
                raise NotGreen(f"{lost[0]}: the run of its tests ended by {told['end']}")
            continue
        key = (told["file"], plain)
        failed = [name for name, test in told.get("tests", {}).items() if test["failed"]]
        if told["outcome"] != "green":
            raise NotGreen(
                f"{key[0]} fails on the true code: {', '.join(failed[:3]) or told.get('status', 'it ended')}"
            )
        say(f"true code: {key[0]} {told['cpu']:.1f} s, {len(told['tests'])} tests")
        found[key] = {**told, "mark": marks[key]}
        _kept(key, fast).write_text(json.dumps(found[key]))
    if found.keys() < wanted.keys():
        raise TimeOver
    return {key: Baseline(one["tests"], one["modules"]) for key, one in found.items()}


def _baselines(
    tests: list[str], targets: list[Target], watched: list[str], fast: bool, until: float
) -> Callable[[Callable[[Any], None]], None]:
    """What a server does: it imports the modules of a room, and runs test files one after the other, each in a fork."""
    files = frozenset(str(worker.ROOT / name) for name in watched)

    def work(tell: Callable[[Any], None]) -> None:
        settings = targets[0].settings
        os.environ.update(settings)
        worker.preload(worker.module_name(target.path) for target in targets)
        for test in tests:
            if time.monotonic() > until:
                return

            def one(answer: Callable[[Any], None], test: str = test) -> None:
                answer(worker.baseline(test, files, settings, "fast" if fast else ""))

            tell({"file": test, **worker.result_of(one, None)})

    return work


def _kept(key: tuple[str, bool], fast: bool) -> Path:
    return plans.kept() / f"{key[0].replace('/', '-')}{'-plain' * key[1]}{'-fast' * fast}.json"


def _mark(test: str, watched: list[str]) -> str:
    """What a baseline stands on: the package, the cards, the test file and the helpers beside it."""
    root = worker.ROOT
    beside = [p for p in (root / test).parent.glob("*.py") if not p.name.startswith("test_")]
    package = [
        *(path for one in worker.PACKAGES for path in (root / one).rglob("*.py")),
        *(root / "theory").glob("*.toml"),
    ]
    files = [root / test, root / "tests" / "conftest.py", root / "pyproject.toml", *beside, *package]
    return worker.fingerprint(files) + "".join(sorted(watched))


# --- mutants


def order_of(one: Planned, runs: Sequence[Baseline]) -> tuple[list[str], int, float]:
    """The tests for a mutant: those that reach its lines first, the quick ones first; how many reach; their seconds."""
    path = one.target.path
    first = one.source.line(one.mutant)
    lines = set(range(first, one.source.line_of(one.mutant.end) + 1))
    tests = [item for run in runs for item in run.tests.items()]
    near: set[str] = set()
    for reached in (lines, one.source.readers(first)):  # of a line that is run at import: what reads its names
        near = near or {name for name, test in tests if reached & set(test["lines"].get(path, ()))}
    near = near or {name for name, _ in tests}
    reaching = [(test["cpu"], name) for name, test in tests if name in near]
    others = [(test["cpu"], name) for name, test in tests if name not in near]
    chosen, total = [], 0.0
    for cpu, name in [*sorted(reaching), *sorted(others)]:
        if total + cpu <= worker.BUDGET:
            chosen.append(name)
            total += cpu
    return chosen, len(reaching), total


def _server(
    target: Target, members: list[tuple[int, str, list[str], float]], modules: list[str], until: float
) -> Callable[[Callable[[Any], None]], None]:
    """What a server does: its mutants one after the other, tests that caught another one first."""

    def work(tell: Callable[[Any], None]) -> None:
        if time.monotonic() > until:
            for number, *_ in members:
                tell({"number": number, "outcome": "not run"})
            return
        os.environ.update(target.settings)
        worker.preload(modules, worker.module_name(target.path))
        caught: dict[str, int] = {}
        for number, source, tests, seconds in members:
            if time.monotonic() > until:
                tell({"number": number, "outcome": "not run"})
                continue
            known = sorted((t for t in tests if t in caught), key=lambda t: -caught[t])
            tests = [*known[:3], *(t for t in tests if t not in known[:3])]
            limit = min(worker.LIMIT, 5.0 + 4.0 * seconds)

            def mutant(answer: Callable[[Any], None], source: str = source, tests: list[str] = tests) -> None:
                answer(worker.run_mutant(target.path, source, tests, target.settings))

            result = worker.result_of(mutant, limit)
            if result["outcome"] == "caught":
                caught[result["test"]] = caught.get(result["test"], 0) + 1
            tell({"number": number, **result})

    return work


def run(
    planned: Sequence[Planned], options: argparse.Namespace, say: Callable[[str], None], until: float = inf
) -> Iterable[tuple[Planned, dict[str, Any]]]:
    """Outcome of every mutant, as they come; ``not run`` for those that had not begun at ``until`` (monotonic)."""
    try:
        known = baselines(list(dict.fromkeys(one.target for one in planned)), options.jobs, say, options.fast, until)
    except TimeOver:
        yield from ((one, {"outcome": "not run"}) for one in planned)
        return
    groups: dict[Target, list[int]] = {}
    for k, one in enumerate(planned):
        groups.setdefault(one.target, []).append(k)
    works = []
    for target, numbers in groups.items():
        runs = [known[test, target.plain] for test in target.tests]
        modules = list(dict.fromkeys(name for one in runs for name in one.modules))
        members = []
        for k in numbers:
            tests, reaching, seconds = order_of(planned[k], runs)
            if options.reached_only:
                tests = tests[:reaching]
            if tests:
                members.append((k, planned[k].source.mutated(planned[k].mutant), tests, seconds))
            else:
                yield planned[k], {"outcome": "survived", "test": "no test reaches it"}
        for at in range(0, len(members), CHUNK):
            part = members[at : at + CHUNK]
            works.append(((target, tuple(m[0] for m in part)), worker.forked(_server(target, part, modules, until))))
    done: set[int] = set()
    for (target, numbers), told in worker.together(works, options.jobs):
        if "end" not in told:
            done.add(told["number"])
            yield planned[told["number"]], told
            continue
        for k in numbers:
            if k not in done:
                yield planned[k], {"outcome": "error", "test": f"the server of {target.path} ended by {told['end']}"}


# --- report


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--room", action="append", default=[], help="a room (a name of rooms/NAME.toml); may be repeated"
    )
    parser.add_argument("--module", action="append", default=[], help="a module (its path); may be repeated")
    parser.add_argument("--lines", help="only mutants on lines FIRST-LAST")
    parser.add_argument("--sample", type=int, help="so many mutants, spread evenly over the rooms")
    parser.add_argument("--each", type=int, help="so many mutants of every room")
    parser.add_argument("--modules", type=int, help="a sample of so many modules only, spread evenly over the rooms")
    parser.add_argument("--fast", action="store_true", help="only tests with the mark 'fast'")
    parser.add_argument("--seed", default="0", help="seed of the sample: a number, or 'today'")
    parser.add_argument("--dense", action="store_true", help="every mutant, not only a few a line")
    parser.add_argument(
        "--equivalents", action="store_true", help="run the mutants declared equivalent, and only those"
    )
    parser.add_argument("--slips", action="store_true", help="the named slips of slips.toml")
    parser.add_argument(
        "--reached-only", action="store_true", help="only tests that reach the line (quicker, stricter)"
    )
    parser.add_argument("--seconds", type=float, help="begin no mutant later than so many seconds from the start")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--json", type=Path, help="keep every result in this file, one JSON object a line; resumed")
    parser.add_argument("--at-least", type=float, default=95.0, help="percentage that every room must reach")
    parser.add_argument(
        "--accuse", action="store_true", help=f"fail only if a sample shows (level {LEVEL:g}) that it is not reached"
    )
    parser.add_argument("--tables", type=Path, help="a folder or file of tables in place of rooms/ and slips.toml")
    parser.add_argument("--table", type=Path, help="write the scores to this file, as a table in Markdown")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    return parser.parse_args(words)


def planned_of(options: argparse.Namespace) -> list[Planned]:
    """The mutants that were asked for."""
    rooms = plans.read_rooms(options.tables)
    targets = plans.targets_of(rooms)
    if options.fast:
        targets = [fast for target in targets if (fast := plans.with_fast_tests(target)).tests]
    if options.slips:
        planned = plans.slips(targets, options.tables and options.tables.parent / "slips.toml")
    else:
        unknown = [m for m in options.module if m not in {t.path for t in targets}] + [
            r for r in options.room if r not in rooms
        ]
        if unknown:
            raise plans.TableError(f"{unknown[0]} stands in no table; rooms/NAME.toml has them: {', '.join(rooms)}")
        equivalents = plans.equivalents_of(rooms)
        chosen = [
            target
            for target in targets
            if (not options.room or target.room in options.room)
            and (not options.module or target.path in options.module)
        ]
        planned = [one for target in chosen for one in plans.plan(target, equivalents, options.dense)]
    if options.room:
        planned = [one for one in planned if one.target.room in options.room]
    if options.module:
        planned = [one for one in planned if one.target.path in options.module]
    if options.lines:
        first, _, last = options.lines.partition("-")
        planned = [one for one in planned if int(first) <= one.source.line(one.mutant) <= int(last or first)]
    if options.modules:
        planned = plans.of_some_modules(planned, options.modules, _seed(options.seed))
    if options.sample or options.each:
        size = options.sample or options.each * len({one.target.room for one in planned})
        planned = plans.sample(planned, size, _seed(options.seed))
    return planned


def _seed(text: str) -> int:
    return datetime.date.today().toordinal() if text == "today" else int(text)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    try:
        planned = planned_of(options)
        if options.list:
            for one in planned:
                print(f"{one.place} [{one.mutant.operator}]\n  - {one.before}\n  + {one.after}")
            print(f"{len(planned)} mutants")
            return 0
        return judge(planned, options, say)
    except (plans.TableError, NotGreen) as error:
        say(str(error))
        return 2


def judge(planned: list[Planned], options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Run what is not known yet, print survivors and the score of every room."""
    began = time.monotonic()
    package = any(one.target.path.startswith(worker.PACKAGES) for one in planned)
    worker.warm(plans.kept() / "bytecode", worker.HEAVY if package else ("pytest", "hypothesis"))
    if package:
        worker.imports()
    known = _remembered(options.json)
    scores: dict[str, Score] = {}
    waiting = []
    for one in planned:
        if (one.reason is not None) != options.equivalents:
            scores.setdefault(one.target.room, Score()).add("equivalent" if one.reason is not None else "skipped")
        elif (result := _known(one, known, options.fast)) is not None:
            _count(one, result, scores, options)
        else:
            waiting.append(one)
    for one, result in run(waiting, options, say, began + (inf if options.seconds is None else options.seconds)):
        if options.json and result["outcome"] != "not run":
            record = {"key": one.key, "state": _state(one.target, options.fast), **result, "place": one.place}
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        _count(one, result, scores, options)
    for room, score in sorted(scores.items()):
        print(score.line(room))
    print(f"{total(scores).line('all')}; {time.monotonic() - began:.0f} s")
    if options.table:
        options.table.write_text(table(scores), encoding="utf-8")
    if total(scores)["not run"]:
        return 3
    if options.equivalents:
        return 1 if any(score[outcome] for score in scores.values() for outcome in (*WRONG, "error")) else 0
    if options.accuse:
        shown = accused(scores, options.at_least)
        for room in shown:
            print(f"{room}: fewer than {options.at_least:g} % are noticed (level {LEVEL:g}); the survivors stand above")
        return 1 if shown else 0
    return 0 if all(score.share >= options.at_least for score in scores.values()) else 1


def _count(one: Planned, result: dict[str, Any], scores: dict[str, Score], options: argparse.Namespace) -> None:
    """Count an outcome and print what must be seen: survivors, named slips, a declared equivalent that was noticed."""
    outcome = {"crash": "caught"}.get(result["outcome"], result["outcome"])
    scores.setdefault(one.target.room, Score()).add(outcome)
    if outcome == "error" or options.slips or outcome in (WRONG if options.equivalents else ("survived",)):
        name = one.mutant.operator
        why = f" ({result['test']})" if result.get("test") else ""
        print(f"{outcome.upper()} {one.place} [{name}]{why}\n  - {one.before}\n  + {one.after}", flush=True)


def _remembered(path: Path | None) -> dict[Any, dict[str, Any]]:
    if path is None or not path.is_file():
        return {}
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(tuple(one["key"]), one["state"]): one for one in records if one["outcome"] != "error"}


def _known(one: Planned, known: dict[Any, dict[str, Any]], fast: bool) -> dict[str, Any] | None:
    """A remembered result; what the fast tests alone have noticed, all tests notice."""
    found = known.get((one.key, _state(one.target, fast)))
    if found is None and not fast and (quick := plans.with_fast_tests(one.target)).tests:
        found = known.get((one.key, _state(quick, True)))
        found = found if found and found["outcome"] in ("caught", "crash", "timeout", "stillborn") else None
    return found


@functools.cache
def _state(target: Target, fast: bool) -> str:
    """What a remembered result stands on: the module and its tests."""
    files = (worker.ROOT / name for name in (target.path, *target.tests))
    return worker.fingerprint(files)[:16] + "-fast" * fast


if __name__ == "__main__":
    raise SystemExit(main())
