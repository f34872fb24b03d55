"""Counting, budgets, shapes and batches: each rule alone."""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
import pytest
from sympy import Expr, Symbol, cos, diff, exp, sin, symbols

from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles import BudgetExhausted, Oracles, batch, counted, named_counts, new_counts, oracles
from bilevel_verify.oracles.convention import (
    BUDGET,
    CALLS,
    COUNTERS,
    EXHAUSTED,
    FIELDS,
    KIND_OF,
    NO_BUDGET,
    PRODUCTS,
    OracleSet,
)
from bilevel_verify.oracles.oracles import unpack_third
from bilevel_verify.problems import single_level
from bilevel_verify.problems.problem import Problem

pytestmark = pytest.mark.fast

X, Y = symbols("x1:3", real=True), symbols("y1:3", real=True)
Z = (*X, *Y)
F = X[0] * Y[1] + sin(X[1]) * Y[0] ** 2 + exp(X[0] * X[1] / 4) + Y[0] * Y[1] ** 3  # its x-y block is not symmetric
G = X[0] ** 2 * Y[1] + cos(X[1] - Y[0]) + Y[0] ** 2 + 2 * Y[1] ** 2 + X[1] * Y[0] * Y[1]
SQUARE = Problem("bilevel", F, X, G, Y)
POINT = {X[0]: 0.3, X[1]: -0.7, Y[0]: 1.1, Y[1]: 0.4}
x, y = np.array([0.3, -0.7]), np.array([1.1, 0.4])
V2, V4 = np.array([0.5, -2.0]), np.array([0.5, -2.0, 3.0, 0.25])


def derivative(function: Expr, *names: Symbol) -> float:
    return float((diff(function, *names) if names else function).subs(POINT))


def matrix(function: Expr, rows: tuple[Symbol, ...], columns: tuple[Symbol, ...]) -> np.ndarray:
    return np.array([[derivative(function, a, b) for b in columns] for a in rows])


def expected(field: str) -> np.ndarray:
    """What an oracle must say at the point, from SymPy's own derivatives."""
    function = F if field.endswith("_f") else G
    match field[:-2]:
        case "value":
            return np.array([derivative(function)])
        case "grad":
            return np.array([derivative(function, z) for z in Z])
        case "grad_x":
            return np.array([derivative(function, z) for z in X])
        case "grad_y":
            return np.array([derivative(function, z) for z in Y])
        case "hess":
            return matrix(function, Z, Z).ravel()
        case "third":
            return np.array([[[derivative(function, a, b, c) for c in Z] for b in Z] for a in Z])
        case "hvp":
            return matrix(function, Z, Z) @ V4
        case "hvp_yy":
            return matrix(function, Y, Y) @ V2
        case "jvp_xy":
            return matrix(function, X, Y) @ V2
    assert field[:-2] == "jvp_yx", field
    return matrix(function, X, Y).T @ V2


def direction(field: str) -> np.ndarray:
    return V4 if field.startswith("hvp_") and field[4:6] != "yy" else V2


@pytest.fixture(scope="module")
def square() -> Oracles:
    return oracles(SQUARE, compiled=False)


@pytest.mark.slow
@pytest.mark.parametrize("field", FIELDS)
def test_blocks_of_equal_size_are_not_confused(field: str, square: Oracles) -> None:
    o = square.fresh()
    found = getattr(o, field)(x, y, *([direction(field)] if field in PRODUCTS else []))
    wanted = expected(field)
    if field.startswith("grad") and field[4:6] in ("_f", "_g"):
        assert [part.shape for part in found] == [(2,), (2,)]
        found = np.concatenate(found)
    elif field.startswith("hess"):
        xx, xy, yy = found
        found = np.block([[xx, xy], [xy.T, yy]]).ravel()
    elif field.startswith("third"):
        found = unpack_third(found, 4)
    np.testing.assert_allclose(np.reshape(found, wanted.shape), wanted, rtol=1e-13, atol=1e-13)
    assert dict(o.counts) == {KIND_OF[field]: 1}


