"""The mutation engine: what is a slip, what its run keeps, and that readers see the table it wrote."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify
from bilevel_verify.testing.controls import slip_table
from bilevel_verify.testing.controls.mutants import MUTATED, reason_of
from bilevel_verify.testing.controls.slip_table import Kept, Plan, judge_all, read, table, write
from bilevel_verify.testing.printed.cases import example
from bilevel_verify.testing.printed.library import printed
from bilevel_verify.testing.printed.order import independent
from bilevel_verify.testing.printed.running import transcribe
from bilevel_verify.testing.printed.slips import slips_of
from bilevel_verify.testing.trials.trying import examples
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.algorithm import read_program

ROOT = Path(bilevel_verify.__file__).parents[1]


# --- lines that may change places are no slips ---


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("x[0] = a", "y[0] = a", True),
        ("x[0] = a", "y[0] = x[0]", False),
        ("y[0] = x[0]", "x[0] = a", False),
        ("x[0] = a", "x[0] = b", False),
        ("x[t+1,0] = x[t,k]", "x[t+1,-1] = x[t,k]", True),
        ("x[t+1,0] = a", "y[0] = x[t,k+1]", True),
        ("x[t,k] = a", "y[0] = x[t,j]", False),
        ("x[k+1] = a", "k = k + 1", False),
        ("k = 0", "x[t+1,0] = x[t,k]", False),
        ("t = t + 1", "k = 0", True),
        ("x[0] = a", "if b > 0:\n    y[0] = c", True),
        ("x[0] = a", "if x[0] > 0:\n    y[0] = c", False),
        ("x[0] = a", "if b > 0:\n    break", False),
        ("x[0] = uniform_ball(r)", "y[0] = uniform_ball(r)", False),
        ("k = 1", "for k in range(0, 3):\n    y[k] = a", False),
        ("a = 1", "for k in range(0, 3):\n    y[k] = b", True),
    ],
)
def test_independent_lines(first, second, wanted):
    lines = f"{first}\n{second}".replace("\n", "\n    ")
    one, two = read_program(f"while True:\n    {lines}").statements[0].body
    assert independent(one, two) is wanted


@pytest.mark.parametrize("method", ["rahgd", "ragd-gs", "accf2ba", "agd-jin", "aid-bio", "lmcn"])
def test_independent_neighbours_exchanged_change_nothing(method):
    """Against runs: every pair that is called independent, exchanged, gives the same iterates, output and calls."""
    source = printed(method)
    case, whole = next(found for data in examples(8, 1) if (found := example(method, data)) is not None)
    exchanged = 0
    for block in exchanges(source.algorithm.program.statements):
        changed = replace(source.algorithm, program=script.Program(block, source.algorithm.program.text))
        other = transcribe(replace(source, algorithm=changed), case.oracles(), case.x0, case.parameters)
        assert not other.halted
        np.testing.assert_array_equal(other.output, whole.output)
        assert sorted(call.kind for call in other.log) == sorted(call.kind for call in whole.log)
        exchanged += 1
    assert exchanged >= 1


def exchanges(statements):
    """Every block with one pair of independent neighbours exchanged."""
    for i, (one, two) in enumerate(itertools.pairwise(statements)):
        if isinstance(one, script.Assign) and independent(one, two):
            yield (*statements[:i], two, one, *statements[i + 2 :])
    for i, statement in enumerate(statements):
        for inner in exchanges(getattr(statement, "body", ())):
            yield (*statements[:i], replace(statement, body=inner), *statements[i + 1 :])


def test_no_slip_is_an_exchange_of_independent_lines():
    assert not [slip for slip in slips_of("aid-bio") if slip.operator == "line too late" and "y[-1]" in slip.before]


# --- examples on which slips show ---


def test_examples_show_what_plain_ones_hide():
    cases = [found[0] for data in examples(40, 0) if (found := example("itd-bio", data)) is not None]
    assert sum(case.instance.displaced for case in cases) >= 8, "the mixed block of g depends on y"
    assert sum(bool(case.instance.cross.any()) for case in cases) >= 8, "grad_x f depends on y"
    moving = cases[[case.instance.displaced for case in cases].index(True)].instance
    here, there = (moving.hess_xy_g(np.zeros(moving.dx), y * np.ones(moving.dy)) for y in (0.0, 1.0))
    assert moving.h.rho == 0 or not np.allclose(here, there)


def test_cubic_examples_nearly_meet_their_test():
    """A test changed by one part in 287 stops elsewhere on some example."""
    slip = next(s for s in slips_of("lmcn") if s.operator == "power forgotten" and "288/287" in s.before)
    differ = 0
    for data in examples(40, 0):
        case, whole = example("lmcn", data) or (None, None)
        if case is not None:
            other = transcribe(slip.printed, case.oracles(), case.x0, case.parameters)
            differ += len(other.epochs[0]) != len(whole.epochs[0])
    assert differ >= 2


def test_the_shortest_move_is_at_the_edge_of_its_range_somewhere():
    at = set()
    for data in examples(24, 0):
        case, whole = example("restarted-agd", data) or (None, None)
        if case is not None:
            K = case.parameters["K"]
            moves = [float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(whole.epochs[-1])]
            at |= {int(np.argmin(moves[K // 2 + shift :])) + shift for shift in (0, -1)}
    assert {0, -1} <= at


@pytest.mark.parametrize("method", ["r-apm", "a-irg"])
def test_projections_matter_up_to_the_last_step(method):
    active = 0
    for data in examples(24, 0):
        case, whole = example(method, data) or (None, None)
        if case is not None:
            last = whole.epochs[-1][-1]
            size = np.max(np.abs(last)) if case.instance.feasible == "Box" else np.linalg.norm(last)
            active += bool(size > case.instance.radius * (1 - 1e-9))
    assert active >= 3


# --- the run and its table ---


def test_a_run_goes_on_where_it_was_and_begins_anew_for_other_code(tmp_path, monkeypatch):
    plan, said, data = Plan(8, 3, quick=4, thorough=4, pool=2), [], tmp_path / slip_table.DATA
    monkeypatch.setattr(slip_table, "sample", lambda count, seed: slips_of("f2ba")[seed : seed + count])
    assert judge_all(plan, data, 0.0, said.append) == []
    assert said == ["slips: 0 of 8 judged; the same command goes on"]
    whole = judge_all(plan, data, 10.0, said.append)
    assert len(whole) == 8
    assert said[-1] == "slips: 8 of 8 judged"
    lines = data.read_text(encoding="utf8").splitlines()
    data.write_text("\n".join(lines[:6]) + "\n", encoding="utf8")
    judged = []
    monkeypatch.setattr(slip_table, "judged", lambda slip, *rest: judged.append(slip) or MadeUp(slip))
    again = judge_all(plan, data, 10.0, said.append)
    assert again[:5] == whole[:5]
    assert len(judged) == 3
    monkeypatch.setattr(slip_table, "fingerprint", lambda: "another")
    assert judge_all(plan, data, 0.0, said.append) == []


class MadeUp:
    """A verdict made up."""

    def __init__(self, slip):
        self.slip, self.kind, self.caught, self.why = slip, "real", "quick", ""


def test_the_table_counts_what_it_says(tmp_path):
    kinds = [("real", "quick"), ("real", "thorough"), ("real", ""), ("equivalent", ""), ("stillborn", "")]
    kept = [Kept(f"n{i}", "m", "o", kind, caught, "why") for i, (kind, caught) in enumerate(kinds)]
    assert table(kept, "method")[-1] == "| **all** | 5 | 1 | 1 | 3 | 1 | 2 | 1 |"
    data, docs = tmp_path / slip_table.DATA, tmp_path / "docs.md"
    head = {"count": 5, "seed": 1, "quick": 40, "thorough": 120, "pool": 60, "code": "c"}
    data.write_text("\n".join(json.dumps(one) for one in (head, *(vars(k) for k in kept))) + "\n", encoding="utf8")
    docs.write_text(f"before\n{slip_table.BEGIN}old\n{slip_table.END}after\n", encoding="utf8")
    lines = write(data, docs)
    assert docs.read_text(encoding="utf8") == "\n".join(
        ["before", slip_table.BEGIN.strip(), *lines, slip_table.END.strip(), "after", ""]
    )
    page = (tmp_path / slip_table.PAGE).read_text(encoding="utf8")
    assert "* n2: missed: why" in page
    assert "* n3: why" in page


def test_equivalent_needs_a_reason():
    found = {reason_of(slip) for method in MUTATED for slip in slips_of(method)}
    assert "" in found
    ties = [s for s in slips_of("restarted-agd") if s.operator == "test strict or not"]
    assert [bool(reason_of(s)) for s in ties] == ["norm(" in s.before for s in ties]


def test_an_index_that_no_formula_reads_is_a_reason_and_one_that_it_reads_is_none():
    """T_{t,-1} of pragda is one number for every t, and another one than T_{t,0}."""
    third = [s for s in slips_of("pragda") if s.place.label == "3"]
    told = [(s.before, s.after) for s in third if "does not read it" in reason_of(s)]
    assert told == [("0", "1"), ("0", "-1")], "T[1,-1] and T[-1,-1]; not x[1,-1], which is no point of the run"
    assert ("T[0,-1]", "T[0,0]") in [(s.before, s.after) for s in third if not reason_of(s)]


def test_readers_see_the_table_that_the_command_wrote():
    shown = (ROOT / "docs" / "testing.md").read_text(encoding="utf8").partition(slip_table.BEGIN)[2]
    lines = shown.partition("\n" + slip_table.END)[0]
    assert lines in (ROOT / "reports" / slip_table.PAGE).read_text(encoding="utf8")
    data = ROOT / "reports" / slip_table.DATA
    assert not data.exists() or lines == "\n".join(table(read(data), "method"))
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines.splitlines()[2:]]
    mutants, stillborn, _, real, quick, thorough, missed = map(int, rows[-1][1:])
    assert len(rows) - 1 >= 12
    assert mutants - stillborn >= 600
    assert (quick >= 0.95 * real, thorough, missed) == (True, real, 0)
