"""Values on the command line: numbers, lists, assignments, problems. A mistake is one line that names the option."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bilevel_verify.campaign.cell import Scalar
from bilevel_verify.campaign.sources import join_reference, open_problem, split_reference
from bilevel_verify.errors import InputError, ParameterError

if TYPE_CHECKING:
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.problems.problem import Problem


def numbers(text: str | None, option: str) -> list[float] | None:
    """``"0.1,0.03"`` or ``"0.1 0.03"`` as finite numbers; None stays None."""
    if text is None:
        return None
    parts = text.replace(",", " ").split()
    if not parts or ("," in text and not all(part.strip() for part in text.split(","))):
        raise ParameterError(f"{option}: no number {'in' if not parts else 'between commas in'} {text!r}")
    return [_number(part, option) for part in parts]


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ParameterError(f"{option}: {text!r} is not a number") from None
    if not math.isfinite(value):
        raise ParameterError(f"{option}: {text!r} is not finite")
    return value


def tolerances(text: str | None) -> list[float] | None:
    """Positive tolerances of ``--eps``."""
    values = numbers(text, "--eps")
    if values is not None and any(v <= 0 for v in values):
        raise ParameterError(f"--eps: tolerances must be positive, not {text}")
    return values


def sweep_of(text: str | None) -> tuple[str | None, list[float]]:
    """``"kappa=16,32,64"`` as the letter and its values in increasing order; None where nothing is swept."""
    if text is None:
        return None, []
    name, _, listed = text.partition("=")
    letter = name.strip()
    if letter not in ("kappa", "d", "nu"):
        raise InputError(f"--sweep: write kappa=A,B,... (or d, nu), not {text!r}")
    found = sorted(set(numbers(listed, "--sweep") or ()))
    return letter, found


def assignments(items: Sequence[str], option: str) -> dict[str, Scalar]:
    """``["kappa=16", "s=2*eps"]`` as a mapping; a value that is no number stays text."""
    found: dict[str, Scalar] = {}
    for item in items:
        name, equals, value = item.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name.isidentifier() or not value:
            raise InputError(f"{option}: write NAME=VALUE, not {item!r}")
        if name in found:
            raise InputError(f"{option}: {name} is given twice")
        found[name] = scalar(value, f"{option} {name}")
    return found


def scalar(text: str, option: str) -> Scalar:
    """An integer, a finite float, or the text itself."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    if not math.isfinite(value):
        raise ParameterError(f"{option}: {text!r} is not finite")
    return value


def problem_of(arguments: argparse.Namespace) -> tuple[Problem | ProblemFamily, str]:
    """The problem (or family) that ``--problem`` and ``--knob`` name, and its reference with all knobs."""
    names = [n for n in (getattr(arguments, "target", None), arguments.problem) if n]
    if len(names) > 1:
        aside = f"; if {names[0]} is a method, write --method {names[0]}" if hasattr(arguments, "method") else ""
        raise InputError(f"name the problem once, not {names[0]} and {names[1]}{aside}")
    if not names:
        raise InputError("name the problem with --problem zoo:NAME or --problem FILE.toml")
    reference, knobs = split_reference(names[0])
    values = knobs | assignments(arguments.knob, "--knob")
    return open_problem(reference, values, arguments.allow_outside), join_reference(reference, values)


def other_problem(name: str, arguments: argparse.Namespace) -> Problem | ProblemFamily:
    """One more problem beside that of :func:`problem_of`; its knobs stand in its name."""
    reference, knobs = split_reference(name)
    return open_problem(reference, knobs, arguments.allow_outside)


def member_of(problem: Problem | ProblemFamily, eps: float | None = None) -> Problem:
    """A problem as it is; of a family the member at ``eps``."""
    from bilevel_verify.problems.family import ProblemFamily

    if not isinstance(problem, ProblemFamily):
        return problem
    letters = {} if eps is None else {"eps": eps}
    return problem.at(**letters)
