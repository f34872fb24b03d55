"""What the checker takes for defined, known and shown, at points on the boundary of the hypotheses: 0, 1, negative numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from certificate_pieces import holds, value
from mpmath import mp
from seeds import SEED

from bilevel_check.context import Context
from bilevel_check.ring import Atom, Poly
from bilevel_check.rules import ILL_FORMED, Proof
from bilevel_check.terms import Refused, tree, work

SORTS = {"x": "real", "y": "real", "z": "real", "n": "integer"}
GRID = [mp.mpf(v) / 2 for v in (-4, -2, -1, 0, 0, 1, 2, 4, 6)]
NUMBERS = [0, 1, 2, 3, 4, -1, -2, "1/2", "-1/3"]
EXPONENTS = [2, 3, 0, -1, -2, "1/2", "3/2", "-1/2", "1/3", "x", "y", "n"]
ENDS = ([1, 0, "n", 2, -1], ["n", 3, ["+", "n", -1], ["+", 2, ["neg", "n"]], 0])
SIGNS = [[">=", 0], [">", 0], ["<", 0], [">=", 1]]
MORE = [["<=", "x", "y"], ["<=", ["*", "x", "y"], 1], ["==", ["*", "x", "y"], 0], [">=", ["+", "x", "n"], 0],
        [">", ["+", 1, ["neg", "x"]], 0], [">=", ["*", "z", ["+", 1, "x"]], 0]]  # fmt: skip
NEAR = mp.mpf(10) ** -25


def drawn(draw: random.Random, depth: int, bound: tuple[str, ...] = ()) -> Any:
    """An expression of which nobody knows whether it is defined."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice([*SORTS, *SORTS, *bound, draw.choice(NUMBERS)])
    one, other = (drawn(draw, depth - 1, bound) for _ in range(2))
    power = ["^", one, draw.choice([*EXPONENTS, other])]
    kinds = [["+", one, other], ["*", one, other], ["/", one, other], power, power, ["sqrt", one], ["log", one],
             ["neg", one], ["max", one, other], ["abs", one], ["floor", one], ["min", one, other], ["mod", one, other]]  # fmt: skip
    if len(bound) < 2 and draw.random() < 0.1:
        index = draw.choice(["i", "j", "x", "n"])
        return ["sum", drawn(draw, depth - 1, (*bound, index)), index, *(draw.choice(ends) for ends in ENDS)]
    return draw.choice(kinds)


def at_points(draw: random.Random, hypotheses: list[Any], count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(200):
        at = {name: mp.mpf(draw.randint(-2, 4)) if name == "n" else draw.choice(GRID) for name in SORTS}
        if all(holds(one, at) for one in hypotheses):
            found.append(at)
    return found[:count]


def of_element(p: Poly, at: dict[str, Any]) -> Any:
    """The value of an element; ZeroDivisionError or ValueError where a monomial has none."""
    total = mp.mpf(0)
    for m, c in p.terms.items():
        term = mp.mpf(c.numerator) / c.denominator
        for a, e in m:
            base, power = (
                _atom(a, at),
                mp.mpf(e.numerator) / e.denominator if isinstance(e, Fraction) else of_element(e, at),
            )
            base = mp.mpf(0) if abs(base) < NEAR else base
            if base < 0 and not mp.isint(power):
                raise ValueError("a power of a negative number")
            term *= base**power
        total += term
    return total


def _atom(a: Atom, at: dict[str, Any]) -> Any:
    if a.kind == "letter":
        return at[a.args[0]]
    if a.kind == "prime":
        return mp.mpf(a.args[0])
    if a.kind == "sum":
        body, index, *ends = a.args
        first, last = (int(mp.nint(of_element(end, at))) for end in ends)
        return mp.fsum(of_element(body, {**at, index: mp.mpf(i)}) for i in range(first, last + 1))
    inside = [of_element(part, at) for part in a.args]
    if a.kind == "log" and inside[0] <= NEAR:
        raise ValueError("log")
    return (
        {"compound": inside[0], "max": max(inside)}[a.kind]
        if a.kind in ("compound", "max")
        else getattr(mp, a.kind)(inside[0])
    )


def agrees(element: Poly, op: str, at: dict[str, Any]) -> bool:
    """Whether ``element op 0`` at a point, up to rounding."""
    found = of_element(element, at)
    room = NEAR * (1 + abs(found))
    return bool({">=": found >= -room, ">": found > 0, "==": abs(found) <= room, "!=": found != 0}[op])


def lines(draw: random.Random, proof: Proof, at: Context, trees: list[Any]) -> Iterator[None]:
    """Lines of a proof drawn without sense; after each that is accepted the caller looks at what it added."""
    for _ in range(8):
        one, other = draw.choice(trees), draw.choice(trees)
        other = draw.choice([other, ["*", 2, one], ["+", 1, one], ["^", one, 2], draw.choice(NUMBERS)])
        goal = [draw.choice(["<=", "<", ">=", ">", "=="]), one, other]
        which = draw.choice([one, "x", ["+", "x", -1], ["+", one, ["neg", other]]])
        line = draw.choice([["known", goal], ["raise", goal, draw.choice(EXPONENTS)], ["whole", goal], ["last-term", one],
                            ["cases", goal, which, [[], []]], ["identity", goal, [[draw.choice([1, "x", other]), [0], []]], one]])  # fmt: skip
        work.left = 60_000
        try:
            proof.run(at, [line])
        except (Refused, *ILL_FORMED):
            continue
        yield


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.fast
@pytest.mark.parametrize("part", range(6))
def test_what_is_accepted_holds_on_the_boundary_too(part: int) -> None:
    draw, made, shown = random.Random(SEED + part), 0, 0
    for _ in range(30):
        hypotheses = [[sign[0], name, sign[1]] for name in SORTS if (sign := draw.choice([*SIGNS, None]))]
        hypotheses += draw.sample(MORE, draw.choice([0, 0, 1]))
        points, at, proof = at_points(draw, hypotheses, 6), Context(SORTS), Proof(hypotheses)
        proof.run(at, [["hypothesis", place] for place in range(len(hypotheses))])
        elements: list[Any] = []
        for _ in range(8):
            node, work.left = drawn(draw, draw.choice([1, 2, 2, 3])), 60_000
            try:
                elements.append((node, at.of(tree(node))))
            except (Refused, RecursionError):
                continue
            for point in points:
                want, found = value(node, point), of_element(elements[-1][1], point)  # raises where it is not defined
                assert abs(want - found) <= NEAR * (1 + abs(want)), (hypotheses, node, point)
                made += 1
        for one, p in elements:
            for op in (">=", ">", "!="):
                work.left = 60_000
                if at.known(p, op):
                    assert all(agrees(p, op, point) for point in points), (hypotheses, one, op)
                    shown += 1
        count = len(at.facts)
        for _ in lines(draw, proof, at, [node for node, _ in elements] or ["x"]):
            assert all(agrees(*fact, point) for fact in at.facts[count:] for point in points), (
                hypotheses,
                at.facts[count:],
            )
            for op, small, large in at.proved:
                for point in points:
                    assert holds(["<=" if op == ">=" else "<" if op == ">" else op, _data(small), _data(large)], point)
            shown += len(at.facts) - count
    assert made >= 100
    assert shown >= 50


def _data(node: Any) -> Any:
    return (
        [node[0], *map(_data, node[1:])]
        if isinstance(node, tuple)
        else str(node)
        if isinstance(node, Fraction)
        else node
    )
