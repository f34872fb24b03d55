"""Rows and numbers by name, functions by address: the same in plain Python and in machine code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from bilevel_verify.oracles.compiling import can_compile
from bilevel_verify.oracles.handing import (
    Integers,
    Numbers,
    Vectors,
    address_of,
    call_2,
    call_7,
    handed,
    named,
    named_at,
    row,
)
from bilevel_verify.oracles.jit import code_digest, compiled, loop

needs_numba = pytest.mark.skipif(not can_compile(), reason="no compiler")


class Pair(NamedTuple):
    """Two rows."""

    w: Any
    x: Any


class Steps(NamedTuple):
    """Two numbers."""

    eta: Any
    theta: Any


@loop
def move(block: Any, numbers: Any) -> Any:
    """x <- x - eta w in the rows of a block; theta."""
    rows = named(Pair, block)
    eta, theta = named(Steps, numbers)
    for i in range(len(rows.x)):
        rows.x[i] = rows.x[i] - eta * rows.w[i]
    return theta


@loop
def move_layers(block: Any, lengths: Any, layers: int) -> int:
    """x <- x + w in every layer; the sum of a row of integers whose last entry becomes 7."""
    for place in range(layers):
        rows = named_at(Pair, block, place)
        for i in range(len(rows.x)):
            rows.x[i] = rows.x[i] + rows.w[i]
    counts = row(lengths, 1)
    total = 0
    for i in range(len(counts)):
        total = total + counts[i]
    counts[len(counts) - 1] = 7
    return total


def test_plain_rows_are_the_rows_themselves() -> None:
    block = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    pair = named(Pair, tuple(block))
    assert pair.w is block[0]
    assert pair.x is block[1]
    assert row(block, 2) is block[2]
    assert named(Pair, pair) is pair
    assert move(tuple(block), (0.5, 7.0, 8.0)) == 7.0
    assert block == [[1.0, 2.0], [2.5, 3.0], [5.0, 6.0]]


def of_types(*kinds: Any) -> list[Any]:
    """numba types of blocks that are handed over."""
    from numba import int64, types

    return [types.NamedUniTuple(int64, len(kind._fields), kind) for kind in kinds]


@needs_numba
def test_compiled_rows_are_changed_in_place() -> None:
    from numba import float64

    fast = compiled(move, float64(*of_types(Vectors, Numbers)))
    block, numbers = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0.5, 7.0, 8.0])
    assert fast(handed(block), handed(numbers)) == 7.0
    assert block.tolist() == [[1.0, 2.0], [2.5, 3.0], [5.0, 6.0]]
    nothing = np.zeros((2, 0))
    assert fast(handed(nothing), handed(numbers)) == 7.0


@pytest.mark.parametrize("form", ["plain", pytest.param("compiled", marks=needs_numba)])
def test_layers_and_integers(form: str) -> None:
    block, lengths = np.arange(12.0).reshape(2, 2, 3), np.array([[1, 2, 3], [4, 5, 6]])
    if form == "plain":
        assert move_layers(block, lengths, 2) == 15
    else:
        from numba import int64

        fast = compiled(move_layers, int64(*of_types(Vectors, Integers), int64))
        assert fast(handed(block), handed(lengths), 2) == 15
    assert block.tolist() == [[[0, 1, 2], [3, 5, 7]], [[6, 7, 8], [15, 17, 19]]]
    assert lengths.tolist() == [[1, 2, 3], [4, 5, 7]]


def test_what_is_handed_over_says_where_it_lies_and_of_what_it_is() -> None:
    vectors, integers = np.zeros((3, 2, 5)), np.zeros((2, 4), dtype=np.int64)
    assert handed(vectors) == Vectors(vectors.ctypes.data, 5)
    assert handed(vectors[1]) == Vectors(vectors.ctypes.data + 80, 5)
    assert isinstance(handed(integers), Integers)
    assert handed(integers).length == 4
    assert handed(vectors[0, 1]) == Numbers(vectors.ctypes.data + 40)


@loop
def difference(a: Any, b: Any) -> int:
    """a - b, of integers."""
    return int(a - b)


@loop
def of_seven(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> int:
    """A number that tells all arguments apart; the third one is a vector."""
    c[0] = 4.0
    return int(a + 2 * b + 3 * len(c) + 5 * d + 7 * e + 11 * f + 13 * g)


@loop
def through(first: Any, second: Any, vector: Any) -> int:
    """Both, called as functions or at their addresses."""
    return 1000 * call_2(first, 9, 2) + call_7(second, 1, 2, vector, 3, 4, 5, 6)


def test_plain_calls() -> None:
    vector = [0.0, 0.0]
    assert through(difference, of_seven, vector) == 7000 + 1 + 4 + 6 + 15 + 28 + 55 + 78
    assert vector[0] == 4.0


@needs_numba
def test_calls_at_an_address() -> None:
    from numba import float64, int64

    first = compiled(difference, int64(int64, int64))
    second = compiled(of_seven, int64(int64, int64, float64[::1], int64, int64, int64, int64))
    fast = compiled(through, int64(int64, int64, float64[::1]))
    vector = np.zeros(2)
    assert fast(address_of(first), address_of(second), vector) == through(difference, of_seven, [0.0, 0.0])
    assert vector[0] == 4.0


def test_other_fields_are_other_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names stand for places: a tuple with its fields in another order must not find the code of this one."""
    before = code_digest(move)
    monkeypatch.setitem(globals(), "Pair", NamedTuple("Pair", [("x", Any), ("w", Any)]))
    assert code_digest(move) != before


@needs_numba
def test_other_fields_of_an_argument_are_other_machine_code() -> None:
    from numba import float64, types

    from bilevel_verify.oracles.jit import _layout

    swapped = type("Pair", (tuple,), {"_fields": ("x", "w")})
    make: Any = types.NamedTuple
    one, other = (make([float64[::1], float64[:, ::1]], kind) for kind in (Pair, swapped))
    assert str(one) == str(other)
    assert _layout(one) != _layout(other)
    assert _layout(make([float64, one], Steps)) != _layout(make([float64, other], Steps))
    assert _layout(float64) == ""


class Asked(NamedTuple):
    """A field of the name of the function that reads it."""

    theta: Any


@loop
def theta(asked: Any) -> Any:
    """The field, which is no call of this function."""
    return asked.theta


@needs_numba
def test_an_attribute_is_no_global_of_the_same_name() -> None:
    from numba import float64, types

    make: Any = types.NamedUniTuple
    assert compiled(theta, float64(make(float64, 1, Asked)))(Asked(2.5)) == 2.5
