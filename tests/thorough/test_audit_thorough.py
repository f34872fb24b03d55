"""Long runs of the audit: random statements against brute force, and the controls over every proved link of every card.

Run it by hand: ``python tests/thorough/test_audit_thorough.py --count 3000 --seed 1 --out reports/thorough/audit.txt``;
each call appends its counts, so that it may be resumed with another seed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "audit"))
from test_audit_stress import stress

from bilevel_verify.audit.mutations import controls, counts
from bilevel_verify.theorems.shelf import cards, load_card

COUNT = int(os.environ.get("BILEVEL_VERIFY_THOROUGH", "3000"))


def all_controls(seed: int, per_link: int = 2, jobs: int = 2) -> dict[str, int]:
    """The counts over every proved link of every card."""
    found = [
        mutant
        for record in cards()
        if not record.error
        for mutant in controls(load_card(record.name), per_link=per_link, seed=seed, jobs=jobs)
    ]
    return counts(found)


def test_many_random_statements() -> None:
    tally = stress(COUNT, seed=1)
    assert tally["undecided"] <= COUNT // 10


def test_controls_over_all_proved_links() -> None:
    tally = all_controls(seed=0)
    assert tally["true links refuted"] == 0
    assert tally["refuted"] >= 0.95 * (tally["refuted"] + tally["undecided"])


def main() -> None:
    """One run of both; the counts go to a text file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="reports/thorough/audit.txt")
    parser.add_argument("--skip", choices=("stress", "controls"), help="leave one of the two out")
    chosen = parser.parse_args()
    lines = []
    if chosen.skip != "stress":
        lines.append(f"random statements, seed {chosen.seed}, {chosen.count}: {stress(chosen.count, chosen.seed)}")
    if chosen.skip != "controls":
        lines.append(f"controls of all proved links, seed {chosen.seed}: {all_controls(chosen.seed)}")
    out = Path(chosen.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
