"""Directions in log-space along which one monomial outgrows another, decided exactly.

The rows of a regime and the gaps between the exponents are linear in the direction; letters in the exponents become
variables of the same problem. Arithmetic is exact (an SMT solver over the rationals), so that "no direction" is a
proof, and the ray of a counterexample is the shortest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, lcm
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import sympy

from bilevel_verify.audit.orders.monomials import (
    ZERO,
    Clauses,
    Form,
    K,
    LogArgument,
    Monomial,
    NoOrder,
    Ray,
    Regime,
)
from bilevel_verify.audit.orders.starts import inside
from bilevel_verify.audit.patience import ask

if TYPE_CHECKING:
    import z3

Positive = Literal["", "certainly", "perhaps"]
RESOURCES = 3_000_000
LATEST = 5_000.0
"""Work of one question to the solver, in its own units and in counted milliseconds: some steps count no units."""


def separate(
    clause: tuple[Monomial, ...], maximum: tuple[Monomial, ...], regime: Regime, signed: bool = False
) -> Ray | None:
    """A direction in which every monomial of ``clause`` outgrows every monomial of ``maximum``; None if there is none.

    Parameters
    ----------
    signed : only directions along which no monomial of ``clause`` is negative.

    Raises
    ------
    NoOrder : a letter of which the regime says nothing, exponents on which the solver gives up, or no direction but
        where logarithms grow at speeds of their own.
    """
    import z3

    pairs = list(product(clause, maximum))
    _known_letters(pairs, regime)
    ray = _found(z3, pairs, regime, "certainly" if signed else "")
    if ray is None and signed and any(power.is_odd for one, _ in pairs for _, power in one.signs):
        ray = _found(z3, pairs, regime, "perhaps")
    if ray is None:
        _one_speed(z3, pairs, regime, "perhaps" if signed else "")
    if ray is None or not any(a.vague for pair in pairs for m in pair for a in m.logs):
        return ray
    ray = _found(z3, pairs, regime, "certainly" if signed else "", certain=True)
    if ray is None:
        raise NoOrder("a logarithm of something whose size is not known")
    return ray


def _found(
    z3: ModuleType, pairs: list[tuple[Monomial, Monomial]], regime: Regime, positive: Positive, certain: bool = False
) -> Ray | None:
    problem = Directions(z3, pairs, regime, positive, certain)
    if not regime.exponents:
        return problem.shortest({})
    answer = problem.any_exponents()
    if answer == z3.unsat:
        return None
    for values in _grid(regime.exponents) if regime.grid is None else regime.grid:
        ray = problem.shortest(values)
        if ray is not None:
            return ray
    raise NoOrder("no ray on a grid of the exponents, and no proof between its points")


def _one_speed(z3: ModuleType, pairs: list[tuple[Monomial, Monomial]], regime: Regime, positive: Positive) -> None:
    """See that no curve separates either: ``log(a) = s**3, log(b) = s**5``, where each ray has one speed.

    One pair is decided along a ray: what logarithms add is linear in the speeds, so that speeds 0 and 1 are enough.

    Raises
    ------
    NoOrder : a curve may.
    """
    arguments = {argument for pair in pairs for m in pair for argument in m.logs}
    speeds = min(len(pairs), len(arguments))
    if speeds > 1 and Directions(z3, pairs, regime, positive, False, speeds).any_exponents() != z3.unsat:
        raise NoOrder("logarithms that grow at speeds of their own")


def _known_letters(pairs: list[tuple[Monomial, Monomial]], regime: Regime) -> None:
    """What does not cancel must be made of letters of the regime, inside of logarithms too."""
    for one, other in pairs:
        for name in (one.exponents.keys() | other.exponents.keys()) - set(regime.letters):
            if not _agree(one.exponents, other.exponents, name):
                raise NoOrder(f"the regime does not say how {name} grows")
        for argument in one.logs.keys() | other.logs.keys():
            unknown = sorted(argument.letters.difference(regime.letters, regime.exponents))
            if unknown and not _agree(one.logs, other.logs, argument):
                raise NoOrder(f"the regime does not say how {unknown[0]} grows")


def _agree(one: Mapping[K, sympy.Expr], other: Mapping[K, sympy.Expr], key: K) -> bool:
    gap = sympy.sympify(one.get(key, 0)) - sympy.sympify(other.get(key, 0))
    return bool(sympy.cancel(gap) == 0)


class Directions:
    """The linear problem of one pair of branches.

    Attributes
    ----------
    positive : whether the smaller side may be negative (""), has to be "certainly" or "perhaps" positive.
    certain : logarithms of unknown size count against the ray.
    slower : with several speeds, the letters move along ``sum s**speed_k * direction_k``: the directions before the
        last, each of which moves less than the next.
    """

    def __init__(
        self,
        z3: ModuleType,
        pairs: list[tuple[Monomial, Monomial]],
        regime: Regime,
        positive: Positive,
        certain: bool,
        speeds: int = 1,
    ) -> None:
        self.z3, self.pairs, self.regime, self.sign, self.certain = z3, pairs, regime, positive, certain
        # a context of its own and one order of what is asserted: the answer depends on no question asked before
        self.context = z3.Context()
        self.direction = {name: self.real(f"u_{name}") for name in sorted(regime.letters)}
        letters = sorted(regime.letters)
        self.slower = [{name: self.real(f"u{k}_{name}") for name in letters} for k in range(1, speeds)]
        self.exponents = {name: self.real(f"e_{name}") for name in sorted(regime.exponents)}

    def real(self, name: str) -> z3.ArithRef:
        """A real unknown."""
        return self.z3.Real(name, self.context)

    def solver(self) -> z3.Solver:
        """A solver whose work is limited."""
        return _limited(self.z3.Solver(ctx=self.context))

    def ask(self, solver: z3.Solver) -> z3.CheckSatResult:
        """What a solver says; ``unknown`` where it needs more work than it has."""
        return ask(self.z3, solver, LATEST, self.context).said

    def any_exponents(self) -> z3.CheckSatResult:
        """Whether there is a direction for any value of the exponent letters in their ranges."""
        solver = self.solver()
        for name, (low, high) in self.regime.exponents.items():
            solver.add(self.exponents[name] >= self.number(low), self.exponents[name] <= self.number(high))
        solver.add(*self.constraints(None))
        return self.ask(solver)

    def shortest(self, values: Mapping[str, Fraction]) -> Ray | None:
        """The shortest direction (sum of absolute exponents) at fixed exponents, as whole numbers."""
        z3 = self.z3
        try:
            constraints = self.constraints(values)
        except ZeroDivisionError:
            return None
        solver = self.solver()
        solver.add(*constraints)
        answer = self.ask(solver)
        if answer == z3.unsat:
            return None
        if answer != z3.sat:
            raise NoOrder("the solver gave up on the directions")
        optimum = _limited(z3.Optimize(ctx=self.context))
        optimum.add(*constraints)
        sizes = {name: self.real(f"size_{name}") for name in self.direction}
        for name, size in sizes.items():
            optimum.add(size >= self.direction[name], size >= -self.direction[name])
        optimum.minimize(z3.Sum(list(sizes.values())))
        model = optimum.model() if self.ask(optimum) == z3.sat else solver.model()
        return self.ray(model, values)

    def constraints(self, values: Mapping[str, Fraction] | None) -> list[z3.BoolRef]:
        z3, found = self.z3, []
        for along in self.along():
            for row in sorted(self.regime.rows, key=lambda row: sorted(row.items())):
                found.append(z3.Sum([self.number(v) * along[n] for n, v in sorted(row.items())]) >= 0)
            found += [along[name] == 0 for name in sorted(self.regime.fixed & along.keys())]
            found += [self.slope(clauses, along) >= 0 for clauses in sorted(self.regime.rising)]
        found += [one >= two for one, two in pairwise([*self.speeds(), self.number(ZERO)])]
        if self.sign:
            found += [self.positive(one) for one, _ in self.pairs]
        for argument in sorted({a for pair in self.pairs for m in pair for a in m.logs}, key=self.name):
            found.append(self.counted(argument))
        for one, other in self.pairs:
            found.append(self.faster(one, other, values))
        return found

    def along(self) -> list[dict[str, z3.ArithRef]]:
        """The directions, the fastest first."""
        return [*self.slower, self.direction]

    def speeds(self) -> list[z3.ArithRef]:
        """The speed of every direction; the first is 1."""
        return [self.number(Fraction(1)), *(self.real(f"speed_{k}") for k in range(1, len(self.slower) + 1))]

    def counted(self, argument: LogArgument) -> z3.BoolRef:
        """A logarithm counts as the first speed that moves its argument, 1 along a ray, and 0 where all keep it."""
        z3, count = self.z3, self.count(argument)
        ways: list[object] = []
        kept: list[object] = []
        for speed, along in zip(self.speeds(), self.along()):
            moves, stays = self.moves(argument, along)
            unknown = argument.vague and self.slower
            ways.append(z3.And(*kept, count <= speed if unknown else count == speed, count >= 0, moves))
            kept.append(stays)
        if argument.vague and not self.certain:
            kept = []
        found = [z3.Or(*ways, z3.And(count == 0, *kept))]
        for one, two in pairwise(self.along()):  # what moves goes on moving
            found.append(z3.Or(self.moves(argument, one)[1], self.moves(argument, two)[0]))
        return z3.And(*found)

    def count(self, argument: LogArgument) -> z3.ArithRef:
        return self.real(self.name(argument))

    def name(self, argument: LogArgument) -> str:
        """What tells a logarithm from the others."""
        return f"log {sorted(argument.letters)} {argument.clauses}"

    def moves(self, argument: LogArgument, along: dict[str, z3.ArithRef]) -> tuple[z3.BoolRef, z3.BoolRef]:
        """Conditions for a logarithm to grow, and for it to stay bounded (rays may be as long as one likes)."""
        z3 = self.z3
        if argument.vague:
            steps = [along[n] for n in sorted(argument.letters) if n in along]
        else:
            steps = [self.slope(argument.clauses, along)]
        no, yes = z3.BoolVal(False, self.context), z3.BoolVal(True, self.context)
        return z3.Or([no, *(z3.Or(s >= 1, s <= -1) for s in steps)]), z3.And([yes, *(s == 0 for s in steps)])

    def written(self) -> list[Clauses]:
        """What the logarithms are taken of that should be positive where a family sets out."""
        return sorted({*self.regime.rising, *(clauses for one, _ in self.pairs for clauses, _ in one.signs)})

    def slope(self, clauses: Clauses, direction: Mapping[str, z3.ArithRef] | None = None) -> z3.ArithRef:
        """The exponent of t of a maximum over minima of monomials."""
        return _fold(self.z3, [self.extreme(clause, True, direction) for clause in clauses], least=False)

    def positive(self, monomial: Monomial) -> z3.BoolRef:
        """Whether an even number of its logarithms are negative; only whole powers of negative ones are defined.

        One whose argument stays has a sign that the direction does not tell: perhaps the right one.
        """
        z3, negative, defined, unknown = self.z3, self.z3.BoolVal(False, self.context), [], []
        for clauses, power in monomial.signs:
            falls, stays = self.falls(clauses)
            if not power.is_Integer:
                defined.append(z3.Not(falls))
            elif power % 2:
                negative = z3.Xor(negative, falls)
                unknown += [stays] if self.sign == "perhaps" else []
        return z3.And(z3.Or(z3.Not(negative), *unknown), *defined)

    def falls(self, clauses: Clauses) -> tuple[z3.BoolRef, z3.BoolRef]:
        """Whether what a logarithm is taken of falls in the end, and whether it stays."""
        falls, stays = self.z3.BoolVal(False, self.context), self.z3.BoolVal(True, self.context)
        for along in reversed(self.along()):
            slope = self.slope(clauses, along)
            falls = self.z3.Or(slope < 0, self.z3.And(slope == 0, falls))
            stays = self.z3.And(slope == 0, stays)
        return falls, stays

    def extreme(
        self, forms: tuple[Form, ...], least: bool, direction: Mapping[str, z3.ArithRef] | None = None
    ) -> z3.ArithRef:
        along = self.direction if direction is None else direction
        known = [[(n, e) for n, e in form if n in along] for form in forms]
        values = [self.z3.Sum([self.number(ZERO), *(self.number(e) * along[n] for n, e in f)]) for f in known]
        return _fold(self.z3, values, least)

    def faster(self, one: Monomial, other: Monomial, values: Mapping[str, Fraction] | None) -> z3.BoolRef:
        """``one`` grows faster than ``other``: by a power, or by logarithms of what moves."""
        z3 = self.z3
        rates = [self.rate(one, other, values, along) for along in self.along()]
        rate, counted = rates[-1], []
        for argument in sorted(one.logs.keys() | other.logs.keys(), key=self.name):
            gap = sympy.cancel(sympy.sympify(one.logs.get(argument, 0)) - sympy.sympify(other.logs.get(argument, 0)))
            if gap == 0 or (self.certain and argument.vague and _positive_at(gap, values)):
                continue
            counted.append(self.coefficient(gap, values) * self.count(argument))
        before = [r >= 0 for r in rates[:-1]]
        if not counted:
            return z3.And(rate >= 1, *before)
        return z3.And(z3.Or(rate >= 1, z3.And(rate >= 0, z3.Sum(counted) > 0)), *before)

    def rate(
        self,
        one: Monomial,
        other: Monomial,
        values: Mapping[str, Fraction] | None,
        along: dict[str, z3.ArithRef],
    ) -> z3.ArithRef:
        terms = []
        for name, u in along.items():
            gap = sympy.cancel(sympy.sympify(one.exponents.get(name, 0)) - sympy.sympify(other.exponents.get(name, 0)))
            if gap != 0:
                terms.append(self.coefficient(gap, values) * u)
        return self.z3.Sum(terms) if terms else self.number(Fraction(0))

    def coefficient(self, gap: sympy.Expr, values: Mapping[str, Fraction] | None) -> z3.ArithRef:
        if values is not None:
            put = {sympy.Symbol(n): sympy.Rational(v.numerator, v.denominator) for n, v in values.items()}
            number = gap.subs(put)
            if not number.is_Rational:
                raise ZeroDivisionError
            return self.number(Fraction(int(number.p), int(number.q)))
        top, bottom = sympy.fraction(sympy.together(gap))
        return self.polynomial(top) / self.polynomial(bottom)

    def polynomial(self, value: sympy.Expr) -> z3.ArithRef:
        if value.is_Rational:
            return self.number(Fraction(int(value.p), int(value.q)))
        if value.is_Symbol:
            return self.exponents[value.name]
        parts = [self.polynomial(a) for a in value.args] if not value.is_Pow else []
        if value.is_Add:
            return self.z3.Sum(parts)
        total = self.number(Fraction(1))
        for part in parts or [self.polynomial(value.base)] * int(value.exp):
            total = total * part
        return total

    def number(self, value: Fraction) -> z3.RatNumRef:
        return self.z3.RealVal(f"{value.numerator}/{value.denominator}", self.context)

    def ray(self, model: z3.ModelRef, values: Mapping[str, Fraction]) -> Ray:
        found = {}
        for name, u in self.direction.items():
            number = model.eval(u, model_completion=True)
            value = Fraction(number.numerator_as_long(), number.denominator_as_long())
            if value:
                found[name] = value
        scale = Fraction(lcm(*(v.denominator for v in found.values())), 1) if found else Fraction(1)
        scale /= gcd(*(int(v * scale) for v in found.values())) or 1
        direction = {n: v * scale for n, v in found.items()}
        rates, logs = [], []
        for one, other in self.pairs:
            (a, p), (b, q) = one.at(values), other.at(values)
            rates.append(sum((v * (a.get(n, ZERO) - b.get(n, ZERO)) for n, v in direction.items()), ZERO))
            moving = [g for g in p.keys() | q.keys() if g.moved_by(direction)]
            logs.append(sum((p.get(g, ZERO) - q.get(g, ZERO) for g in moving), ZERO))
        logs_met = any(m.logs for pair in self.pairs for m in pair)
        start = inside(self, bool(logs_met))
        return Ray(direction, min(rates), min(logs), dict(values), start, self.regime.letters)


def _limited(solver: z3.Solver) -> z3.Solver:
    """A solver whose work is limited."""
    solver.set("rlimit", RESOURCES)
    return solver


def _positive_at(gap: sympy.Expr, values: Mapping[str, Fraction] | None) -> bool:
    """Whether a power is positive at given exponents; where they are not given, whether it is a positive number."""
    put = {sympy.Symbol(n): sympy.Rational(v.numerator, v.denominator) for n, v in (values or {}).items()}
    return bool(gap.subs(put).is_positive)


def _fold(z3: ModuleType, values: list[z3.ArithRef], least: bool) -> z3.ArithRef:
    """The least or the largest of some linear forms."""
    found = values[0]
    for value in values[1:]:
        found = z3.If(value < found if least else value > found, value, found)
    return found


def _grid(exponents: Mapping[str, tuple[Fraction, Fraction]]) -> list[dict[str, Fraction]]:
    steps = [Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)]
    names = list(exponents)
    axes = [[lo + (hi - lo) * s for s in steps] for lo, hi in exponents.values()]
    return [dict(zip(names, choice)) for choice in product(*axes)]
