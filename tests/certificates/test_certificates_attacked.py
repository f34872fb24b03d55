"""False statements with proofs that were written to deceive the checker, each with a point at which the statement fails."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from certificate_pieces import holds, margin
from mpmath import mp

from bilevel_check import check
from bilevel_verify.certificates.statement import data_of
from bilevel_verify.language import parse, tree

SORTS = dict.fromkeys("xyz", "real") | dict.fromkeys("jkmn", "integer")
VECTORS = {"u": "vector", "v": "vector", "x": "real"}


def data(text: str) -> Any:
    """A formula or a relation as data of a certificate."""
    node = parse(text)
    if isinstance(node, tree.Compare):
        return [node.operators[0], *map(data_of, node.operands)]
    return data_of(node)


def known(*goals: str) -> list[Any]:
    return [["known", data(goal)] for goal in goals]


def same(goal: str, *parts: Any, multiplier: Any = 1) -> list[Any]:
    return ["identity", data(goal), [[data(c) if isinstance(c, str) else c, *rest] for c, *rest in parts], multiplier]


def given(count: int) -> list[Any]:
    return [["hypothesis", place] for place in range(count)]


def raised(goal: str, e: Any) -> list[Any]:
    return ["raise", data(goal), data(e) if isinstance(e, str) else e]


def boxes(goal: str, splits: Any = None, **ranges: Any) -> list[Any]:
    return ["boxes", data(goal), {name: list(ends) for name, ends in ranges.items()}, splits]


def cases(goal: str, which: Any, *proofs: Any) -> list[Any]:
    return ["cases", data(goal), data(which) if isinstance(which, str) else which, list(proofs or ([], []))]


def induction(goal: str, start: Any, base: Any, step: Any, name: str = "n") -> list[Any]:
    return ["induction", data(goal), name, data(start) if isinstance(start, str) else start, base, step]


HALF = "1/2"
ONES = "sum(1, (i, 1, n))"
CAPTURED = "sum(sum(k*m, (m, 1, 2)), (k, 1, m))"
UNIT = ("x >= 0", "x <= 1")
SMALL_STEP = [["hypothesis", 1], same("n + 1 <= 8", (1, [0], []), (1, [1], []))]
FALSE: list[tuple[Any, Any, dict[str, Any], tuple[Any, ...]]] = [
    # claim, proof, a point at which the claim fails (or is not defined), hypotheses that hold there

    # ---- last-term: of what is no sum, of ranges that may be empty, of bodies without a value, of captured letters
    (["==", ["+", 1, "x", 2, 1], 0], [["last-term", ["+", 1, "x", 2, 1]]], {"x": 1}, ()),
    (["==", ["*", 3, "x", 2, 1], 0], [["last-term", ["*", 3, "x", 2, 1]]], {"x": 1}, ()),
    (["==", ["max", 3, "x", 2, 1], 0], [["last-term", ["max", 3, "x", 2, 1]]], {"x": 1}, ()),
    (["==", ["min", 3, "x", 2, 1], 0], [["last-term", ["min", 3, "x", 2, 1]]], {"x": 1}, ()),
    (["==", ["prod", "i", "i", 1, 0], 0], [["last-term", ["prod", "i", "i", 1, 0]]], {}, ()),
    (f"{ONES} == sum(1, (i, 1, n - 1)) + 1", [*given(1), ["last-term", data(ONES)]], {"n": 0}, ("n >= 0",)),
    (f"{ONES} == n", known(f"{ONES} == n"), {"n": -2}, ()),
    ("sum(1, (i, 1, n + 3)) == n + 3", [*given(1), *known("sum(1, (i, 1, n + 3)) == n + 3")], {"n": -5}, ("n >= -5",)),
    ("sum(1/(3 - i), (i, 1, 3)) == sum(1/(3 - i), (i, 1, 3))", [["last-term", data("sum(1/(3 - i), (i, 1, 3))")]], {}, ()),
    ("sum(log(i), (i, n, 3)) <= 10", [["last-term", data("sum(log(i), (i, n, 3))")]], {"n": 0}, ()),
    ("sum(sqrt(3 - i), (i, 1, n)) >= 0", [*given(1), *known("sum(sqrt(3 - i), (i, 1, n)) >= 0")], {"n": 5}, ("n >= 1",)),
    ("sum(1, (i, 1, x)) == x", [*given(1), *known("sum(1, (i, 1, x)) == x")], {"x": mp.mpf(1.5)}, ("x >= 1",)),
    ("sum(i, (i, 1, x)) == sum(i, (i, 1, x - 1)) + x", [*given(1), ["last-term", data("sum(i, (i, 1, x))")]],
     {"x": mp.mpf(1.5)}, ("x >= 1",)),
    (f"{CAPTURED} == sum(sum(k*m, (m, 1, 2)), (k, 1, m - 1)) + 5", [*given(1), ["last-term", data(CAPTURED)]], {"m": 1},
     ("m >= 1",)),
    ("3*sum(i, (i, 1, 2)) == 2*sum(i, (i, 1, 3))", known("3*sum(i, (i, 1, 2)) == 2*sum(i, (i, 1, 3))"), {}, ()),
    ("sum(i*x, (i, 1, 2)) == sum(i*i, (i, 1, 2))", known("sum(i*x, (i, 1, 2)) == sum(i*i, (i, 1, 2))"), {"x": 5}, ()),
    ("sum(x**i, (i, 0, 2)) == x**2*sum(x**(i - 2), (i, 0, 2))",
     [*given(1), same("sum(x**i, (i, 0, 2)) == x**2*sum(x**(i - 2), (i, 0, 2))")], {"x": 0}, ("x >= 0",)),
    (["<=", ["sum", "pi", "pi", 1, 2], "2999/1000"], [["boxes", ["<=", ["sum", "pi", "pi", 1, 2], "2999/1000"]]], {}, ()),
    (["==", ["sum", "E", "E", 1, 2], ["*", 2, "E"]], [["last-term", ["sum", "E", "E", 1, 2]],
     ["known", ["==", ["sum", "E", "E", 1, 2], ["*", 2, "E"]]]], {}, ()),
    ("sum(i, (i, 1, n)) <= n", [*given(1), ["last-term", data("sum(i, (i, 1, n))")], ["last-term", data("sum(i, (i, 1, n - 1))")],
     same("sum(i, (i, 1, n)) <= n", (1, [1], []), (1, [2], []))], {"n": 3}, ("n >= 1",)),
    ("sum(i*x, (i, 1, n)) >= 0", [*given(1), *known("sum(i*x, (i, 1, n)) >= 0")], {"n": 2, "x": -1}, ("n >= 1",)),

    # ---- known: definedness, roots, logarithms, integers, maxima
    ("x/x == 1", known("x/x == 1"), {"x": 0}, ()),
    ("1/x - 1/x == 0", [same("1/x - 1/x == 0")], {"x": 0}, ()),
    ("0*(1/x) == 0", known("0*(1/x) == 0"), {"x": 0}, ()),
    ("(1/x)**0 == 1", known("(1/x)**0 == 1"), {"x": 0}, ()),
    ("1/(1/x) == x", known("1/(1/x) == x"), {"x": 0}, ()),
    ("sqrt(x) - sqrt(x) == 0", known("sqrt(x) - sqrt(x) == 0"), {"x": -1}, ()),
    ("log(x) <= x - 1", known("log(x) <= x - 1"), {"x": 0}, ("x >= 0",)),
    ("x**y >= 0", [*given(1), *known("x**y >= 0")], {"x": 0, "y": -1}, ("x >= 0",)),
    ("x**y*x**(1 - y) == x", [*given(1), same("x**y*x**(1 - y) == x")], {"x": 0, "y": 2}, ("x >= 0",)),
    ("x**y*x**(1 - y) == x", [*given(3), same("x**y*x**(1 - y) == x")], {"x": 0, "y": 2}, ("x >= 0", "y >= 0", "y >= 1")),
    ("0**x == 0", [*given(1), *known("0**x == 0")], {"x": 0}, ("x >= 0",)),
    ("(x - x)**y == 0", [*given(1), *known("(x - x)**y == 0")], {"x": 1, "y": 0}, ("y >= 0",)),
    ("sqrt(x - 1) >= 0", [*given(1), *known("sqrt(x - 1) >= 0")], {"x": 0}, ("x < 1",)),
    ("(x - 1)**(1/3) <= 1", [*given(1), *known("(x - 1)**(1/3) >= 0", "(x - 1)**(1/3) <= 1")], {"x": 0}, ("x < 1",)),
    ("sqrt(-x) >= 0", [*given(1), *known("sqrt(-x) >= 0")], {"x": 1}, ("x > 0",)),
    ("sqrt(x**2) == x", known("sqrt(x**2) == x"), {"x": -1}, ()),
    ("(x**2)**(3/2) == x**3", known("(x**2)**(3/2) == x**3"), {"x": -1}, ()),
    ("(x**3)**(1/3) == x", [*given(1), *known("(x**3)**(1/3) == x")], {"x": -1}, ("x <= 1",)),
    ("sqrt(x*y) == sqrt(x)*sqrt(y)", [*given(1), *known("sqrt(x*y) == sqrt(x)*sqrt(y)")], {"x": -1, "y": -1}, ("x*y >= 0",)),
    ("log(x*y) == log(x) + log(y)", [*given(1), *known("log(x*y) == log(x) + log(y)")], {"x": -1, "y": -1}, ("x*y > 0",)),
    ("log(x**2) == 2*log(x)", [*given(1), *known("log(x**2) == 2*log(x)")], {"x": -1}, ("x**2 > 0",)),
    ("floor(x) == x", known("floor(x) == x"), {"x": mp.mpf(0.5)}, ()),
    ("floor(n/2) == n/2", known("floor(n/2) == n/2"), {"n": 1}, ()),
    ("floor(1/n) == 1/n", [*given(1), *known("floor(1/n) == 1/n")], {"n": 2}, ("n >= 1",)),
    ("floor(2**n) == 2**n", known("floor(2**n) == 2**n"), {"n": -1}, ()),
    ("x < floor(x) + 1/2", known("x < floor(x) + 1", "x < floor(x) + 1/2"), {"x": mp.mpf(0.7)}, ()),
    ("ceil(x) < x + 1/2", known("ceil(x) < x + 1", "ceil(x) < x + 1/2"), {"x": mp.mpf(0.2)}, ()),
    ("max(x, y) == x", known("x <= max(x, y)", "max(x, y) == x"), {"x": 0, "y": 1}, ()),
    ("max(x, y) > x", known("max(x, y) > x"), {"x": 1, "y": 0}, ()),
    ("max(1/x, 1) >= 1", known("max(1/x, 1) >= 1"), {"x": 0}, ()),
    ("abs(x) > 0", known("abs(x) > 0"), {"x": 0}, ()),
    ("(-1)**n == 1", known("(-1)**n == 1"), {"n": 1}, ()),
    ("(-1)**n*(-1)**n == 1", known("(-1)**n*(-1)**n == 1", "(-1)**(2*n) == 1"), {"n": mp.mpf(0.5)}, ()),
    ("x**3 >= 0", known("x**3 >= 0"), {"x": -1}, ()),
    ("x**2 > 0", known("x**2 > 0"), {"x": 0}, ()),
    ("x % y >= 0", [*given(1), *known("x % y >= 0")], {"x": 1, "y": 0}, ("y >= 0",)),
    ("1/sin(x) >= 1", known("1/sin(x) >= 1"), {"x": 4}, ()),

    # ---- identity: multipliers, cofactors, strictness, what is divided out
    ("x == 1", [["identity", data("x == 1"), [], 0]], {"x": 0}, ()),
    ("x == 1", [*given(2), same("x == 1", (1, [0], []), multiplier="x")], {"x": 0}, ("x**2 == x", "x >= 0")),
    ("x <= 0", [*given(1), same("x <= 0", (1, [0], []), multiplier=-1)], {"x": 1}, ("x >= 0",)),
    ("x <= 1", [*given(1), same("x <= 1", (1, [0], []), multiplier="y")], {"x": 2, "y": -1}, ("x*y <= y",)),
    ("1 <= 0", [*given(1), same("1 <= 0", ("-1/x", [0], []))], {"x": 0}, ("x == 0",)),
    ("1 <= 0", [*given(2), same("1 <= 0", ("-1/x", [0], []))], {"x": 0}, ("x == 0", "x >= 0")),
    ("x > 0", [*given(2), same("x > 0", (1, [0], []), (1, [1], []))], {"x": 0, "y": 0}, ("x == y", "y >= 0")),
    ("x*y > 0", [*given(2), same("x*y > 0", (1, [0, 1], []))], {"x": 1, "y": 0}, ("x > 0", "y >= 0")),
    ("x*y**2 > 0", [*given(1), same("x*y**2 > 0", (1, [0], ["y"]))], {"x": 1, "y": 0}, ("x > 0",)),
    ("x >= 1", [*given(1), same("x >= 1", (1, [0], []), multiplier="1/x")], {"x": -1}, ("1/x <= 1",)),
    ("x >= y", [*given(1), same("x >= y", ("x", [0], []))], {"x": -1, "y": 2}, ("x*x >= y*x",)),
    ("x >= 0", [same("x >= 0", (1, [], ["sqrt(x)"]))], {"x": -1}, ()),
    ("x <= 0", [*given(1), same("x <= 0", (1, [-1], []))], {"x": 1}, ("x >= 0",)),
    ("y >= 0", [*given(2), same("y >= 0", (1, [0, 1], []), multiplier="x")], {"x": 0, "y": -1}, ("x >= 0", "x*y >= 0")),
    ("1/x + 1/y == (x + y)/(x*y)", [*given(1), same("1/x + 1/y == (x + y)/(x*y)")], {"x": 1, "y": 0}, ("x > 0",)),
    ("sqrt(2)*sqrt(3) == sqrt(5)", [same("sqrt(2)*sqrt(3) == sqrt(5)")], {}, ()),
    ("(x + 1)/(x + 1)**2*(x + 1) == 1", [same("(x + 1)/(x + 1)**2*(x + 1) == 1")], {"x": -1}, ()),

    # ---- raise: signs of bases and exponents, strictness
    ("4 <= 1", [raised("-2 <= 1", 2)], {}, ()),
    ("x**2 <= y**2", [*given(1), raised("x <= y", 2)], {"x": -2, "y": 1}, ("x <= y",)),
    ("x <= y", [*given(2), raised("x**2 <= y**2", HALF)], {"x": 1, "y": -2}, ("x**2 <= y**2", "x >= 0")),
    ("sqrt(x) <= 1", [*given(1), raised("x <= 1", HALF)], {"x": -1}, ("x <= 1",)),
    ("1/y <= 1/x", [*given(2), raised("x <= y", -1)], {"x": 0, "y": 1}, ("x <= y", "x >= 0")),
    ("1/x >= 1", [*given(2), raised("x <= 1", -1)], {"x": 0}, UNIT[::-1]),
    ("1/x == 1/y", [*given(2), raised("x == y", -1)], {"x": 0, "y": 0}, ("x == y", "x >= 0")),
    ("x**y <= 1", [*given(2), raised("x <= 1", "y")], {"x": 0, "y": -1}, UNIT),
    ("1 <= 2**x", [raised("1 <= 2", "x")], {"x": -1}, ()),
    ("1 < 2**x", [*given(1), raised("1 < 2", "x")], {"x": 0}, ("x >= 0",)),
    ("x**0 < y**0", [*given(2), raised("x < y", 0)], {"x": 0, "y": 1}, ("x >= 0", "x < y")),
    ("2**x <= 3**x", [raised("2 <= 3", "x")], {"x": -1}, ()),
    ("0**x <= 0", [*given(1), raised("0 <= 0", "x")], {"x": 0}, ("x >= 0",)),
    ("x**n <= y**n", [*given(3), raised("x <= y", "n")], {"x": -2, "y": 1, "n": 2}, ("x <= y", "y >= 0", "n >= 0")),
    ("2 <= x**(-2)", [*given(1), raised("x <= 1", -2)], {"x": -1}, ("x <= 1",)),
    ("3 <= 2", [["raise", ["<=", ["neg", 3], ["neg", 2]], 1], *known("3 <= 2")], {}, ()),

    # ---- boxes: values outside, leaves that do not cover, functions without a value
    ("x <= 1", [boxes("x <= 1", x=("x", 0, 1))], {"x": 2}, ("x >= 0",)),
    ("x <= 1", [*given(1), boxes("x <= 1", x=("x", 1, 0))], {"x": 2}, ("x >= 0",)),
    ("x < 1", [*given(2), boxes("x < 1", x=("x", 0, 1))], {"x": 1}, UNIT),
    ("x <= 1/2", [*given(2), boxes("x <= 1/2", ["x", HALF, None, ["x", 2, None, None]], x=("x", 0, 1))], {"x": 1}, UNIT),
    ("x <= 1/2", [*given(2), boxes("x <= 1/2", ["x", HALF, None], x=("x", 0, 1))], {"x": 1}, UNIT),
    ("x <= 1/2", [*given(2), boxes("x <= 1/2", ["y", HALF, None, None], x=("x", 0, 1))], {"x": 1}, UNIT),
    ("log(x) <= 0", [*given(2), boxes("log(x) <= 0", x=("x", 0, 1))], {"x": 0}, UNIT),
    ("x/x <= 1", [*given(2), boxes("x/x <= 1", x=("x", 0, 1))], {"x": 0}, UNIT),
    ("x**(-1/2) >= 1", [*given(2), boxes("x**(-1/2) >= 1", x=("x", 0, 1))], {"x": 0}, UNIT),
    ("sqrt(x - 1) <= 0", [*given(2), boxes("sqrt(x - 1) <= 0", x=("x", 0, 1))], {"x": 0}, UNIT),
    ("floor(x) <= 0", [*given(2), boxes("floor(x) <= 0", x=("x", 0, 1))], {"x": 1}, UNIT),
    ("x % 1 <= 1/4", [*given(2), boxes("x % 1 <= 1/4", x=("x", 0, 1))], {"x": mp.mpf(0.5)}, UNIT),
    ("x**2 >= 1", [*given(2), boxes("x**2 >= 1", x=("x", -2, 2))], {"x": 0}, ("x >= -2", "x <= 2")),
    ("(2*x - 1)**(-2) >= 1/4", [*given(2), boxes("(2*x - 1)**(-2) >= 1/4", x=("x", 0, 1))], {"x": mp.mpf(0.5)}, UNIT),
    ("pi <= 1", [*given(2), boxes("pi <= 1", pi=("x", 0, 1))], {"x": 0}, UNIT),
    ("x**y <= 2", [*given(2), *known("x == 2", "y >= 1"), boxes("x**y <= 2", x=("x", 2, 2), y=("y", 1, 3))],
     {"x": 2, "y": 3}, ("x == 2", "y >= 1", "y <= 3")),
    ("2**y >= 8", [*given(2), boxes("2**y >= 8", y=("y", 1, 3))], {"y": 1}, ("y >= 1", "y <= 3")),
    ("2**y <= 2", [*given(2), boxes("2**y <= 2", y=("y", 1, 3))], {"y": 3}, ("y >= 1", "y <= 3")),
    ("y <= 1", [*given(2), boxes("y <= 1", x=("x", 0, 1))], {"x": 0, "y": 2}, UNIT),
    ("sum(i*x, (i, 1, 2)) <= 1", [*given(2), boxes("sum(i*s, (i, 1, 2)) <= 3", s=("x", 0, 1))], {"x": 1}, UNIT),
    ("x <= 22/7", [boxes("pi <= 22/7", x=("pi", 3, 4))], {"x": 4}, ()),
    ("1/1000 <= sin(22/7)", [boxes("-1/500 <= sin(22/7)"), boxes("1/1000 <= sin(22/7)")], {}, ()),

    # ---- whole: what is no integer
    ("x >= 1", [*given(1), ["whole", data("0 < x")]], {"x": mp.mpf(0.5)}, ("x > 0",)),
    ("n/2 >= 1", [*given(1), ["whole", data("0 < n/2")]], {"n": 1}, ("n > 0",)),
    ("1/n >= 1", [*given(1), ["whole", data("0 < 1/n")]], {"n": 2}, ("n > 0",)),
    ("sqrt(n) >= 2", [*given(1), ["whole", data("1 < sqrt(n)")]], {"n": 2}, ("sqrt(n) > 1",)),
    ("2**n >= 1", [["whole", data("0 < 2**n")]], {"n": -1}, ()),
    ("n >= 1", [*given(1), ["whole", data("0 < n")]], {"n": 0}, ("n >= 0",)),
    ("floor(x) >= 1", [*given(1), ["whole", data("0 < floor(x)")]], {"x": mp.mpf(0.5)}, ("x > 0",)),
    ("x - floor(x) >= 1", [*given(1), ["whole", data("0 < x - floor(x)")]], {"x": mp.mpf(0.5)}, ("x > floor(x)",)),

    # ---- cases: what is no alternative, what holds in one case alone, what is not defined
    ("x >= 0", [cases("x >= 0", "x", [])], {"x": -1}, ()),
    ("x >= 0", [cases("x >= 0", "x"), *known("x >= 0")], {"x": -1}, ()),
    ("x >= 0", [cases("x**2 >= 0", "x", *[[same("x**2 >= 0", (1, [], ["x"]))]] * 2), same("x >= 0", (1, [0], []))], {"x": -1},
     ()),
    ("x**2 > 0", [cases("x**2 > 0", "1/x")], {"x": 0}, ()),
    ("1/x <= 1 + 1/x", [cases("1/x <= 1 + 1/x", "x")], {"x": 0}, ()),
    ("x <= 1", [cases("x <= 1", 0, [["hypothesis", 1]])], {"x": 2}, (["or", data("x <= 1"), data("x >= 2")],)),
    ("x <= 1", [cases("x <= 1", 0, [])], {"x": 2}, ("x >= 2",)),
    ("x <= 1", [["hypothesis", 0]], {"x": 2}, (["or", data("x <= 1"), data("x >= 2")],)),
    ("x*y >= 0", [cases("x*y >= 0", "x", [cases("x*y >= 0", "y")], [cases("x*y >= 0", "y")])], {"x": 1, "y": -1}, ()),

    # ---- induction: the letter, the start, what is known of the letter, the goal in its own base
    ("x*(1 - x) <= 0", [*given(1), induction("x*(1 - x) <= 0", 0, [], [same("(x + 1)*(-x) <= 0", (1, [0, 0], []), (1, [0], []))],
                                             "x")], {"x": mp.mpf(0.5)}, ("x >= 0",)),
    ("n <= 8", [*given(1), induction("n <= 8", 0, [], SMALL_STEP)], {"n": 9}, ("n >= 0",)),
    ("n <= 8", [*given(2), induction("n <= 8", 0, [], SMALL_STEP)], {"n": 9, "x": 5}, ("x <= 7", "n >= 0")),
    ("n >= 1", [*given(1), induction("n >= 1", 0, [["hypothesis", 1]], [same("n + 1 >= 1", (1, [0], []))])], {"n": 0},
     ("n >= 0",)),
    ("n >= 1", [induction("n >= 1", 1, [], [same("n + 1 >= 1", (1, [0], []), (1, [], []))])], {"n": 0}, ()),
    ("n >= 1", [induction("n >= 1", "n", [["hypothesis", 0]], [same("n + 1 >= 1", (1, [0], []))])], {"n": 0}, ()),
    ("n >= 1", [*given(1), ["hypothesis", 1], induction("n >= 1", 0, [], [])], {"n": 0}, ("n >= 0",)),
    ("2**n <= 1", [*given(2), induction("2**n <= 1", 0, [], [["hypothesis", 2], same(
        "2**(n + 1) <= 1", ("1/3", [0], []), ("7/3", [2], []))])], {"n": 3}, ("n >= 0", "2**n >= 4")),
    ("sum(i, (i, 1, n)) <= 0", [*given(2), induction("sum(i, (i, 1, n)) <= 0", 0, [["last-term", data("sum(i, (i, 1, 0))")]],
     [["hypothesis", 2], ["last-term", data("sum(i, (i, 1, n + 1))")], same("sum(i, (i, 1, n + 1)) <= 0", ("1 + n", [0], []),
      ("2 + n", [2], []), (-1, [3], []))])], {"n": 2}, ("n >= 0", "sum(i, (i, 1, n)) >= 1")),
    ("m <= 4*n", [*given(2), induction("m <= 4*n", 0, [], [["hypothesis", 2], same("m <= 4*(n + 1)", (1, [1], []), (4, [], []))])],
     {"m": 1, "n": 0}, ("n >= 0", "m <= 1")),
    ("n <= x", [*given(2), induction("n <= x", 0, [same("0 <= x", (1, [1], []))], [["hypothesis", 1], same(
        "n + 1 <= x", (1, [1], []))])], {"n": 1, "x": mp.mpf(0.5)}, ("n >= 0", "x >= 0")),
]  # fmt: skip


def shown(claim: Any, proof: Any, letters: Any, hypotheses: Any = (), **more: Any) -> str:
    statement = {"letters": letters, "hypotheses": list(hypotheses), "claim": claim}
    verdict = check(json.dumps({"statement": statement, "proof": proof, **more}))
    return verdict.shows or verdict.reason


def names_of(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node[1:]:
            yield from names_of(part)
    elif isinstance(node, str) and node in SORTS:
        yield node


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize("place", range(len(FALSE)), ids=lambda place: f"{place}: {FALSE[place][0]}")
def test_a_false_statement_is_refused(place: int) -> None:
    claim, proof, point, hypotheses = FALSE[place]
    claim, *conditions = (data(one) if isinstance(one, str) else one for one in (claim, *hypotheses))
    at = {name: mp.mpf(value) for name, value in point.items()}
    assert all(holds(condition, at) for condition in conditions)
    with contextlib.suppress(ValueError, ZeroDivisionError):  # not defined at the point: a claim says that it is
        assert margin(claim, at) < 0 or (claim[0] in ("<", ">") and margin(claim, at) == 0)
    names = {*at, *(name for one in (claim, *conditions, *proof) for name in names_of(one))}
    verdict = shown(claim, proof, {name: sort for name, sort in SORTS.items() if name in names}, conditions)
    assert verdict != "proved"
    assert "ill formed" not in verdict


TRUE = [
    # a true claim, a point that does not refute it, sorts, hypotheses
    ("x <= 1", {"x": 2}, SORTS, ("x <= 1",)),
    ("1/x <= 1/x + 1", {"x": 0}, SORTS, ("x > 0",)),
    ("x/x == 1", {"x": 0}, SORTS, ("x**2 > 0",)),
    ("x >= floor(x)", {"x": ["^", 0, -1]}, SORTS, ()),
    ("n*(n - 1) >= 0", {"n": "1/2"}, SORTS, ()),
    ("n*(n - 1) >= 0", {"n": ["/", 1, 2]}, SORTS, ()),
    ("n*(n - 1) >= 0", {"n": ["sqrt", "1/4"]}, SORTS, ()),
    ("sqrt(x) <= 2", {"x": 4}, SORTS, ("x <= 4",)),
    ("x**2 <= 2", {"x": ["sqrt", 2]}, SORTS, ("x**2 <= 2",)),
    ("x**2 == 2", {"x": ["sqrt", 2]}, SORTS, ("x**2 == 2",)),
    ("x <= y", {"x": 1, "y": 0}, SORTS, (["or", data("x <= y"), ["and", data("x > y"), data("1/(x - y) < 0")]],)),
    ("log(x) <= x", {"x": -1}, SORTS, ()),
    ("sqrt(x) >= 0", {"x": -1}, SORTS, ()),
    ("0**x <= 1", {"x": 0}, SORTS, ()),
    ("x == x + 0*(1/x)", {"x": 0}, SORTS, ()),
    ("sum(i, (i, 1, n)) >= 0", {"n": -3}, SORTS, ()),
    ("x**3 + x >= -2", {"x": -1}, SORTS, ("x >= -1",)),
    ("sin(x) <= 1", {"x": ["/", "pi", 2]}, SORTS, ()),
]  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize("place", range(len(TRUE)), ids=lambda place: f"{place}: {TRUE[place][0]}")
def test_a_true_statement_is_not_refuted(place: int) -> None:
    claim, point, sorts, hypotheses = TRUE[place]
    conditions = [data(one) if isinstance(one, str) else one for one in hypotheses]
    letters = {name: sorts[name] for name in point}
    text = json.dumps(
        {
            "statement": {"letters": letters, "hypotheses": conditions, "claim": data(claim)},
            "counterexample": point,
        }
    )
    verdict = check(text)
    assert not verdict.accepted
    assert "ill formed" not in verdict.reason


@pytest.mark.fast
def test_false_statements_about_vectors_are_refused() -> None:
    dot, norm = ["dot", "u", "v"], ["norm", ["+", "u", "v"]]
    for claim, proof in (
        (["<", 0, ["dot", "v", "v"]], [["known", ["<", 0, ["dot", "v", "v"]]]]),
        (["<=", 0, dot], [["known", ["<=", 0, dot]]]),
        (["<=", 0, dot], [["identity", ["<=", 0, dot], [[1, [], [["norm", "u"]]]]]]),
        (["<=", dot, 0], [["identity", ["<=", dot, 0], [[1, [0], []]]]]),
        (["==", norm, ["+", ["norm", "u"], ["norm", "v"]]], []),
        (["==", ["norm", ["*", "x", "v"]], ["*", "x", ["norm", "v"]]], []),
        (["==", ["/", ["norm", "v"], ["norm", "v"]], 1], []),
        (["==", ["dot", ["/", "v", "x"], ["*", "x", "v"]], ["dot", "v", "v"]], []),
        (["<=", dot, ["*", ["norm", "u"], ["norm", "u"]]], []),
        (["<=", ["norm", "v"], 1], [["boxes", ["<=", ["norm", "s"], 1], {"s": ["v", 0, 1]}]]),
        (["<=", ["norm", "v"], 1], [["boxes", ["<=", ["norm", "s"], 1], {"s": ["x", 0, 1]}]]),
    ):
        assert shown(claim, proof, VECTORS) != "proved", claim


@pytest.mark.fast
def test_a_letter_that_is_replaced_leaves_nothing_false_behind() -> None:
    for claim, hypotheses, let in (
        ("x == 1/2", ("n == 1/2", "x == n"), [0]),  # an integer
        ("x <= 7", ("x == n", "n >= 0"), [0]),
        ("x == 0", ("x == x*y",), [0]),
        ("x == y", ("x == y**2", "y == x**2"), [0, 1]),
        ("x == 1", ("x <= 1",), [0]),
        ("sum(k*x, (k, 1, 2)) == sum(k*k, (k, 1, 2))", ("x == k",), [0]),
    ):
        stated = [data(one) for one in hypotheses]
        assert shown(data(claim), given(len(stated)), SORTS, stated, let=let) != "proved", claim
