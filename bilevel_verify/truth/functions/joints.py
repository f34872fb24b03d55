"""Where derivatives of a function jump: a number that is finite away from those places.

A program goes on where its function has no derivative: ``floor`` at 1, the border between two branches, ``|t|`` at
0. Its derivatives are then those of one side, or the hull of both sides, which is no value of a derivative.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from bilevel_verify.atoms.table import TABLE
from bilevel_verify.symbolic.graph import Graph, Instruction
from bilevel_verify.symbolic.program import Program, finish


def apart_from_joints(program: Program, expression: sympy.Expr, order: int) -> Program | None:
    """Shape ``()``: a sum of reciprocals, infinite where a derivative of some order (or a lower one) may jump.

    None for a function without such places.

    Parameters
    ----------
    program : the function; ``expression`` is what it was made of.
    """
    from bilevel_verify.constants.formula.piecewise import is_joined_smoothly

    smooth = all(is_joined_smoothly(node, order) for node in expression.atoms(sympy.Piecewise))
    graph = program.graph()
    gaps = [gap for step in program.instructions for gap in _gaps(graph, step, order, smooth)]
    if not gaps:
        return None
    return finish(graph, [graph.add([graph.div(graph.const(1), gap) for gap in gaps])], ())


def jumps(step: Instruction) -> bool:
    """Whether the value of a step may jump; of two branches nobody has asked."""
    if step.op == "atom":
        name, order, parameters = step.value
        return bool(TABLE[name].smoothness(parameters) < order)
    return step.op in ("select", "sign", "floor", "ceil")


def _gaps(graph: Graph, step: Instruction, order: int, smooth: bool) -> Iterator[int]:
    """Numbers that vanish where a step has no derivative of the order."""
    match step.op:
        case "abs" | "sign":
            yield step.args[0]
        case "floor" | "ceil":
            yield graph.sub(step.args[0], graph.emit("floor", step.args))
        case "max" | "min":
            yield graph.sub(*step.args)
        case "lt" | "le" | "eq" if not smooth:
            yield graph.sub(*step.args)
        case "atom":
            name, taken, parameters = step.value
            if TABLE[name].smoothness(parameters) < order + taken:
                yield from _breaks(graph, step.args[0], TABLE[name].breaks, parameters)


def _breaks(graph: Graph, a: int, breaks: str, parameters: tuple[object, ...]) -> Iterator[int]:
    if breaks == "delta":
        delta = graph.const(parameters[0])
        yield from (graph.sub(a, delta), graph.add([a, delta]))
    elif breaks in ("integers", "odd integers"):
        yield graph.sub(a, graph.emit("floor", (a,)))
    else:
        yield a