@pytest.mark.parametrize("field", FIELDS)
def test_a_batch_is_the_oracle_row_by_row_and_is_not_counted(
    field: str, square: Oracles, monkeypatch: pytest.MonkeyPatch
) -> None:
    o = square.fresh()
    rows = 7
    X_, Y_ = np.arange(2.0 * rows).reshape(rows, 2) / 9, np.arange(2.0 * rows)[::-1].reshape(rows, 2) / 11
    V_ = np.arange(4.0 * rows).reshape(rows, 4)[:, : len(direction(field))] - 5 if field in PRODUCTS else None
    single = [
        np.concatenate([np.ravel(part) for part in o.fresh().batch(field, X_[k], Y_[k], None if V_ is None else V_[k])])
        for k in range(rows)
    ]
    whole = o.batch(field, X_, Y_, V_)
    np.testing.assert_allclose(whole, single, rtol=1e-14)
    monkeypatch.setattr(batch, "AT_ONCE", 1)  # one point at a time: the pieces are put together in order
    np.testing.assert_array_equal(o.batch(field, X_, Y_, V_), whole)
    assert dict(o.counts) == {}
    assert o.counts_array[CALLS] == 0


def test_a_batch_of_the_wrong_width_is_refused(square: Oracles) -> None:
    with pytest.raises(ParameterError, match="takes points of 4 coordinates, not 3"):
        square.batch("grad_f", np.zeros((5, 1)), np.zeros((5, 2)))
    with pytest.raises(ParameterError, match="takes points of 6 coordinates, not 4"):
        square.batch("hvp_yy_g", np.zeros((5, 2)), np.zeros((5, 2)))
    with pytest.raises(ParameterError, match="y has 3 entries; the problem has 2"):
        square.fresh().grad_f([0.0, 0.0], [0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="v has 2 entries; the problem has 4"):
        square.fresh().hvp_f([0.0, 0.0], [0.0, 0.0], [1.0, 1.0])


def test_values_and_gradients_of_a_batch_have_one_row_a_point(square: Oracles) -> None:
    X_, Y_ = np.arange(6.0).reshape(3, 2) / 7, np.arange(6.0)[::-1].reshape(3, 2) / 5
    o = square.fresh()
    for level in "fg":
        values = getattr(o, f"value_{level}_batch")(X_, Y_)
        np.testing.assert_allclose(values, [getattr(o, f"value_{level}")(a, b) for a, b in zip(X_, Y_)], rtol=1e-14)
        for kind in ("grad", "hess"):
            parts = getattr(o, f"{kind}_{level}_batch")(X_, Y_)
            for k in range(3):
                for part, single in zip(parts, getattr(o, f"{kind}_{level}")(X_[k], Y_[k]), strict=True):
                    np.testing.assert_allclose(part[k], single, rtol=1e-13, atol=1e-13)


def test_a_set_of_oracles_is_refused_by_name_form_and_compiler(square: Oracles) -> None:
    with pytest.raises(ParameterError, match="there is no oracle 'grad_h'"):
        square.function_set(["grad_f", "grad_h"])
    with pytest.raises(ParameterError, match="cannot be compiled here"):
        square.function_set(["grad_f"])  # made with compiled=False
    with pytest.raises(ParameterError, match="form is 'compiled', 'plain', 'multiprecision' or 'binary', not 'fast'"):
        square.function_set(["grad_f"], "fast")


def test_a_call_that_is_refused_is_not_counted(square: Oracles) -> None:
    o = square.fresh()
    with pytest.raises(ParameterError):
        o.grad_f([0.0], [0.0, 0.0])
    assert dict(o.counts) == {}


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_the_budget_is_the_number_of_calls_that_are_answered(budget: int, square: Oracles) -> None:
    o = square.fresh()
    o.budget = budget
    for n in range(budget):
        assert o.counts_array[EXHAUSTED] == 0
        (o.grad_f if n % 2 else o.hess_g)(x, y)
    assert o.counts_array[EXHAUSTED] == 0
    for _ in range(2):
        with pytest.raises(BudgetExhausted, match=f"the budget of {budget} oracle calls"):
            o.value_f(x, y)
    assert o.counts_array[EXHAUSTED] == 1
    assert (o.counts_array[CALLS], sum(o.counts.values())) == (budget, budget)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("prefix", ["ask", "stop"])
def test_a_counted_call_hands_its_arguments_on_in_order(field: str, prefix: str) -> None:
    ask = getattr(counted, f"{prefix}_{field}", None)
    if ask is None:
        assert prefix == "stop"
        return
    seen: list[object] = []
    P = OracleSet(*(lambda *a: seen.append(a) for _ in FIELDS))
    arguments = (object(), object(), object(), object()) if field in PRODUCTS else (object(), object(), object())
    ask(P, new_counts(), *arguments)
    assert seen == [arguments]


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_a_loop_is_told_at_the_first_call_beyond_its_budget(budget: int) -> None:
    counts = new_counts(budget)
    for n in range(budget + 2):
        assert counted.exhausted(counts) == (n > budget)
        counted.count(counts, n % 2)
    assert counted.exhausted(counts)
    assert counts[CALLS] == budget + 2 == sum(named_counts(counts).values())


def test_no_budget_is_no_limit() -> None:
    counts = new_counts()
    assert counts[BUDGET] == NO_BUDGET
    counts[CALLS] = NO_BUDGET - 1
    counted.count(counts, 0)
    assert not counted.exhausted(counts)


def test_reset_forgets_the_counts_and_keeps_the_budget(square: Oracles) -> None:
    o = square.fresh()
    o.budget = 2
    o.grad_f(x, y)
    o.third_g(x, y)
    with pytest.raises(BudgetExhausted):
        o.grad_f(x, y)
    o.reset()
    assert dict(o.counts) == {}
    assert o.counts_array.tolist() == [0] * len(COUNTERS) + [0, 2, 0]
    o.grad_f(x, y)
    o.grad_g(x, y)
    with pytest.raises(BudgetExhausted):
        o.grad_f(x, y)


def test_fresh_oracles_count_from_zero_apart_and_without_a_budget(square: Oracles) -> None:
    first = square.fresh()
    first.budget = 1
    first.grad_f(x, y)
    second = first.fresh()
    assert (dict(second.counts), second.budget) == ({}, None)
    second.grad_f(x, y)
    second.grad_f(x, y)
    assert (first.counts["grad_f"], second.counts["grad_f"]) == (1, 2)
    assert second.programs is first.programs  # nothing is derived twice
    assert second._plain is first._plain


@pytest.mark.parametrize("compiled", [None, True, False])
def test_fresh_oracles_compile_as_the_first_ones_do(compiled: bool | None) -> None:
    first = oracles(SQUARE, compiled)
    assert first.fresh()._compile is compiled
    assert first.fresh(plain=True)._compile is False
    assert first.fresh()._asked is first._asked
    assert first.fresh(plain=True)._asked is not first._asked


def test_fresh_plain_oracles_never_ask_machine_code(square: Oracles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Oracles.__module__], "COMPILE_AFTER", 2)
    monkeypatch.setattr(Oracles, "_compiled", lambda self, field: pytest.fail("compiled"))
    plain = oracles(SQUARE).fresh(plain=True)
    for _ in range(5):
        plain.value_f(x, y)
    assert not plain.can_compile(["value_f"])
    assert not plain.worth_compiling(["value_f"], heavy=True)


