"""Lowering: from mathematical instructions to what a machine does, just before code is generated.

Integer powers become products, roots become ``sqrt``, the stable atoms become a few operations that they share
(``softplus``, ``sigmoid`` and its derivative at the same point cost one exponential). Atoms without a
rule here stay ``atom`` instructions and are printed as calls of their scalar kernels.

Lowered graphs know one more operation: ``call``, ``value`` = a function of one argument (``exp sqrt log1p``...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import sympy

from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.numbers.powers import whole_power
from bilevel_verify.symbolic.graph import ONE, ZERO, Graph
from bilevel_verify.symbolic.program import Program, finish


def lower(program: Program) -> Program:
    """The same function in machine operations."""
    return _Lowering(program).run()


class _Lowering:
    def __init__(self, program: Program) -> None:
        self.source = program
        self.graph = Graph(program.inputs)
        self.place: list[int] = []

    def run(self) -> Program:
        for instruction in self.source.instructions:
            args = tuple(self.place[a] for a in instruction.args)
            self.place.append(self._rewrite(instruction.op, args, instruction.value, instruction.args))
        return finish(self.graph, [self.place[o] for o in self.source.outputs], self.source.shape)

    def call(self, name: str, a: int) -> int:
        return self.graph.emit("call", (a,), name)

    def _rewrite(self, op: str, args: tuple[int, ...], value: object, original: tuple[int, ...]) -> int:
        graph = self.graph
        match op:
            case "add":
                return graph.add(args)
            case "mul":
                return graph.mul(args)
            case "neg":
                return graph.neg(args[0])
            case "div":
                return graph.div(args[0], args[1])
            case "pow":
                assert isinstance(value, Fraction)
                return self.power(args[0], value)
            case "logsumexp":
                top, total = self.shifted_sum(args)
                return graph.add((top, self.call("log", total)))
            case "atom":
                assert isinstance(value, tuple)
                name, order, parameters = value
                return self.atom(name, order, parameters, args[0], original[0])
            case "const":
                return graph.const(value)
        return graph.emit(op, args, value)

    def power(self, a: int, exponent: Fraction) -> int:
        """Products for integers, ``sqrt`` for halves, a real power (NaN below zero) for the rest."""
        graph = self.graph
        if exponent.denominator == 1:
            return self.product(a, int(exponent))
        if exponent.denominator == 2:
            root, whole = self.call("sqrt", a), int(exponent)
            return graph.mul((self.product(a, whole), root)) if whole else root
        return graph.emit("real_power", (a,), exponent)

    def product(self, a: int, n: int) -> int:
        """``a ** n`` by squaring, least significant bit first."""
        return int(whole_power(a, n, lambda one, other: self.graph.mul((one, other))))

    def shifted_sum(self, args: Sequence[int]) -> tuple[int, int]:
        """Largest argument, and the sum of exponentials of the differences to it."""
        graph, top = self.graph, args[0]
        for other in args[1:]:
            top = graph.emit("max", (top, other))
        return top, graph.add(self.call("exp", graph.sub(a, top)) for a in args)

    def softmax(self, argument: int) -> int | None:
        """``exp(a_i - logsumexp(a))`` as a quotient, if ``argument`` (in the source) is of that form."""
        difference = self.source.instructions[argument]
        if difference.op != "add" or len(difference.args) != 2:
            return None
        for a, minus in (difference.args, difference.args[::-1]):
            negated = self.source.instructions[minus]
            inner = self.source.instructions[negated.args[0]] if negated.op == "neg" else None
            if inner is not None and inner.op == "logsumexp" and a in inner.args:
                top, total = self.shifted_sum([self.place[b] for b in inner.args])
                return self.graph.div(self.call("exp", self.graph.sub(self.place[a], top)), total)
        return None

    def decay(self, t: int) -> tuple[int, int, int]:
        """``t >= 0``, ``e = exp(-|t|)`` and ``r = 1/(1 + e)``."""
        graph = self.graph
        e = self.call("exp", graph.neg(graph.emit("abs", (t,))))
        r = graph.div(graph.const(ONE), graph.add((graph.const(ONE), e)))
        return graph.compare("le", graph.const(ZERO), t), e, r

    def atom(self, name: str, order: int, parameters: tuple[object, ...], t: int, original: int) -> int:
        """Machine operations of an atom, or the atom itself."""
        if name == "exp":
            ratio = self.softmax(original)
            return self.call("exp", t) if ratio is None else ratio
        if order == 0 and name in TRANSCENDENTAL:
            return self.call(name, t)
        rule = RULES.get((name, order))
        if rule is not None:
            return rule(self, t)
        if name in ("abspow", "sgnpow", "pluspow") and isinstance(parameters[0], Fraction):
            found = self.one_sided_power(name, order, parameters[0], t)
            if found is not None:
                return found
        return self.graph.atom(name, t, order, parameters)

    def one_sided_power(self, name: str, order: int, p: Fraction, t: int) -> int | None:
        """``|t|^p``, ``sgn(t)|t|^p``, ``max(t,0)^p`` and derivatives, if products and roots suffice."""
        graph, rest = self.graph, p - order
        if rest < 0 or rest.denominator > 2:
            return None
        factor = ONE
        for j in range(order):
            factor *= p - j
        scaled = graph.const(factor)
        if name == "pluspow":
            zero = graph.const(ZERO)
            size = graph.select(graph.compare("lt", zero, t), t, zero)
            step = graph.select(graph.compare("lt", zero, t), graph.const(ONE), zero)
            return graph.mul((scaled, self.power(size, rest) if rest else step))
        odd = (name == "sgnpow") == (order % 2 == 0)
        parts = [scaled]
        if rest:
            parts.append(self.power(graph.emit("abs", (t,)), rest))
        if odd:
            parts.append(graph.emit("sign", (t,)))
        return graph.mul(parts)


def _softplus(low: _Lowering, t: int) -> int:
    graph = low.graph
    positive, e, _ = low.decay(t)
    return graph.add((graph.select(positive, t, graph.const(ZERO)), low.call("log1p", e)))


def _sigmoid(low: _Lowering, t: int) -> int:
    positive, e, r = low.decay(t)
    return low.graph.select(positive, r, low.graph.mul((e, r)))


def _sigmoid_slope(low: _Lowering, t: int) -> int:
    _, e, r = low.decay(t)
    return low.graph.mul((e, r, r))


def _tanh_slope(low: _Lowering, t: int) -> int:
    graph = low.graph
    _, e, r = low.decay(graph.mul((graph.const(Fraction(2)), t)))
    return graph.mul((graph.const(Fraction(4)), e, r, r))


def _tan_slope(low: _Lowering, t: int) -> int:
    return low.graph.add((low.graph.const(ONE), low.product(low.call("tan", t), 2)))


def _atan_slope(low: _Lowering, t: int) -> int:
    graph = low.graph
    return graph.div(graph.const(ONE), graph.add((graph.const(ONE), low.product(t, 2))))


def _erf_slope(low: _Lowering, t: int) -> int:
    graph = low.graph
    return graph.mul((graph.const(2 / sympy.sqrt(sympy.pi)), low.call("exp", graph.neg(low.product(t, 2)))))


RULES: dict[tuple[str, int], Callable[[_Lowering, int], int]] = {
    ("softplus", 0): _softplus,
    ("sigmoid", 0): _sigmoid,
    ("sigmoid", 1): _sigmoid_slope,
    ("tanh", 1): _tanh_slope,
    ("tan", 1): _tan_slope,
    ("atan", 1): _atan_slope,
    ("erf", 1): _erf_slope,
}
