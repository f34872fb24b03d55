"""The main job is broad: every entry with claims on instances has six problems and two starts; it cannot shrink.

Nothing runs here but the gradients at the starts. Whether the hypotheses hold on the problems is a finding of the run:
``tests/benchmarks/grid.py`` counts it from a store (``reports/grid.md``).
"""

from __future__ import annotations

import re

import pytest

import bilevel_verify as bv
from bilevel_verify.checks import builtin_jobs
from bilevel_verify.checks.requests.coverage import RUNS, breadth, on_instances, scopes, starts_of
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst import families

PROBLEMS, STARTS = 6, 2
DATA = ("diabetes", "cancer", "digits", "iris", "wine")
THIRD = "third derivatives along y*: up to twelve seconds on one problem"
FEWER = dict.fromkeys(
    ("ragd-gs/proof-lemma-2", "ragd-gs/proof-lemma-c-4", "ragd-gs/proof-lemma-c-5", "ragd-gs/tensor-norm"), THIRD
)
"""Entries that are left on fewer than six problems, and why; none of them is a statement."""
ONE_START = ("fsba/", "rahgd/theorem-4-1-practical")
"""Entries with a second start on two problems only: seconds of search, or of runs by seed, for each start."""
NO_DATA = {
    "agm-bio/theorem-4-5": "r = 1: a lower level with a slope at every solution, which no fit to data has",
    "agm-bio/theorem-4-5-proof": "the same",
}
ENTRIES = {f"{paper}/{one.id}": scopes(one) for paper in shipped() for one in on_instances(load_card(paper))}
WIDTH = breadth(builtin_jobs())


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_six_problems_and_two_starts(name):
    found = WIDTH[name]
    if name in FEWER:
        assert found.problems < PROBLEMS, f"{name} has enough problems: take it off the list"
        return
    assert found.problems >= PROBLEMS
    if ENTRIES[name] & RUNS:
        assert found.from_two_starts() >= (2 if name.startswith(ONE_START) else PROBLEMS - 1)


@pytest.mark.parametrize("name", ENTRIES)
def test_two_of_the_problems_are_on_data_and_two_of_families(name):
    if name in FEWER:
        return
    problems = WIDTH[name].starts
    entries = {one.zoo for one in families()}
    assert sum(problem.partition(":")[0] in entries for problem in problems) >= 2
    if name not in NO_DATA:
        assert len({problem for problem in problems if problem.startswith(DATA)}) >= 2


def test_no_statement_is_left_out():
    statements = {f"{paper}/{one.id}" for paper in shipped() for one in load_card(paper).statements}
    assert not statements & FEWER.keys()


def test_the_counts():
    """As many as there are now: a smaller job is a smaller report."""
    assert len(ENTRIES) >= 132
    assert sum(one.problems for one in WIDTH.values()) >= 800


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
