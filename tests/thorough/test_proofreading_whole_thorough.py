"""Every mutant of whole parts, over the corpus and the later texts: of each operator the share that is told.

Mutants after which the text is still right (``stays_true.toml``, each with its reason) count for nothing.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "proofreading"))
from incremental import REMEMBERED, remembering, told
from kind_mutants import OPERATORS as KINDS
from kind_mutants import mutants
from proofreading_mutants import LATER, papers
from test_proofreading_whole import is_listed
from whole_mutants import OPERATORS

LISTED = Path(__file__).parents[1] / "proofreading" / "stays_true.toml"
STEPS = ("range of a step widened", "value of a step, four times as large")
LEAST = 0.9
"""What is told of each operator at least.

Measured on 1 December 2026, totals 39 of 42, cells 40 of 44, special cases 25 of 27, hypotheses 63 of 69, outputs 40 of
42, cases 28 of 30, ranges 6 of 6, values 9 of 10, restarts 13 of 13, rates 3 of 3: 266 of 286.
"""


def test_the_share_of_each_operator_on_whole_parts() -> None:
    stays = tomllib.loads(LISTED.read_text(encoding="utf-8"))["mutant"]
    operators = (*OPERATORS, *(o for o in KINDS if o.name in STEPS))
    found: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    for file, text in {**papers(), **papers(LATER)}.items():
        REMEMBERED.clear()
        with remembering():
            assert not told(text, file), file
            for operator, mutant in mutants({file: text}, operators):
                if not any(is_listed(one, file, operator.name, mutant.change) for one in stays):
                    drawn[operator.name] += 1
                    found[operator.name] += bool(told(mutant.text, file))
    print("\n".join(f"{name}: {found[name]} of {count}" for name, count in drawn.items()))
    assert not [name for name, count in drawn.items() if found[name] < LEAST * count]
