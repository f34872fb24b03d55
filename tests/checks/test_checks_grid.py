"""The main job is broad: entries with claims on instances have six problems, runs two starts on six; it cannot shrink.

Nothing runs here but the gradients at the starts. Whether the hypotheses hold on the problems is a finding of the run:
``tests/benchmarks/grid.py`` counts it from a store (``reports/grid.md``).
"""

from __future__ import annotations

import re

import pytest
from checks_breadth import RUNS, breadth, on_instances, scopes

import bilevel_verify as bv
from bilevel_verify.campaign.builtin_job import starts_of
from bilevel_verify.checks import builtin_jobs
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst import families

PROBLEMS, STARTS = 6, 2
DATA = ("diabetes", "cancer", "digits", "iris", "wine")
TIME = "each problem on data costs seconds: one is there"
ONE_DATA = {
    **dict.fromkeys((f"ragd-gs/lemma-{one}" for one in ("2", "c-2", "c-3", "c-4", "c-5", "e-1")), TIME),
    **dict.fromkeys((f"ragd-gs/proof-lemma-{one}" for one in ("2", "c-4", "c-5")), TIME),
    "ragd-gs/tensor-norm": TIME,
    **{f"fsba/{one.id}": TIME for one in on_instances(load_card("fsba"))},
}
NO_DATA = {
    "agm-bio/theorem-4-5": "r = 1: a lower level with a slope at every solution, which no fit to data has",
    "agm-bio/theorem-4-5-proof": "the same",
}
MINIMAX = ("fsba/theorem-4-7", "fsba/d-3-errors")
"""Of this paper, what is about minimax problems has both sets of data."""
BELOW = "sigma of the print is below float64 from every start: every row stays undecided"
ONE_START = dict.fromkeys(("rahgd/theorem-4-1", "rahgd/corollary-4-3"), BELOW)
"""Entries that further starts say nothing about."""
ENTRIES = {f"{paper}/{one.id}": scopes(one) for paper in shipped() for one in on_instances(load_card(paper))}
WIDTH = breadth(builtin_jobs())


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_six_problems_and_two_starts(name):
    found = WIDTH[name]
    assert found.problems >= PROBLEMS
    if ENTRIES[name] & RUNS:
        assert found.from_two_starts() >= (STARTS if name in ONE_START else PROBLEMS)


@pytest.mark.parametrize("name", ENTRIES)
def test_two_of_the_problems_are_on_data_and_two_of_families(name):
    problems = WIDTH[name].starts
    entries = {one.zoo for one in families()}
    assert sum(problem.partition(":")[0] in entries for problem in problems) >= 2
    if name not in NO_DATA:
        wanted = 1 if name in ONE_DATA and name not in MINIMAX else 2
        assert len({problem for problem in problems if problem.startswith(DATA)}) >= wanted


def test_the_counts():
    """As many as there are now: a smaller job is a smaller report."""
    assert len(ENTRIES) >= 132
    assert sum(one.problems for one in WIDTH.values()) >= 820
    assert sum(one.from_two_starts() for name, one in WIDTH.items() if ENTRIES.get(name, RUNS) & RUNS) >= 600


def test_what_does_not_count():
    base = {"statement": "a/b", "problem": "zoo:p", "x0": [1.0, 2.0]}

    def count(*cells):
        return breadth(cells).get("a/b")

    assert count(base).starts == {"p": {(1.0, 2.0)}}
    assert count({**base, "control": "undecided"}) is None
    assert count({**base, "statement": "a/b:claim"}) is None
    assert count({**base, "x0": [0.0, 0.0]}) is None
    assert count(base, {**base, "x0": [[1.0, 2.0], [0.0, 1.0]]}).from_two_starts() == 1
    assert count(base, {**base, "knobs": {"k": 2}}).problems == 2
    assert count(base, base).problems == 1
    assert count({**base, "x0": None}).starts == {"p": {None}}
    assert starts_of(2) == [(2.0,)]


def test_no_start_of_the_grid_is_stationary():
    seen = set()
    for cell in builtin_jobs():
        knobs = cell.get("knobs") or {}
        name = (cell["problem"], tuple(sorted(knobs.items())))
        starts = starts_of(cell.get("x0"))
        if len(starts) < STARTS or any(re.search(r"[a-z]", str(value)) for value in knobs.values()):
            continue
        seen |= {(name, start) for start in starts}
    for (problem, knobs), start in seen:
        opened = bv.zoo(problem, **dict(knobs))
        if opened.kind == "simple_bilevel":
            assert bv.truth(opened).simple.distance(list(start)).value > 1e-3 or opened.name == "weak-sharp", problem
        else:
            slope = bv.truth(opened).grad_phi(list(start))
            assert float((slope.value**2).sum()) ** 0.5 - slope.error > 1e-3, (problem, start)
