"""The counts of an audit by class, and what differs between two. Run as a script on what ``audit --json`` printed.

``bilevel-verify audit --quick --json > after.json; python tests/thorough/audit_counts.py before.json after.json``
prints one column for each file and, with ``--rows``, every row of which a field differs between the first two.
Exit status 1 if a relation is refuted that no card has on record.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bilevel_verify.checks.verdicts.counting import first_mark, is_new_refutation, judges

Row = Mapping[str, Any]
SPECIAL = ("special", "step", "part", "letters")
"""Marks of rows about a special case, one step, one part or other letters of the printed relation."""
OF_A_ROW = ("seconds", "script", "reproduce")
"""Fields that say how, not what."""


def class_of(row: Row) -> str:
    """The class of a row that judges a relation."""
    if row["as_printed"]:
        return "as printed"
    mark = first_mark(row.get("marks") or (), row["reading"])
    return "special cases" if mark in SPECIAL else "under added hypotheses" if mark == "added" else mark


def classes(rows: list[Row]) -> Counter[str]:
    """Class and verdict -> rows; entries of which nothing but units was judged; refutations on record and new ones."""
    found: Counter[str] = Counter()
    judged: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        what = judges(row)
        judged[row["paper"], row["statement"]].add(what)
        if what != "relation":
            found[f"{what}: {row['verdict']}"] += 1
            continue
        found[f"{class_of(row)}: {row['verdict']}"] += 1
        if row["verdict"] in ("refuted", "inconsistent"):
            found["all: refuted on record"] += bool(row["known_refuted"])
            found["all: refuted, not on record"] += is_new_refutation(row)
        if row["known_refuted"] and row["as_printed"] and row["verdict"] == "holds":
            found["all: on record, holds as printed"] += 1
    found["entries: units only"] = sum(kinds == {"units"} for kinds in judged.values())
    return found


def table(columns: Mapping[str, Counter[str]]) -> str:
    """One line a class, one column a file."""
    names = sorted({name for counts in columns.values() for name in counts})
    lines = [f"| class | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {n} | {' | '.join(str(c[n]) for c in columns.values())} |" for n in names)])


def differences(before: list[Row], after: list[Row]) -> Iterator[str]:
    """Rows of one file that the other has not, or has with other fields."""
    first, second = (Counter(_as_text(row) for row in rows) for rows in (before, after))
    yield from (f"- {text}" for text in sorted((first - second).elements()))
    yield from (f"+ {text}" for text in sorted((second - first).elements()))


def _as_text(row: Row) -> str:
    return json.dumps({name: value for name, value in row.items() if name not in OF_A_ROW}, sort_keys=True)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rows", action="store_true", help="the rows that differ between the first two files")
    options = parser.parse_args()
    rows = {path.stem: json.loads(path.read_text(encoding="utf-8"))["rows"] for path in options.files}
    counts = {name: classes(found) for name, found in rows.items()}
    print(table(counts))
    if options.rows:
        changed = list(differences(*list(rows.values())[:2]))
        print(*changed, f"{len(changed)} rows differ", sep="\n")
    return int(any(found["all: refuted, not on record"] for found in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
