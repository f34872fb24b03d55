"""Automatic differentiation on the expression graph.

Every instruction is differentiated locally, so the cost is proportional to the number of distinct subexpressions, and
the derivative shares with the function whatever they have in common. Gradients are taken in reverse mode, products
and higher derivatives in forward mode over what reverse mode left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import sympy

from bilevel_verify.atoms.table import TABLE
from bilevel_verify.errors import MathematicalError
from bilevel_verify.symbolic.graph import ONE, ZERO, Graph, reachable
from bilevel_verify.symbolic.program import Program, finish


def gradient(program: Program, variables: Sequence[int] | None = None) -> Program:
    """Gradient of a scalar program with respect to some inputs (all by default); shape ``(n,)``."""
    wanted = range(len(program.inputs)) if variables is None else variables
    graph = program.graph()
    return finish(graph, adjoints(graph, _scalar(program), wanted), (len(wanted),))


def jacobian_product(program: Program, variables: Sequence[int] | None = None, name: str = "v") -> Program:
    """Derivative of all outputs along a direction; the direction becomes ``len(variables)`` new inputs.

    The shape is that of the program.
    """
    wanted = range(len(program.inputs)) if variables is None else variables
    graph = program.graph()
    seeds = {variable: graph.input(f"{name}{place}") for place, variable in enumerate(wanted)}
    return finish(graph, tangents(graph, program.outputs, seeds), program.shape)


def hessian_product(program: Program, rows: Sequence[int], columns: Sequence[int], name: str = "v") -> Program:
    """``(nabla^2_{rows, columns} f) v``; shape ``(len(rows),)``, ``v`` appended to the inputs."""
    return jacobian_product(gradient(program, rows), columns, name)


def hessian(program: Program, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> Program:
    """Block of the Hessian of a scalar program; shape ``(len(rows), len(columns))``.

    Symmetric blocks (``rows == columns``) are derived once and mirrored.
    """
    left = list(range(len(program.inputs)) if rows is None else rows)
    right = left if columns is None else list(columns)
    graph = program.graph()
    first = adjoints(graph, _scalar(program), left)
    shape = (len(left), len(right))
    entries: dict[tuple[int, int], int] = {}
    for j, variable in enumerate(right):
        count = j + 1 if left == right else len(left)
        seeds = {variable: graph.const(ONE)}
        for i, entry in enumerate(tangents(graph, first[:count], seeds)):
            entries[i, j] = entry
            if left == right:
                entries[j, i] = entry
    return finish(graph, [entries[i, j] for i in range(shape[0]) for j in range(shape[1])], shape)


def third_derivative(program: Program, variables: Sequence[int] | None = None) -> Program:
    """All third derivatives in symmetric storage: entries (i, j, k) with ``i <= j <= k`` in lexicographic order.

    Shape ``(n (n+1) (n+2) / 6,)``; :func:`packed_positions` gives the order.
    """
    wanted = list(range(len(program.inputs)) if variables is None else variables)
    graph = program.graph()
    first = adjoints(graph, _scalar(program), wanted)
    entries: dict[tuple[int, int, int], int] = {}
    second: dict[tuple[int, int], int] = {}
    for j, variable in enumerate(wanted):
        row = tangents(graph, first[: j + 1], {variable: graph.const(ONE)})
        second.update(((i, j), entry) for i, entry in enumerate(row))
    for k, variable in enumerate(wanted):
        pairs = [(i, j) for i, j in second if j <= k]
        row = tangents(graph, [second[pair] for pair in pairs], {variable: graph.const(ONE)})
        entries.update(((i, j, k), entry) for (i, j), entry in zip(pairs, row, strict=True))
    order = packed_positions(len(wanted))
    return finish(graph, [entries[position] for position in order], (len(order),))


def packed_positions(n: int) -> list[tuple[int, int, int]]:
    """Order of symmetric storage of a third derivative."""
    return list(combinations_with_replacement(range(n), 3))


def adjoints(graph: Graph, output: int, variables: Sequence[int]) -> list[int]:
    """Reverse mode: the partial derivatives of one node with respect to some inputs, as nodes of the same graph."""
    depends = _dependents(graph, variables, output)
    bars: dict[int, list[int]] = {output: [graph.const(ONE)]}
    for index in range(output, -1, -1):
        parts = bars.get(index)
        if parts is None:
            continue
        bar = graph.add(parts)
        for position, argument in enumerate(graph[index].args):
            if depends[argument]:
                part = _contribution(graph, index, position, bar)
                if graph.rational(part) != 0:
                    bars.setdefault(argument, []).append(part)
    places = {graph[index].value: index for index in range(len(depends)) if graph[index].op == "input"}
    return [
        graph.add(bars.get(places[variable], ())) if variable in places else graph.const(ZERO) for variable in variables
    ]


def tangents(graph: Graph, outputs: Sequence[int], seeds: Mapping[int, int]) -> list[int]:
    """Forward mode: derivatives of some nodes along the direction ``seeds`` (input position -> node)."""
    length = max(outputs, default=-1) + 1
    needed = reachable(graph.instructions[:length], outputs)
    zero = graph.const(ZERO)
    along: dict[int, int] = {}
    for index in range(length):
        if not needed[index]:
            continue
        instruction = graph[index]
        if instruction.op == "input":
            seed = seeds.get(instruction.value, zero)
        else:
            seed = graph.add(
                _contribution(graph, index, position, along[argument])
                for position, argument in enumerate(instruction.args)
                if argument in along
            )
        if graph.rational(seed) != 0:
            along[index] = seed
    return [along.get(output, zero) for output in outputs]


def _scalar(program: Program) -> int:
    if program.shape != ():
        raise ValueError(f"a scalar program is needed, this one has shape {program.shape}")
    return program.outputs[0]


def _dependents(graph: Graph, variables: Sequence[int], output: int) -> list[bool]:
    """Which nodes up to ``output`` depend on the variables."""
    chosen = set(variables)
    depends: list[bool] = []
    for index in range(output + 1):
        instruction = graph[index]
        active = instruction.value in chosen if instruction.op == "input" else any(depends[a] for a in instruction.args)
        depends.append(active)
    return depends


def _contribution(graph: Graph, index: int, position: int, seed: int) -> int:
    """``seed * (partial derivative of instruction index with respect to its argument at position)``."""
    instruction = graph[index]
    a = instruction.args[position]
    match instruction.op:
        case "add":
            return seed
        case "neg":
            return graph.neg(seed)
        case "mul":
            others = graph.mul(arg for place, arg in enumerate(instruction.args) if place != position)
            return graph.mul((seed, others))
        case "div":
            if position == 0:
                return graph.div(seed, instruction.args[1])
            return graph.neg(graph.div(graph.mul((seed, index)), a))
        case "pow":
            return _power_rule(graph, a, instruction.value, seed)
        case "atom":
            name, order, parameters = instruction.value
            return atom_rule(graph, a, name, order, parameters, seed)
    return _nonsmooth_rule(graph, index, position, seed)


def _power_rule(graph: Graph, a: int, exponent: Fraction, seed: int) -> int:
    scaled = graph.mul((graph.const(exponent), seed))
    # the denominator of a square root is the root itself
    if exponent < 1:
        return graph.div(scaled, graph.pow(a, 1 - exponent))
    return graph.mul((scaled, graph.pow(a, exponent - 1)))


def _nonsmooth_rule(graph: Graph, index: int, position: int, seed: int) -> int:
    instruction, zero = graph[index], graph.const(ZERO)
    a = instruction.args[position]
    match instruction.op:
        case "select" if position > 0:
            test = instruction.args[0]
            return graph.select(test, seed, zero) if position == 1 else graph.select(test, zero, seed)
        case "max" | "min":
            left, right = instruction.args
            first = graph.compare("le", right, left) if instruction.op == "max" else graph.compare("le", left, right)
            return graph.select(first, seed, zero) if position == 0 else graph.select(first, zero, seed)
        case "abs":
            return graph.mul((seed, graph.emit("sign", (a,))))
        case "sign":
            raise MathematicalError("a second derivative of an absolute value is not a function; its kink is at zero")
        case "logsumexp":
            return graph.mul((seed, graph.atom("exp", graph.sub(a, index))))
    return zero


CYCLES: dict[str, str] = {
    "exp": "exp",
    "sin": "cos",
    "cos": "sin",
    "sinh": "cosh",
    "cosh": "sinh",
    "softplus": "sigmoid",
    "logcosh": "tanh",
}
"""Atoms whose derivative is another atom (that of the cosine: its negative); others go on as ``(name, order + 1)``."""


def atom_rule(graph: Graph, a: int, name: str, order: int, parameters: tuple[Fraction, ...], seed: int) -> int:
    """Seed times the derivative of an atom.

    Raises
    ------
    MathematicalError : the derivative is not a function (a jump or worse).
    """
    if order == 0 and name in CYCLES:
        product = graph.mul((seed, graph.atom(CYCLES[name], a)))
        return graph.neg(product) if name == "cos" else product
    if order == 0 and name == "log":
        return graph.div(seed, a)
    if parameters:
        _check_derivative(name, order + 1, parameters)
    return graph.mul((seed, graph.atom(name, a, order + 1, parameters)))


@cache
def _check_derivative(name: str, order: int, parameters: tuple[Fraction, ...]) -> None:
    """Refuse derivatives that are not functions; the table of atoms knows which."""
    TABLE[name].derivative(order, sympy.Dummy("t", real=True), tuple(sympy.sympify(p) for p in parameters))
