"""On how many problems that meet its hypotheses, from how many starts, each entry was checked, and what stays open.

From the store of a run of the main job:

bilevel-verify run --out out
python tests/benchmarks/grid.py out --write reports/grid.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bilevel_verify.campaign.run import STORE_NAME
from bilevel_verify.campaign.store import Store
from bilevel_verify.checks.verdicts.deciding import open_class
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))
from checks_breadth import Breadth, breadth, on_instances, scopes

HEAD = """# On what each entry is checked by the main job

Problems on which every hypothesis holds, and how many of them from two starts or more (claims about points alone need
no second start: the check draws its points). A start at the origin does not count, nor do cells about some claims of
an entry only. `left out`: problems on which a hypothesis fails or is open, with the first reason.

| entry | judged along | problems | from two starts | rows | holds | undecided | refuted | left out |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""


def met(answer: Mapping[str, Any]) -> str:
    """Why the hypotheses of a cell do not all hold; empty if they do."""
    if not answer["hypotheses"]:
        return str(next((row["reason"] for row in answer["rows"]), "no rows"))
    return next((str(h["reason"]) for h in answer["hypotheses"] if h["verdict"] != "holds"), "")


def table(cells: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """The report over (cell, answer)."""
    kept: list[Mapping[str, Any]] = []
    left: dict[str, dict[str, str]] = defaultdict(dict)
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for cell, answer in cells:
        name, why = str(cell["statement"]).partition(":")[0], met(answer)
        verdicts[name].update(str(row["verdict"]) for row in answer["rows"])
        if not why:
            kept.append(cell)
        elif cell.get("control") is None:
            left[name].setdefault(str(cell["problem"]).removeprefix("zoo:"), why[:80])
    found = breadth(kept)
    lines = [HEAD]
    for paper in shipped():
        for entry in on_instances(load_card(paper)):
            name = f"{paper}/{entry.id}"
            width, count = found.get(name, Breadth()), verdicts[name]
            reasons = "; ".join(f"{problem}: {why}" for problem, why in sorted(left[name].items()))
            numbers = [width.problems, width.from_two_starts(), count.total()]
            numbers += [count["holds"], count["undecided"], count["refuted"]]
            shown = " | ".join(map(str, numbers))
            lines.append(f"| {name} | {', '.join(sorted(scopes(entry)))} | {shown} | {reasons.replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def undecided(answers: Iterable[Mapping[str, Any]]) -> str:
    """The undecided rows by what would decide them."""
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for row in (row for answer in answers for row in answer["rows"]):
        total += 1
        found = open_class(row)
        if found is not None:
            counts[found.name, found.decides] += 1
    lines = ["", "## Undecided rows, and what would decide them", "", f"{counts.total()} of {total} rows.", ""]
    lines += ["| class | rows | what would decide it |", "| --- | ---: | --- |"]
    lines += [f"| {name} | {number} | {decides} |" for (name, decides), number in counts.most_common()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the store, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    with Store(arguments.out / STORE_NAME, read_only=True) as store:
        cells = [(cell.cell, cell.answer) for cell in store.cells() if cell.cell["kind"] == "verify"]
    text = table(cells) + undecided(answer for _, answer in cells)
    print(text)
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
