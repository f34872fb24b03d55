"""Attackers with seeds: problem files, formulas, cards, calls of the Python interface, kills and damaged stores.

    python tests/thorough/attackers.py problems --seed 7 --count 100000 --minutes 8 --out attackers
    python tests/thorough/attackers.py report --out attackers    # writes reports/attackers.md

Goes on where the same command ended before (``DIR/KIND-SEED.json``). Cases run one after the other in a child that is
forked for each batch with everything imported, so that most cost a few milliseconds; a watcher ends a child that
hangs. What is no answer and no error of our own is kept with its number, so that ``--only NUMBER`` shows it again.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / room) for room in ("theorems", "campaign", "thorough"))]

from hostile_calls import call_one  # noqa: E402 (the tests are no package)
from hostile_stores import kill_case, store_case  # noqa: E402
from hostile_texts import MARKER, card_case, formula_case, line_case, problem_case  # noqa: E402

HANG = 12.0
"""Seconds of processor time (ten more than any budget of a case) after which a case hangs."""
SILENT = 150.0
"""Seconds by the clock after which a case hangs that uses no processor."""
MEMORY = 3 * 2**30
CASES: dict[str, Callable[[random.Random], str]] = {
    "problems": problem_case,
    "formulas": formula_case,
    "cards": card_case,
    "lines": line_case,
    "calls": call_one,
    "kills": kill_case,
    "stores": store_case,
}
BATCH = {"problems": 1_000, "cards": 500, "kills": 50}
GOOD = ("status 0", "status 1", "status 2", "own error", "mended")
ROOMS = "cli audit audit.formula audit.scalar.prove campaign checks constants plot problems symbolic truth worst"
LOADED = [*(f"bilevel_verify.{room}" for room in ROOMS.split()), "scipy.optimize", "scipy.stats", "sklearn.datasets"]
"""What a child needs is imported once, before it is forked."""
_heard: list[str] = []
"""Events of the interpreter that text of an attacker has set off."""


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: what is compiled or started with the marker in it is code of an attacker."""
    if event in ("compile", "exec", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class"):
        if event == "compile" and arguments[1] in ("<unknown>", "<string>") and not _compiled_to_run():
            return  # a text is only parsed: every formula is
        if MARKER in repr(arguments)[:100_000]:
            _heard.append(event)


def _compiled_to_run() -> bool:
    """Whether the text that is being compiled will be run (``ast.parse`` only reads it)."""
    code = sys._getframe(2).f_code
    return (code.co_name, os.path.basename(code.co_filename)) != ("parse", "ast.py")


def outcome(kind: str, seed: int, number: int) -> str:
    """What one case comes to, in a word; a bare error names its place."""
    from bilevel_verify.errors import BilevelVerifyError, InputError

    _heard.clear()
    try:
        said = CASES[kind](random.Random(f"{kind} {seed} {number}"))
    except InputError as error:
        good = "\n" not in str(error) and len(str(error)) <= 2_000
        said = "status 2" if good else f"bad message: {str(error)[:200]!r}"
    except BilevelVerifyError:
        said = "own error"
    except MemoryError:
        said = "memory"
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "bilevel_verify" in f.filename]
        place = f"{frames[-1].filename.rpartition('bilevel_verify/')[2]}:{frames[-1].lineno}" if frames else "?"
        said = f"bare {type(error).__name__} at {place}: {str(error)[:120]}"
    return f"code was run: {_heard} {said}" if Path(MARKER).exists() or _heard else said


