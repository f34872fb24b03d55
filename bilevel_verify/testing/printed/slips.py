"""The slips that people make when they type a pseudo-code: one change to one line, as altered pseudo-code.

They are the catalogue with which a difference is explained, and the mutants with which the kit tests itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.text import to_text
from bilevel_verify.testing.printed.library import Printed
from bilevel_verify.testing.printed.library import printed as pseudocode
from bilevel_verify.testing.printed.order import independent
from bilevel_verify.testing.printed.running import Place
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import moved_limit, with_child

Change = tuple[str, tree.Node]
"""Name of an operator, and the altered node."""
STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
EXTREMES = {"argmin": "argmax", "argmax": "argmin", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}
TWINS = {
    "grad_y_g": ("grad_y_f", "grad_y_L"),
    "grad_y_L": ("grad_y_g",),
    "grad_x_f": ("grad_x_g",),
    "grad_x_g": ("grad_x_f",),
    "grad_y_f": ("grad_y_g",),
    "hess_yy_g": ("hess_xy_g",),
    "grad_f": ("grad_g",),
    "grad_g": ("grad_f",),
}
LETTERS = {
    "alpha": ("beta", "alpha_p"),
    "beta": ("alpha", "beta_p"),
    "alpha_p": ("alpha",),
    "beta_p": ("beta",),
    "eta": ("alpha", "eta_y", "eta_x"),
    "eta_x": ("eta_y",),
    "eta_y": ("eta_x",),
    "T_0": ("T_k", "Tp_0"),
    "T_k": ("T_0", "Tp_k"),
    "Tp_0": ("Tp_k",),
    "Tp_k": ("Tp_0",),
    "K1": ("K2",),
    "K2": ("K1",),
    "l1": ("l2",),
    "l2": ("l1",),
    "kappa1": ("kappa2",),
    "kappa2": ("kappa1",),
    "L_f": ("L_g",),
    "B": ("B0",),
    "B0": ("B",),
    "D": ("N_cg",),
    "N_cg": ("D",),
}
"""Letters that are taken for each other."""


@dataclass(frozen=True)
class Slip:
    """One slip: its operator, its line, the part before and after, and the pseudo-code with it."""

    operator: str
    place: Place
    before: str
    after: str
    printed: Printed

    @property
    def name(self) -> str:
        """Which slip of which method."""
        return (
            f"{self.printed.method}, {self.place} ({self.place.number}): {self.operator}: {self.before} -> {self.after}"
        )

    def __str__(self) -> str:
        after = f" instead of {self.before}" if self.before else ""
        return f"{self.place}: {self.operator}: {self.after or 'nothing'}{after}"


@cache
def slips_of(method: str) -> tuple[Slip, ...]:
    """Every slip of the catalogue in the pseudo-code of a method and in the algorithms that it calls, each once."""
    printed = pseudocode(method)
    if printed is None:
        return ()
    found: dict[tuple[Any, ...], Slip] = {}
    for inside in ("", *sorted(_called_by(printed))):
        algorithm = printed.library[inside] if inside else printed.algorithm
        context = _Context(algorithm.program, algorithm.needs)
        for operator, place, before, after, statements in context.block(algorithm.program.statements):
            program = script.Program(statements, algorithm.program.text)
            if program == algorithm.program:
                continue
            changed = replace(algorithm, program=program)
            whole = (
                replace(printed, library={**printed.library, inside: changed})
                if inside
                else replace(printed, algorithm=changed)
            )
            key = (inside, statements)
            found.setdefault(key, Slip(operator, Place(place.label, place.number, inside), before, after, whole))
    return tuple(found.values())


def _called_by(printed: Printed) -> set[str]:
    """Names of the called algorithms, however deep."""
    found: set[str] = set()
    waiting = [printed.algorithm]
    while waiting:
        algorithm = waiting.pop()
        for statement in algorithm.program.walk():
            for expression in script.expressions_of(statement):
                for name in tree.functions(expression) & printed.library.keys() - found:
                    found.add(name)
                    waiting.append(printed.library[name])
    return found


Edit = tuple[str, Place, str, str, tuple[script.Statement, ...]]


class _Context:
    """What is known of a program: its sequences and the letters it is given."""

    def __init__(self, program: script.Program, needs: tuple[str, ...]) -> None:
        self.needs = set(needs)
        targets = [t for s in program.walk() if isinstance(s, script.Assign) for t in s.targets]
        self.sequences = {t.base: len(t.indices) for t in targets if isinstance(t, tree.Index)}

    def block(self, statements: tuple[script.Statement, ...]) -> Iterator[Edit]:
        """One edit somewhere in a block, with the whole block after it."""
        for i, statement in enumerate(statements):
            before, after = statements[:i], statements[i + 1 :]
            for operator, place, old, new, changed in self.statement(statement):
                yield operator, place, old, new, (*before, *changed, *after)
            place = Place(statement.label, statement.number)
            if isinstance(statement, script.Assign):
                for old, new, parts in self.kept(statement):
                    yield "momentum kept over a restart", place, old, new, (*before, *parts, *after)
                yield "line forgotten", place, _shown(statement), "", (*before, *after)
                if after and isinstance(after[0], script.Assign | script.If) and not independent(statement, after[0]):
                    text = f"after {_shown(after[0])}"
                    yield "line too late", place, _shown(statement), text, (*before, after[0], statement, *after[1:])

    def kept(self, statement: script.Assign) -> Iterator[tuple[str, str, tuple[script.Statement, ...]]]:
        """The entry at k = -1 of a new epoch is the last but one of the old epoch, not its start."""
        t, k = tree.Letter("t"), tree.Letter("k")
        for target in statement.targets:
            if not isinstance(target, tree.Index) or len(target.indices) != 2 or statement.number < 3:
                continue
            if target.indices[-1] == tree.signed(-1) and target.base == "x":
                stale = tree.Index("x", (t, _moved(k, -1)))
                rest = tuple(other for other in statement.targets if other != target)
                first = (replace(statement, targets=rest),) if rest else ()
                made = replace(statement, targets=(target,), value=stale)
                old = f"{to_text(target)} = {to_text(statement.value)}"
                yield old, f"{to_text(target)} = {to_text(stale)}", (*first, made)

    def statement(self, statement: script.Statement) -> Iterator[Edit]:
        """One edit of a statement."""
        place = Place(statement.label, statement.number)
        for name in ("value", "test", "stop"):
            node = getattr(statement, name, None)
            if isinstance(node, tree.Node):
                for operator, old, new, whole in self.expression(node):
                    yield operator, place, old, new, (_with(statement, name, whole),)
        if isinstance(statement, script.For):
            for step, word in ((1, "one pass too many"), (-1, "one pass too few")):
                stop = tree.Add((statement.stop, tree.signed(step)))
                yield word, place, to_text(statement.stop), to_text(stop), (replace(statement, stop=stop),)
        if isinstance(statement, script.If):
            for truth in (True, False):
                word = "test always true" if truth else "test never true"
                yield word, place, to_text(statement.test), str(truth), (replace(statement, test=tree.Truth(truth)),)
        if isinstance(statement, script.Return):
            yield from self.returned(statement, place)
        for name in ("body", "orelse"):
            for operator, inner, old, new, block in self.block(getattr(statement, name, ())):
                if block:
                    yield operator, inner, old, new, (_with(statement, name, block),)

    def returned(self, statement: script.Return, place: Place) -> Iterator[Edit]:
        """Another value is returned."""
        for operator, old, new, whole in self.expression(statement.values[0]):
            yield operator, place, old, new, (replace(statement, values=(whole,)),)
        t, k = tree.Letter("t"), tree.Letter("k")
        for name, arity in self.sequences.items():
            last = tree.Index(name, (t, k) if arity == 2 else (k,))
            if name in ("x", "y", "w") and last != statement.values[0]:
                value = to_text(statement.values[0])
                yield "returns another point", place, value, to_text(last), (replace(statement, values=(last,)),)

    def expression(self, node: tree.Node) -> Iterator[tuple[str, str, str, tree.Node]]:
        """Operator, the part before, the part after, the whole expression after it."""
        for operator, altered in self.own(node):
            yield operator, to_text(node), to_text(altered), altered
        span = binder(node) if isinstance(node, tree.Call) else None
        for place, part in enumerate(node.children()):
            if span is None or not isinstance(part, tree.Tuple):
                for operator, old, new, inner in self.expression(part):
                    yield operator, old, new, with_child(node, place, inner)

    def own(self, node: tree.Node) -> Iterator[Change]:
        """Changes of a node itself."""
        make = _OWN.get(type(node))
        if make is not None:
            yield from make(self, node)

    def index(self, node: tree.Index) -> Iterator[Change]:
        last = node.indices[-1]
        for step, word in ((-1, "index one too low"), (1, "index one too high")):
            yield word, replace(node, indices=(*node.indices[:-1], _moved(last, step)))
        for name, arity in self.sequences.items():
            if name != node.base and arity == len(node.indices):
                yield "another sequence", replace(node, base=name)

    def letter(self, node: tree.Letter) -> Iterator[Change]:
        for name in LETTERS.get(node.name, ()):
            if name in self.needs:
                yield "another letter", replace(node, name=name)
        if node.name in self.needs and node.name in ("eta", "alpha", "theta", "L", "lam", "beta", "alpha_p", "tau"):
            yield "twice as large", tree.Multiply((tree.Number(Fraction(2)), node))
            yield "half as large", tree.Divide(node, tree.Number(Fraction(2)))

    def number(self, node: tree.Number) -> Iterator[Change]:
        if node.value.denominator == 1:
            yield "number one too large", tree.Number(node.value + 1)
            yield "number one too small", tree.signed(node.value - 1)

    def addition(self, node: tree.Add) -> Iterator[Change]:
        for i, term in enumerate(node.terms):
            rest = (*node.terms[:i], *node.terms[i + 1 :])
            yield "term forgotten", rest[0] if len(rest) == 1 else replace(node, terms=rest)
            turned = term.operand if isinstance(term, tree.Negate) else tree.Negate(term)
            yield "wrong sign", replace(node, terms=(*node.terms[:i], turned, *node.terms[i + 1 :]))
        one = tree.Number(Fraction(1))
        if len(node.terms) == 2 and node.terms[0] == one and isinstance(node.terms[1], tree.Negate):
            yield "complement", node.terms[1].operand

    def product(self, node: tree.Multiply) -> Iterator[Change]:
        for i in range(len(node.factors)):
            rest = (*node.factors[:i], *node.factors[i + 1 :])
            yield "factor forgotten", rest[0] if len(rest) == 1 else replace(node, factors=rest)
        yield "factor 2 too many", tree.Multiply((tree.Number(Fraction(2)), *node.factors))
        yield "factor 1/2 too many", tree.Divide(node, tree.Number(Fraction(2)))

    def quotient(self, node: tree.Divide) -> Iterator[Change]:
        yield "divisor forgotten", node.numerator
        if not isinstance(node.numerator, tree.Call):
            yield "quotient upside down", tree.Divide(node.denominator, node.numerator)
        yield "divided by one too many", replace(node, denominator=_moved(node.denominator, 1))

    def power(self, node: tree.Power) -> Iterator[Change]:
        yield "power forgotten", node.base

    def negation(self, node: tree.Negate) -> Iterator[Change]:
        yield "wrong sign", node.operand

    def comparison(self, node: tree.Compare) -> Iterator[Change]:
        if len(node.operators) == 1 and node.operators[0] in tree.NEGATED:
            yield "test turned round", replace(node, operators=(tree.NEGATED[node.operators[0]],))
            yield "test strict or not", replace(node, operators=(STRICT[node.operators[0]],))

    def logical(self, node: tree.Logical) -> Iterator[Change]:
        yield "and for or", replace(node, operator="or" if node.operator == "and" else "and")
        for part in node.operands:
            yield "half of a test", part

    def choice(self, node: tree.Conditional) -> Iterator[Change]:
        yield "the other case", replace(node, yes=node.no, no=node.yes)
        yield "first case always", node.yes
        yield "second case always", node.no

    def call(self, node: tree.Call) -> Iterator[Change]:
        for name in TWINS.get(node.function, ()):
            yield "another function", replace(node, function=name)
        if node.function in EXTREMES and len(node.arguments) > 0:
            yield "the other extreme", replace(node, function=EXTREMES[node.function])
        if binder(node) is not None:
            words = {(1, -1): "range begins too early", (1, 1): "range begins too late"}
            words |= {(2, -1): "range ends too early", (2, 1): "range ends too late"}
            for (end, step), word in words.items():
                yield word, moved_limit(node, end, step)
        elif len(node.arguments) > 1 and node.function in ("AGD", "CG", "grad_x_g", "grad_x_f", "grad_y_g"):
            first, second, *rest = node.arguments
            yield "arguments exchanged", replace(node, arguments=(second, first, *rest))
        if node.function in ("AGD", "CG", "descend") and isinstance(node.arguments[-1], tree.Index):
            yield "cold start", replace(node, arguments=(*node.arguments[:-1], _nothing(node.arguments[-1])))
        if node.function in ("AGD", "descend") and isinstance(node.arguments[1], tree.Index):
            start = _nothing(node.arguments[1])
            yield "cold start", replace(node, arguments=(node.arguments[0], start, *node.arguments[2:]))
        if node.function in ("sqrt", "norm") and node.function == "sqrt":
            yield "root forgotten", node.arguments[0]


def _with(statement: script.Statement, name: str, value: object) -> script.Statement:
    """The same statement with another field."""
    changed: Any = {name: value}
    found: script.Statement = replace(statement, **changed)
    return found


def _nothing(node: tree.Node) -> tree.Node:
    return tree.Multiply((tree.Number(Fraction(0)), node))


_OWN: Mapping[type[tree.Node], Callable[[_Context, Any], Iterator[Change]]] = {
    tree.Index: _Context.index,
    tree.Letter: _Context.letter,
    tree.Number: _Context.number,
    tree.Add: _Context.addition,
    tree.Multiply: _Context.product,
    tree.Divide: _Context.quotient,
    tree.Power: _Context.power,
    tree.Negate: _Context.negation,
    tree.Compare: _Context.comparison,
    tree.Logical: _Context.logical,
    tree.Conditional: _Context.choice,
    tree.Call: _Context.call,
}


def _moved(node: tree.Node, step: int) -> tree.Node:
    """``node + step``, with numbers added up."""
    terms = node.terms if isinstance(node, tree.Add) else (node,)
    total, rest = Fraction(step), list[tree.Node]()
    for term in terms:
        inner = term.operand if isinstance(term, tree.Negate) else term
        if isinstance(inner, tree.Number):
            total += -inner.value if isinstance(term, tree.Negate) else inner.value
        else:
            rest.append(term)
    parts = [*rest, *([tree.signed(total)] if total or not rest else [])]
    return parts[0] if len(parts) == 1 else tree.Add(tuple(parts))


def _shown(statement: script.Statement) -> str:
    if isinstance(statement, script.Assign):
        return f"{' = '.join(to_text(t) for t in statement.targets)} = {to_text(statement.value)}"
    return f"if {to_text(statement.test)}" if isinstance(statement, script.If) else type(statement).__name__
