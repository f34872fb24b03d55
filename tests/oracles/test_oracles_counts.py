"""Counting happens in one place, by the rule of the design, the same in every form."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from sympy import cos, sin, symbols

from bilevel_verify.oracles import BudgetExhausted, counted, named_counts, new_counts, oracles
from bilevel_verify.oracles.convention import (
    COUNTERS,
    EVALUATIONS,
    EXHAUSTED,
    FIELDS,
    KIND_OF,
    PRODUCTS,
    OracleSet,
)
from bilevel_verify.oracles.jit import code_digest, compiled, compiled_as, loop
from bilevel_verify.problems.problem import Problem

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
x, y = symbols("x y", real=True)
PROBLEM = Problem("bilevel", sin(x) * y, (x,), y**2 - cos(x) * y, (y,))


def test_both_parts_of_a_gradient_are_one_gradient() -> None:
    o = oracles(PROBLEM, compiled=False)
    o.grad_f([1.0], [2.0])
    o.grad_y_f([1.0], [2.0])
    o.hvp_yy_g([1.0], [2.0], [1.0])
    o.jvp_xy_g([1.0], [2.0], [1.0])
    o.jvp_yx_g([1.0], [2.0], [1.0])
    o.hess_g([1.0], [2.0])
    assert dict(o.counts) == {"grad_f": 2, "hvp_yy_g": 1, "jvp_xy_g": 2, "hess_g": 1}
    o.grad_f_batch([[1.0], [2.0]], [[0.0], [0.0]])
    assert o.counts["grad_f"] == 2
    o.reset()
    assert dict(o.counts) == {}


def test_a_budget_ends_the_run() -> None:
    o = oracles(PROBLEM, compiled=False, budget=2)
    o.grad_f([1.0], [2.0])
    o.value_f([1.0], [2.0])
    with pytest.raises(BudgetExhausted, match="budget of 2"):
        o.grad_f([1.0], [2.0])
    assert dict(o.counts) == {"grad_f": 1, "value_f": 1}
    o.budget = None
    o.grad_f([1.0], [2.0])
    assert o.budget is None


@pytest.mark.parametrize("field", FIELDS)
def test_every_counted_call_asks_its_own_oracle_and_counts_its_own_kind(field: str) -> None:
    asked: list[str] = []
    P = OracleSet(*(lambda *a, f=f: asked.append(f) for f in FIELDS))
    counts = new_counts(1)
    ask = getattr(counted, f"ask_{field}")
    blocks = [[0.0], [0.0]] + ([[0.0]] if field in PRODUCTS else [])
    ask(P, counts, *blocks, [0.0])
    assert asked == [field]
    assert named_counts(counts) == {KIND_OF[field]: 1}
    assert not counted.exhausted(counts)
    ask(P, counts, *blocks, [0.0])
    assert counted.exhausted(counts)
    stop = getattr(counted, f"stop_{field}", None)
    if stop is not None:
        assert field in EVALUATIONS
        stop(P, counts, *blocks, [0.0])
        assert named_counts(counts)[f"stop_{KIND_OF[field]}"] == 1


def test_minimax_calls_of_the_lower_level_are_calls_of_f() -> None:
    counts = new_counts()
    counts[COUNTERS.index("grad_f")] = 3
    counts[COUNTERS.index("grad_g")] = 4
    counts[COUNTERS.index("stop_grad_g")] = 5
    assert named_counts(counts, minimax=True) == {"grad_f": 7, "stop_grad_f": 5}


FACTOR = 0.125


@compiled_as(abs)
def magnitude(a: Any) -> Any:
    return a if a >= 0 else -a


@loop
def descend(P: Any, counts: Any, x: Any, y: Any, slope: Any, steps: int) -> None:
    for _ in range(steps):
        counted.ask_grad_y_g(P, counts, x, y, slope)
        y[0] = y[0] - FACTOR * slope[0] * magnitude(slope[0])


@loop
def descend_by_name(P: Any, counts: Any, x: Any, y: Any, slope: Any, steps: int) -> None:
    for _ in range(steps):
        ask_grad_y_g(P, counts, x, y, slope)
        y[0] = y[0] - FACTOR * slope[0] * magnitude(slope[0])


ask_grad_y_g = counted.ask_grad_y_g


@needs_numba
def test_a_loop_runs_plain_and_compiled_with_the_same_trace_and_counts() -> None:
    from numba import float64, int64, void

    from bilevel_verify.oracles.compiling import oracle_set_type

    o = oracles(PROBLEM)
    vector = float64[::1]
    fast = compiled(descend_by_name, void(oracle_set_type(), int64[::1], vector, vector, vector, int64))
    counts, y_fast = new_counts(40), np.array([0.7])
    fast(o.function_set(["grad_y_g"]), counts, np.array([0.3]), y_fast, np.zeros(1), 50)
    again, y_plain = new_counts(40), [0.7]
    descend_by_name(o.function_set(["grad_y_g"], "plain"), again, [0.3], y_plain, [0.0], 50)
    assert y_fast[0] == y_plain[0]
    assert counts.tolist() == again.tolist()
    assert counts[EXHAUSTED] == 1
    assert named_counts(counts) == {"grad_g": 50}
    assert compiled(descend_by_name) is compiled(descend_by_name)


def test_the_key_of_a_loop_follows_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_digest(descend_by_name)
    assert before == code_digest(descend_by_name)
    monkeypatch.setitem(descend_by_name.__globals__, "FACTOR", 0.25)
    assert code_digest(descend_by_name) != before
    with pytest.raises(ValueError, match="not marked"):
        compiled(test_a_budget_ends_the_run)