def serve(pipe: Connection, kind: str, seed: int, first: int, last: int) -> None:
    """The child: cases one after the other, each answer sent at once."""
    os.chdir(tempfile.mkdtemp(prefix="attackers-"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    sys.addaudithook(listen)
    for number in range(first, last):
        pipe.send((number, outcome(kind, seed, number)))


def processor_seconds(process: int) -> float:
    """Processor time of a process and of all that descend from it, in seconds."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)], ticks[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, found = {process}, 0
    while found != len(family):
        found = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    return sum(ticks.get(one, 0) for one in family) / os.sysconf("SC_CLK_TCK")


def heard(pipe: Connection, process: int) -> tuple[str, float]:
    """The next answer of the child, or how it failed to give one; seconds of processor time where they are many."""
    begun, before = time.monotonic(), None
    try:
        while not pipe.poll(2.0):
            spent = processor_seconds(process)
            before = spent if before is None else before
            if spent - before > HANG or time.monotonic() - begun > SILENT:
                return "hang", spent - before
        said = str(pipe.recv()[1])
    except EOFError:
        return "the process died", 0.0
    return said, 0.0 if before is None else processor_seconds(process) - before


def attack(kind: str, seed: int, count: int, minutes: float, folder: Path) -> dict[str, Any]:
    """Cases from where the file of this seed ends, for some minutes; returns the record of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}-{seed}.json"
    empty = {"kind": kind, "seed": seed, "next": 0, "seconds": 0.0, "commits": [], "counts": {}, "bad": []}
    record = json.loads(path.read_text()) if path.exists() else empty
    record["commits"] = sorted({*record["commits"], commit()})
    for module in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()
    began = time.monotonic()
    while record["next"] < count and time.monotonic() < began + 60 * minutes:
        batch(record, min(count, record["next"] + BATCH.get(kind, 2_000)), began + 60 * minutes)
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        record["this_time"] = round(sum(one.ru_utime + one.ru_stime for one in spent), 1)
        path.write_text(json.dumps(record, indent=1))
    record["seconds"] = round(record["seconds"] + record.pop("this_time", 0.0), 1)
    path.write_text(json.dumps(record, indent=1))
    return record


def batch(record: dict[str, Any], last: int, until: float) -> None:
    """Cases of one child, until it hangs or dies."""
    kind, seed, counts = record["kind"], record["seed"], Counter(record["counts"])
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=serve, args=(theirs, kind, seed, record["next"], last))
    child.start()
    theirs.close()
    while record["next"] < last and time.monotonic() < until:
        said, seconds = heard(ours, child.pid or 0)
        slow = seconds > HANG and said != "hang"
        word = "slow" if slow else said if said in GOOD else said.split(":")[0]
        counts[word] += 1
        if slow or said not in GOOD:
            record["bad"].append([record["next"], f"{seconds:.0f} s: {said}" if slow else said])
        record["next"] += 1
        if said in ("hang", "the process died"):
            break
    child.kill()
    child.join()
    record["counts"] = dict(counts)


def commit() -> str:
    """The state of the code."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "?"


NAMES = {
    "problems": "problem files",
    "formulas": "formulas read as `check` reads them, one in 200 judged",
    "cards": "cards audited, quick, small budget",
    "lines": "command lines",
    "calls": "calls of the Python interface",
    "kills": "campaigns killed at a random instant, then run to their end",
    "stores": "damaged stores, read, then mended by a run",
}
HEAD = """# Attackers

Written by `python tests/thorough/attackers.py report` from the counts of its runs; a run again with the same kind and
seed goes on where it ended. "Refused": an error of our own, one visible line of bounded length. "Mended": the damage
was named and the cells were done again. Other columns than these hold what must not happen.

"""
COLUMNS = ["attack", "seed", "tried", "answered", "refused", "mended", "code run", "bare error", "hang or slow", "died"]
COLUMNS += ["memory", "other", "s of processor", "code"]


def row_of(record: dict[str, Any]) -> tuple[str, list[str]]:
    """The row of one run and the notes to it."""
    counts = Counter(record["counts"])

    def take(*words: str) -> int:
        return sum(counts.pop(key) for key in list(counts) if key.startswith(words))

    answered, refused, mended = take("status 0", "status 1"), take("own error"), take("mended")
    refused += counts.pop("status 2", 0)
    cells = [answered, refused, mended, take("code was run"), take("bare"), take("hang", "slow")]
    cells += [take("the process died"), take("memory")]
    cells.append(sum(counts.values()))
    numbers = " | ".join(f"{n:,}" for n in cells)
    where = f"{record['seconds']:.0f} | {', '.join(record['commits'])}"
    text = f"| {NAMES[record['kind']]} | {record['seed']} | {record['next']:,} | {numbers} | {where} |\n"
    said = [(number, " ".join(text.split())[:160]) for number, text in record["bad"][:20]]
    notes = [f"* {record['kind']} {record['seed']}, case {number}: {words}" for number, words in said]
    return text, notes


def report(folder: Path, path: Path) -> None:
    """Write the table of all runs; what stands under ``## Notes`` in the file is kept."""
    kept = path.read_text(encoding="utf-8").partition("## Notes")[2] if path.exists() else ""
    rows, notes = "", []
    for kind in CASES:
        for file in sorted(folder.glob(f"{kind}-*.json")):
            text, more = row_of(json.loads(file.read_text()))
            rows, notes = rows + text, notes + more
    found = "\n## What was found\n\n" + "\n".join(notes) + "\n" if notes else ""
    head = f"{HEAD}| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 2)}---|\n"
    path.write_text(f"{head}{rows}{found}" + (f"\n## Notes{kept}" if kept else ""), encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*CASES, "report"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--out", type=Path, default=Path("attackers"))
    parser.add_argument("--only", type=int, help="show one case again, in this process")
    given = parser.parse_args()
    if given.kind == "report":
        report(given.out, ROOT / "reports" / "attackers.md")
        return
    if given.only is not None:
        folder = tempfile.mkdtemp(prefix="attackers-")
        os.chdir(folder)
        print(folder, outcome(given.kind, given.seed, given.only))
        return
    record = attack(given.kind, given.seed, given.count, given.minutes, given.out)
    print(json.dumps({key: record[key] for key in ("kind", "seed", "next", "seconds", "counts")}))
    for number, said in record["bad"][:50]:
        print(number, said)


if __name__ == "__main__":
    main()
