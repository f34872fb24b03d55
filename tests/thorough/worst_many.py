"""Very many instances of every statement, and that none is a false alarm; counts in ``reports/thorough/worst.txt``.

``python tests/thorough/worst_many.py --seconds 8`` gives every statement that much processor time: corners of the
families, then drawn knobs with many starts each (problem, constants and truth are shared by the starts). The largest
share of every claim is judged again by ``verify`` with certified constants, what is above 1 in 50 digits; what is
larger than the share in ``reports/worst.json`` is written there. Statements that are in the file already are left out;
with ``--more`` and a seed of its own they are drawn from again, without the corners, and what was tried is added up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "worst"))
from worst_known import CARD, KNOWN
from worst_run import joined, named, options_of, write

from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.worst.attack import at_corners
from bilevel_verify.worst.family import Family, family, from_file
from bilevel_verify.worst.finding import fitting, needs_eps, request_for, result_of
from bilevel_verify.worst.memory import Memory
from bilevel_verify.worst.result import WorstCase
from bilevel_verify.worst.screening import targets_of
from bilevel_verify.worst.search import PROBED, Exhausted, Search

SHOWN = "docs/worst/classical.toml"
STARTS = 40
"""Starts on one problem."""
BUDGET = 2_000
"""Most oracle calls of a run."""
HEAD = f"""\
# Instances of every statement: `python tests/thorough/worst_many.py`. An instance is a problem with a start and, where
# there is one, a tolerance; up to {STARTS} starts on a problem. `above 1`: instances whose share is above 1.
# Of each claim the worst of them is judged again by `verify`: `on record` as the card says, `new` refuted and
# not on record, `not refuted` by rounding, or since a side has no proof.
# statement | problems | instances | that decide | places | above 1 | on record | new | not refuted | s of processor"""


def _until(end: float) -> Any:
    """What ends a search when so much processor time is used."""

    def progress(tried: int, seconds: float) -> None:
        if time.process_time() > end:
            raise Exhausted

    return progress


ALONE = {known.name.replace(str(CARD), SHOWN): known.family for known in KNOWN if not known.statement}
"""Known worst cases, each on the family that has it: no share may be above the truth."""


def searched(name: str, seconds: float, seed: int, more: bool = False) -> tuple[Search, int]:
    """A search that has tried as many starts on as many problems as there was time for, and how many problems.

    ``more`` leaves the corners out: they do not depend on the seed, and were counted.

    Raises
    ------
    InputError : the statement has no claim with two sides, or no family fits.
    """
    options = options_of(name)
    request = request_for(name, budget=BUDGET, seed=seed)
    one = from_file(options["problem"]) if "problem" in options else family(ALONE[name]) if name in ALONE else None
    chosen = fitting(request, None if one is None else [one])
    eps = options.get("eps")
    targets = list(targets_of(request).values())
    if not targets:
        raise InputError(f"{name} has no claim with two sides to compare on an instance")
    search = Search(request, targets, chosen, Memory(None, {}), eps, eps is None and needs_eps(request), seed=seed)
    search.progress = _until(time.process_time() + seconds)
    with suppress(Exhausted):
        if not more:
            at_corners(search)
        drawn(search)
    return search, len({(at, u[: len(f.ranges)]) for at, u in search.seen for f in chosen if f.name == at})


def drawn(search: Search) -> None:
    """Drawn knobs and tolerances, ``STARTS`` starts on each, until the search ends; silent families are left out."""
    rng = np.random.default_rng([search.seed, 11])
    tried: dict[str, int] = {}

    def silent(one: Family) -> bool:
        others = any(search.decided_on.values())
        return others and tried.get(one.name, 0) >= PROBED and not search.decided_on[one.name]

    while True:
        for one in search.families:
            head = rng.random(len(one.ranges))
            for _ in range(STARTS):
                if silent(one):
                    break
                search.shares(one, [*head, *rng.random(one.size(search.with_eps) - len(head))])
                tried[one.name] = tried.get(one.name, 0) + 1


def line(name: str, found: WorstCase, problems: int, seconds: float) -> str:
    """One line of the file."""
    above = [one for one in found.claims if one.ratio > 1 or one.verdict == "refuted"]
    kinds: dict[str, list[str]] = {"on record": [], "new": [], "not refuted": []}
    for one in above:
        kind = "not refuted" if one.verdict != "refuted" else "on record" if one.known_refuted else "new"
        kinds[kind].append(f"{one.claim} {one.ratio:.6g}")
    alarms = len({number for number, _, _, ratio in found.history if ratio > 1})
    cells = [name, problems, found.tried, found.decided, found.places, alarms]
    named_ones = [f"{len(ones)}{': ' + '; '.join(ones) if ones else ''}" for ones in kinds.values()]
    return " | ".join(str(cell).replace("|", "/") for cell in [*cells, *named_ones, f"{seconds:.1f}"])


def added(old: str, new: str) -> str:
    """Two lines of one statement as one: numbers are added up, claims that broke in both are named once."""
    pairs = list(zip(old.split(" | ")[1:], new.split(" | ")[1:], strict=True))
    sums = [str(int(a) + int(b)) for a, b in pairs[:5]]
    for a, b in pairs[5:8]:
        claims = {}
        for one in [*_claims(a), *_claims(b)]:
            claims[one.rpartition(" ")[0]] = one
        sums.append(f"{len(claims)}{': ' + '; '.join(claims.values()) if claims else ''}")
    seconds = sum(map(float, pairs[8]))
    return " | ".join([old.partition(" | ")[0], *sums, f"{seconds:.1f}"])


def _claims(cell: str) -> list[str]:
    """The claims behind ``2: first 1.5; second 1.2``."""
    return [one for one in cell.partition(": ")[2].split("; ") if one]


def keep(path: Path, lines: dict[str, str]) -> None:
    """The file: the head, a line for each statement, totals."""
    table = [[cell.strip() for cell in one.split(" | ")] for one in lines.values()]
    sums = [sum(float(row[place].partition(":")[0]) for row in table) for place in range(1, 10)]
    total = " | ".join(["all", *(f"{number:.0f}" for number in sums)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEAD, *lines.values(), total]) + "\n", encoding="utf-8")


def main() -> None:
    """Search, and write both files after each statement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of processor for one statement, judging apart")
    parser.add_argument("--for", type=float, default=1e9, dest="whole", help="seconds for everything")
    parser.add_argument("--only", default="", help="statements whose name contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--more", action="store_true", help="statements that are there already, with another seed")
    parser.add_argument("--out", type=Path, default=Path("reports"))
    given = parser.parse_args()
    counts, shares = given.out / "thorough" / "worst.txt", given.out / "worst.json"
    old = counts.read_text(encoding="utf-8").splitlines() if counts.exists() else []
    lines = {one.partition(" | ")[0]: one for one in old if not one.startswith(("#", "all |"))}
    results = {one["statement"]: one for one in json.loads(shares.read_text())} if shares.exists() else {}
    end = time.monotonic() + given.whole
    for name in [*ALONE, *named()]:
        there = name in lines
        if given.only not in name or there != given.more or time.monotonic() > end:
            continue
        started = time.process_time()
        try:
            search, problems = searched(name, given.seconds, given.seed, given.more)
            found = result_of(search, name, {})
        except BilevelVerifyError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        here = line(name, found, problems, time.process_time() - started)
        lines[name] = added(lines[name], here) if there else here
        print(lines[name], flush=True)
        keep(counts, lines)
        if name not in ALONE:
            results[name] = joined(results.get(name), found)
            write(results, given.out)


if __name__ == "__main__":
    main()
