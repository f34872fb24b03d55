"""State a problem: the four kinds, from strings or SymPy expressions, with every mistake named in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sympy

from bilevel_verify import language
from bilevel_verify.errors import ProblemError
from bilevel_verify.problems import feasible as sets
from bilevel_verify.problems.definedness import Reading
from bilevel_verify.problems.fields import read_data, read_domain, read_feasible, read_known, read_start, within
from bilevel_verify.problems.foreign import is_foreign, read_foreign
from bilevel_verify.problems.formulas import FormulaReader, read_definitions
from bilevel_verify.problems.names import block_names
from bilevel_verify.problems.numbers import read_knobs
from bilevel_verify.problems.problem import Kind, Problem
from bilevel_verify.problems.text import to_text

Formula = Any
"""Text, SymPy expression or number, a function that JAX can trace, an expression of CVXPY."""

Domain = Mapping[str, Any]
MAXIMUM_VARIABLES = 2_000


def bilevel(
    *,
    f: Formula,
    g: Formula,
    x: object,
    y: object,
    feasible: sets.FeasibleSet | Mapping[str, object] | None = None,
    domain: Domain | None = None,
    knobs: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: object,
) -> Problem:
    """``min_x f(x, y*(x))`` with ``y*(x) = argmin_y g(x, y)``.

    Parameters
    ----------
    f, g : text of the whitelisted language, or SymPy expressions; or functions ``f(x, y)`` of arrays of shape ``(dx,)``
        and ``(dy,)`` that JAX can trace, or CVXPY expressions over variables called ``x`` and ``y``: both are read
        symbolically (:mod:`bilevel_verify.problems.foreign`).
    x, y : names of the variables: ``"x1 x2"``, a list of names or of SymPy symbols, ``"x{1..d}"`` with a knob ``d``.
    feasible : a Box, an Orthant or a Simplex in which y lies: the problem is then of kind ``constrained_bilevel``, with
        truth at points and constants on the set; no theorem of the shipped papers speaks of it.
    domain : variable or block (``"x"``, ``"y"``) -> ``(low, high)``; numbers, texts, None or infinity for no bound.
    knobs : name -> number (or text over other knobs) put in for a letter of the texts.
    data : name -> array of float64 used by the texts (``A[i]``, ``dot(A[i], y)``).
    define : abbreviations used by the texts: ``{"u": "y1 - x1", "h(t)": "log(1 + t**2)"}``.
    rewrite : write ``log(1 + exp(t))`` and its kin with the stable atoms.
    record : ``name title source note known start`` of :class:`~bilevel_verify.problems.problem.Problem`.

    Raises
    ------
    ProblemError, ExpressionError : one line that names the field and the fix.
    """
    kind: Kind = "bilevel" if feasible is None else "constrained_bilevel"
    return _build(kind, {"f": f, "g": g}, x, y, _Given(domain, knobs, data, define), feasible, rewrite, record)


def minimax(
    *,
    f: Formula,
    x: object,
    y: object,
    domain: Domain | None = None,
    knobs: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: object,
) -> Problem:
    """``min_x max_y f(x, y)``; parameters as in :func:`bilevel`."""
    return _build("minimax", {"f": f}, x, y, _Given(domain, knobs, data, define), None, rewrite, record)


def single_level(
    *,
    f: Formula,
    x: object,
    domain: Domain | None = None,
    knobs: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: object,
) -> Problem:
    """``min_x f(x)``; parameters as in :func:`bilevel`."""
    return _build("single_level", {"f": f}, x, (), _Given(domain, knobs, data, define), None, rewrite, record)


def simple_bilevel(
    *,
    f: Formula,
    g: Formula,
    x: object,
    feasible: sets.FeasibleSet | Mapping[str, object] | None = None,
    domain: Domain | None = None,
    knobs: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: object,
) -> Problem:
    """``min f`` over ``argmin_Z g``, ``Z`` the feasible set (None: the whole space); else as :func:`bilevel`."""
    feasible = sets.WholeSpace() if feasible is None else feasible
    return _build(
        "simple_bilevel", {"f": f, "g": g}, x, (), _Given(domain, knobs, data, define), feasible, rewrite, record
    )


TWO_BLOCKS = ("bilevel", "minimax", "constrained_bilevel")
RECORD = ("name", "title", "source", "note", "known", "start")


@dataclass(frozen=True, slots=True)
class _Given:
    """What may accompany the formulas."""

    domain: Domain | None
    knobs: Mapping[str, Any] | None
    data: Mapping[str, Any] | None
    define: Mapping[str, str] | None


def _build(
    kind: Kind,
    formulas: Mapping[str, object],
    x: object,
    y: object,
    given: _Given,
    feasible: sets.FeasibleSet | Mapping[str, object] | None,
    rewrite: bool,
    record: Mapping[str, object],
) -> Problem:
    """A problem of any kind from what was given.

    Names are settled first, as formulas may mention all of them; domains and the set are read before the problem is
    made, as its formulas must be defined there.
    """
    for name in record:
        if name not in RECORD:
            raise ProblemError(f"unknown field {name!r}{language.nearest(name, RECORD)}")
    values = read_knobs(given.knobs)
    arrays = read_data(given.data)
    xs, ys = block_names(x, "x", values), block_names(y, "y", values) if kind in TWO_BLOCKS else ()
    definitions = read_definitions(given.define, {*xs, *ys, *values, *arrays})
    _check_blocks(xs, ys, {"knob": values, "data array": arrays, "definition": definitions})
    symbols = {n: sympy.Symbol(n, real=True) for n in xs + ys}
    blocks = {name: tuple(symbols[n] for n in names) for name, names in (("x", xs), ("y", ys)) if names}
    formulas = {k: read_foreign(k, v, blocks) if is_foreign(v) else v for k, v in formulas.items()}
    scope = FormulaReader(symbols, values, arrays, {"x": xs, "y": ys}, definitions, rewrite)
    expressions = {field: scope.formula(field, text) for field, text in formulas.items()}
    ranges, found = read_domain(given.domain, xs, ys, values), read_feasible(feasible, len(ys or xs), values)
    scope.require_defined(ranges, _membership(found, blocks["y" if ys else "x"]))
    return Problem(
        kind=kind,
        f=expressions["f"],
        g=expressions.get("g"),
        x=tuple(symbols[n] for n in xs),
        y=tuple(symbols[n] for n in ys),
        domain=MappingProxyType(within(ranges, ys, found) if kind == "constrained_bilevel" else ranges),
        feasible=found,
        knobs=MappingProxyType(values),
        data=MappingProxyType(arrays),
        known=MappingProxyType(read_known(record.get("known"), scope)),
        start=read_start(record.get("start"), len(xs), values),
        text=MappingProxyType(_texts(formulas, given.define or {}, scope)),
        **{k: _plain_text(k, record.get(k, "")) for k in ("name", "title", "source", "note")},
    )


def _membership(
    feasible: sets.FeasibleSet | None, block: Sequence[sympy.Symbol]
) -> Callable[[Mapping[sympy.Symbol, sympy.Expr]], bool]:
    """Whether a point (letters that it lacks at 0) lies in the feasible set of a block."""
    return lambda point: feasible is None or feasible.contains([float(point.get(letter, 0)) for letter in block])


def _texts(formulas: Mapping[str, object], define: Mapping[str, str], scope: FormulaReader) -> dict[str, str]:
    """The formulas as text of the expression language."""
    plain = {name: v.expression if isinstance(v, Reading) else v for name, v in formulas.items()}
    texts = {name: scope.plain(value) if isinstance(value, str) else to_text(value) for name, value in plain.items()}
    abbreviations = {head.partition("(")[0].strip(): head for head in define}
    return texts | {head: scope.definitions[name].text for name, head in abbreviations.items()}


def _plain_text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ProblemError(f"{field} must be text, not {type(value).__name__}")
    return value


def _check_blocks(xs: tuple[str, ...], ys: tuple[str, ...], others: Mapping[str, Mapping[str, object]]) -> None:
    both = [n for n in ys if n in xs]
    if both:
        raise ProblemError(f"{both[0]!r} is in x and in y; a variable belongs to one level")
    if len(xs) + len(ys) > MAXIMUM_VARIABLES:
        raise ProblemError(f"{len(xs) + len(ys)} variables; at most {MAXIMUM_VARIABLES} are supported")
    owner = dict.fromkeys(xs + ys, "variable")
    for what, names in others.items():
        for name in names:
            if name in owner:
                raise ProblemError(f"{name!r} is a {owner[name]} and a {what} at once; rename one")
            owner[name] = what
