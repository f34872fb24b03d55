"""``plot``: one picture into a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bilevel_verify.cli import output, values
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem

DEFAULT_LAM = "1,3,10,100"


def plot_command(arguments: argparse.Namespace) -> int:
    """Draw one picture and write it; the ending of ``--out`` says how."""
    target = arguments.out or f"{arguments.kind}.svg"
    path = DRAW[arguments.kind](arguments).write(target)
    if arguments.json:
        output.print_json({"picture": str(path), "kind": arguments.kind})
    else:
        output.line(f"picture: {path}")
    return 0


def _problem(arguments: argparse.Namespace) -> Problem:
    tolerances = values.tolerances(arguments.eps)
    return values.member_of(values.problem_of(arguments)[0], tolerances[0] if tolerances else None)


def _box(arguments: argparse.Namespace) -> Mapping[str, tuple[float, float]] | None:
    """``--box x1=-3:3`` as a mapping."""
    found = {}
    for item in arguments.box:
        name, equals, ends = item.partition("=")
        low, colon, high = ends.partition(":")
        if not (equals and colon):
            raise InputError(f"--box: write NAME=LOW:HIGH, not {item!r}")
        numbers = values.numbers(f"{low} {high}", "--box")
        if numbers is None or len(numbers) != 2:
            raise InputError(f"--box: write NAME=LOW:HIGH, not {item!r}")
        found[name.strip()] = (numbers[0], numbers[1])
    return found or None


def _along(arguments: argparse.Namespace) -> list[str] | None:
    return arguments.along.replace(",", " ").split() if arguments.along else None


def _window(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"box": _box(arguments), "along": _along(arguments)}


def _run_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``solve`` and ``verify`` take alike, as far as it was given."""
    options = {
        "x0": values.numbers(arguments.x0, "--x0"),
        "y0": values.numbers(arguments.y0, "--y0"),
        "budget": arguments.budget,
        "parameters": values.assignments(arguments.letters, "--set") or None,
        "seed": arguments.seed,
    }
    return {k: v for k, v in options.items() if v is not None}


def _eps(arguments: argparse.Namespace, several: bool = False) -> Any:
    found = values.tolerances(arguments.eps)
    if several:
        if found is None or len(found) < 2:
            raise InputError("--eps: give at least two tolerances, 0.1,0.03,0.01")
        return found
    if found is not None and len(found) > 1:
        raise InputError(f"--eps: {arguments.kind} takes one tolerance")
    return found[0] if found else None


def _methods(arguments: argparse.Namespace) -> list[str]:
    if not arguments.method:
        raise InputError("--method: name a method (see list methods)")
    return [name for item in arguments.method for name in item.replace(",", " ").split()]


def _statement(arguments: argparse.Namespace) -> str:
    if not arguments.statement:
        raise InputError("--statement: name one, paper/id or FILE.toml/id")
    return str(arguments.statement)


def _hyper_objective(arguments: argparse.Namespace) -> object:
    from bilevel_verify.plot import hyper_objective

    point = values.numbers(arguments.x0, "--x0")
    return hyper_objective(_problem(arguments), point=point, **_window(arguments))


def _penalty(arguments: argparse.Namespace) -> Any:
    from bilevel_verify.plot import penalty

    along = _along(arguments)
    if along is not None and len(along) != 1:
        raise InputError("--along: the penalty is drawn along one coordinate")
    lam = values.numbers(arguments.lam or DEFAULT_LAM, "--lam") or ()
    point = values.numbers(arguments.x0, "--x0")
    return penalty(_problem(arguments), lam, _box(arguments), along[0] if along else None, point)


def _trajectory(arguments: argparse.Namespace) -> object:
    from bilevel_verify.plot import trajectory
    from bilevel_verify.solving import solve

    problem, eps = _problem(arguments), _eps(arguments)
    runs = {name: solve(problem, name, eps=eps, **_run_options(arguments)) for name in _methods(arguments)}
    return trajectory(runs, problem, **_window(arguments))


def _convergence(arguments: argparse.Namespace) -> Any:
    from bilevel_verify.plot import convergence

    options = _run_options(arguments)
    eps = _eps(arguments)
    return convergence(_problem(arguments), _methods(arguments), eps, against=arguments.against, **options)


def _bound(arguments: argparse.Namespace) -> object:
    from bilevel_verify.plot import along

    name, _, claim = _statement(arguments).partition(":")
    options = _run_options(arguments) | ({"method": _methods(arguments)[0]} if arguments.method else {})
    return along(values.problem_of(arguments)[0], name, claim or None, eps=_eps(arguments), **options)


def _margins(arguments: argparse.Namespace) -> object:
    from bilevel_verify.checks import verify
    from bilevel_verify.plot import margins

    eps = values.tolerances(arguments.eps)
    return margins(verify(values.problem_of(arguments)[0], _statement(arguments), eps=eps, **_run_options(arguments)))


def _scaling(arguments: argparse.Namespace) -> Any:
    from bilevel_verify.plot import scaling
    from bilevel_verify.solving import solve

    family, options = values.problem_of(arguments)[0], _run_options(arguments)
    tolerances = _eps(arguments, several=True)
    name = _methods(arguments)[0]
    runs = [solve(values.member_of(family, e), name, eps=e, record="thin", **options) for e in tolerances]
    return scaling(runs, arguments.count, arguments.exponent)


def _curvature(arguments: argparse.Namespace) -> object:
    from bilevel_verify.plot import curvature

    return curvature(_problem(arguments), arguments.letter, paper=arguments.paper, **_window(arguments))


def _profile(arguments: argparse.Namespace) -> Any:
    """Runs of every method on every problem at every tolerance; a start is each problem's own."""
    from bilevel_verify import plot
    from bilevel_verify.solving import solve

    problems = [values.problem_of(arguments)[0], *(values.other_problem(name, arguments) for name in arguments.among)]
    given = values.tolerances(arguments.eps)
    tolerances: list[float | None] = [None] if given is None else [*given]
    options = _run_options(arguments)
    runs = [
        solve(values.member_of(family, eps), name, eps=eps, **options)
        for family in problems
        for eps in tolerances
        for name in _methods(arguments)
    ]
    draw = plot.performance_profile if arguments.kind == "performance-profile" else plot.data_profile
    return draw(runs)


DRAW = {
    "hyper-objective": _hyper_objective,
    "penalty": _penalty,
    "trajectory": _trajectory,
    "convergence": _convergence,
    "bound": _bound,
    "margins": _margins,
    "scaling": _scaling,
    "curvature": _curvature,
    "performance-profile": _profile,
    "data-profile": _profile,
}