def test_every_counter_has_somebody_who_counts_it() -> None:
    asked = {KIND_OF[field] for field in FIELDS}
    stops = {f"stop_{KIND_OF[name[5:]]}" for name in dir(counted) if name.startswith("stop_")}
    assert asked | stops == set(COUNTERS)
    assert len(set(COUNTERS)) == len(COUNTERS)


def test_counts_of_minimax_add_both_levels_and_other_kinds_do_not() -> None:
    counts = new_counts()
    for place in range(len(COUNTERS)):
        counts[place] = place + 1
    plain, merged = named_counts(counts), named_counts(counts, minimax=True)
    assert plain == {kind: place + 1 for place, kind in enumerate(COUNTERS)}
    assert sum(merged.values()) == sum(plain.values())
    assert {kind[-2:] for kind in merged} == {"_f"}
    assert merged["stop_grad_f"] == plain["stop_grad_f"] + plain["stop_grad_g"]
    assert merged["hvp_yy_f"] == plain["hvp_yy_f"] + plain["hvp_yy_g"]


def test_third_derivatives_are_unpacked_to_every_order_of_their_indices() -> None:
    full = unpack_third(np.array([np.arange(1.0, 5.0)]), 2)[0]
    assert {full[p] for p in permutations((0, 0, 1))} == {2.0}
    assert {full[p] for p in permutations((0, 1, 1))} == {3.0}
    assert (full[0, 0, 0], full[1, 1, 1]) == (1.0, 4.0)


def test_a_budget_beyond_the_counters_is_no_limit_and_a_negative_one_allows_nothing() -> None:
    problem = single_level(f="x1**2", x="x1")
    assert oracles(problem, compiled=False, budget=10**400).budget is None
    o = oracles(problem, compiled=False, budget=-(10**400))
    with pytest.raises(BudgetExhausted):
        o.value_f([1.0])
    o.budget = 10**400
    assert o.budget is None
    o.budget = 2**62 - 1
    assert o.budget == 2**62 - 1
    assert o.value_f([3.0]) == 9.0
