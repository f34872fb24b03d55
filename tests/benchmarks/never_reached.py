"""Which claims the main job never reaches, from the store of a run.

bilevel-verify run --out out
python tests/benchmarks/never_reached.py out --papers ragd-gs rahgd restarted-agd-hb --write reports/never-reached.md
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from bilevel_verify.campaign.run import STORE_NAME
from bilevel_verify.campaign.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))
from checks_reached import unreached

IN_KAPPA = "no cell: its factors are swept by `bilevel-verify rates --only 'in kappa'`"


def main() -> None:
    """Read the store, print and write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--papers", nargs="+", default=["ragd-gs", "rahgd", "restarted-agd-hb"])
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    with Store(arguments.out / STORE_NAME, read_only=True) as store:
        rows = [row for cell in store.cells() for row in cell.answer.get("rows", ())]
    found = [
        u if u.why or not u.claim.endswith("rate-kappa") else replace(u, why=IN_KAPPA)
        for u in unreached(arguments.papers, rows)
    ]
    lines = [
        "# Claims that the main job never reaches",
        "",
        "| paper | statement | claim | why |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {u.paper} | {u.statement} | {u.claim} | {u.why or 'no cell'} |" for u in found]
    text = "\n".join([*lines, "", f"{len(found)} claims."])
    print(text)
    if arguments.write:
        arguments.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
