"""State a problem: the four kinds, from strings or SymPy expressions, with every mistake named in one line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify import language
from bilevel_verify.errors import ExpressionError, ProblemError
from bilevel_verify.problems import feasible as sets
from bilevel_verify.problems.names import block_names, check_name
from bilevel_verify.problems.problem import Interval, Kind, Problem
from bilevel_verify.problems.stable import stabilise
from bilevel_verify.problems.text import to_text
from bilevel_verify.problems.to_sympy import exact_number, to_sympy
from bilevel_verify.problems.vocabulary import Definition

Formula = Any
"""Text, SymPy expression or number."""

Domain = Mapping[str, Any]
MAXIMUM_VARIABLES = 2_000


def bilevel(
    *,
    f: Formula,
    g: Formula,
    x: Any,
    y: Any,
    domain: Domain | None = None,
    knobs: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: Any,
) -> Problem:
    """``min_x f(x, y*(x))`` with ``y*(x) = argmin_y g(x, y)``.

    Parameters
    ----------
    f, g : text of the whitelisted language, or SymPy expressions.
    x, y : names of the variables: ``"x1 x2"``, a list of names or of SymPy symbols, ``"x{1..d}"`` with a knob ``d``.
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
    return _build("bilevel", {"f": f, "g": g}, x, y, _Given(domain, knobs, data, define), None, rewrite, record)


def minimax(
    *,
    f: Formula,
    x: Any,
    y: Any,
    domain: Domain | None = None,
    knobs: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: Any,
) -> Problem:
    """``min_x max_y f(x, y)``; parameters as in :func:`bilevel`."""
    return _build("minimax", {"f": f}, x, y, _Given(domain, knobs, data, define), None, rewrite, record)


def single_level(
    *,
    f: Formula,
    x: Any,
    domain: Domain | None = None,
    knobs: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: Any,
) -> Problem:
    """``min_x f(x)``; parameters as in :func:`bilevel`."""
    return _build("single_level", {"f": f}, x, (), _Given(domain, knobs, data, define), None, rewrite, record)


def simple_bilevel(
    *,
    f: Formula,
    g: Formula,
    x: Any,
    feasible: sets.FeasibleSet | Mapping[str, Any] | None = None,
    domain: Domain | None = None,
    knobs: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    define: Mapping[str, str] | None = None,
    rewrite: bool = True,
    **record: Any,
) -> Problem:
    """``min f`` over ``argmin_Z g``, ``Z`` the feasible set (None: the whole space); else as :func:`bilevel`."""
    feasible = sets.WholeSpace() if feasible is None else feasible
    if not isinstance(feasible, Mapping | sets.FeasibleSet):
        raise ProblemError("feasible must be a feasible set such as Ball(radius=1)")
    return _build(
        "simple_bilevel", {"f": f, "g": g}, x, (), _Given(domain, knobs, data, define), feasible, rewrite, record
    )


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
    formulas: Mapping[str, Any],
    x: Any,
    y: Any,
    given: _Given,
    feasible: sets.FeasibleSet | Mapping[str, Any] | None,
    rewrite: bool,
    record: Mapping[str, Any],
) -> Problem:
    for name in record:
        if name not in RECORD:
            raise ProblemError(f"unknown field {name!r}{language.nearest(name, RECORD)}")
    values = read_knobs(given.knobs)
    arrays = read_data(given.data)
    definitions = read_definitions(given.define)
    xs, ys = block_names(x, "x", values), block_names(y, "y", values) if kind in ("bilevel", "minimax") else ()
    _check_blocks(xs, ys, {"knob": values, "data array": arrays, "definition": definitions})
    symbols = {n: sympy.Symbol(n, real=True) for n in xs + ys}
    scope = _Scope(symbols, values, arrays, {"x": xs, "y": ys}, definitions, rewrite)
    expressions = {field: scope.formula(field, text) for field, text in formulas.items()}
    ranges = _domain(given.domain, xs, ys, values)
    if isinstance(feasible, Mapping):
        feasible = sets.from_dict(_numbers_of_set(feasible, len(xs), values))
    if feasible is not None:
        sets.check_dimension(feasible, len(xs))
    return Problem(
        kind=kind,
        f=expressions["f"],
        g=expressions.get("g"),
        x=tuple(symbols[n] for n in xs),
        y=tuple(symbols[n] for n in ys),
        domain=MappingProxyType(ranges),
        feasible=feasible,
        knobs=MappingProxyType(values),
        data=MappingProxyType(arrays),
        known=MappingProxyType(read_known(record.get("known"), scope)),
        start=_start(record.get("start"), len(xs), values),
        text=MappingProxyType(
            {k: v if isinstance(v, str) else to_text(v) for k, v in {**formulas, **(given.define or {})}.items()}
        ),
        **{k: _plain_text(k, record.get(k, "")) for k in ("name", "title", "source", "note")},
    )


def _plain_text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ProblemError(f"{field} must be text, not {type(value).__name__}")
    return value


def _check_blocks(xs: tuple[str, ...], ys: tuple[str, ...], others: Mapping[str, Mapping[str, Any]]) -> None:
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


def read_definitions(define: Mapping[str, str] | None) -> dict[str, Definition]:
    """Abbreviations ``{"u": text, "h(t)": text}``."""
    result: dict[str, Definition] = {}
    for head, text in _mapping(define, "define").items():
        match = HEAD.fullmatch(head.strip())
        if match is None or not isinstance(text, str):
            raise ProblemError(f"define: {head[:40]!r} must be a name or name(arguments), with a text as its value")
        parameters = tuple(p.strip() for p in match[2].split(",")) if match[2] else ()
        for name in (match[1], *parameters):
            check_name(name, "definition")
        if len(set(parameters)) < len(parameters) or match[1] in result or match[1] in ("f", "g"):
            raise ProblemError(f"define: {head[:40]!r} repeats a name or takes one that means something else")
        result[match[1]] = Definition(parameters, language.parse(text, limits=language.PROBLEM), text)
    return result


HEAD = re.compile(r"([A-Za-z]\w*)\s*(?:\(\s*([A-Za-z]\w*(?:\s*,\s*[A-Za-z]\w*)*)\s*\))?")


class _Scope:
    """Reads the formulas of one problem."""

    def __init__(
        self,
        symbols: Mapping[str, Any],
        knobs: Mapping[str, Any],
        data: Mapping[str, Any],
        blocks: Mapping[str, tuple[str, ...]],
        definitions: Mapping[str, Definition],
        rewrite: bool,
    ) -> None:
        self.symbols, self.data, self.definitions, self.rewrite = symbols, data, definitions, rewrite
        self.letters = {**knobs, **symbols}
        self.vectors = {
            block: tuple(symbols[n] for n in names)
            for block, names in blocks.items()
            if names and block not in self.letters and block not in data
        }

    def formula(self, field: str, value: Any) -> Any:
        """Field ``f`` or ``g`` as an expression of the variables alone."""
        if value is None:
            raise ProblemError(f"missing field {field!r}: give the formula as text or as a SymPy expression")
        if isinstance(value, str):
            return self._text(field, value)
        if isinstance(value, bool) or not isinstance(value, sympy.Expr | int | float):
            raise ProblemError(f"{field} must be text or a SymPy expression, not {type(value).__name__}")
        return self._expression(field, sympy.Integer(value) if isinstance(value, int) else value)

    def _text(self, field: str, text: str) -> Any:
        try:
            return to_sympy(
                language.parse(text, limits=language.PROBLEM),
                self.letters,
                text=text,
                vectors=self.vectors,
                data=self.data,
                definitions=self.definitions,
                rewrite=self.rewrite,
            )
        except ExpressionError as error:
            raise ExpressionError(f"{field}: {error.plain}", error.text, error.column) from None

    def _expression(self, field: str, value: Any) -> Any:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ProblemError(f"{field} is {value}; it must be finite")
            return exact_number(value)
        if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I):
            raise ProblemError(f"{field} contains an undefined, infinite or imaginary number")
        replaced = {}
        for symbol in value.free_symbols:
            known = self.letters.get(symbol.name)
            if known is None:
                raise ProblemError(
                    f"{field}: unknown symbol {symbol.name!r}{language.nearest(symbol.name, self.letters)}"
                )
            if known != symbol:
                replaced[symbol] = known
        for function in value.atoms(sympy.core.function.AppliedUndef):
            raise ProblemError(f"{field}: {function} is an undefined function; write a formula")
        floats = {number: exact_number(number) for number in value.atoms(sympy.Float)}
        result = value.xreplace(floats).subs(replaced, simultaneous=True) if replaced or floats else value
        return stabilise(result) if self.rewrite else result


def read_knobs(knobs: Mapping[str, Any] | None, letters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Knobs as exact numbers; a text may use other knobs (and ``letters``), in any order.

    Raises
    ------
    ProblemError : not a number, NaN, infinite, circular.
    """
    given = _mapping(knobs, "knobs")
    values: dict[str, Any] = {}
    waiting: dict[str, Any] = {}
    for name, value in given.items():
        check_name(name, "knob")
        if isinstance(value, str):
            waiting[name] = (language.parse(value), value)
        else:
            values[name] = number(value, f"knob {name!r}")
    while waiting:
        ready = [n for n, (node, _) in waiting.items() if not (language.letters(node) - {n}) & waiting.keys()]
        if not ready or any(n in language.letters(waiting[n][0]) for n in ready):
            raise ProblemError(f"the knobs {', '.join(sorted(waiting))} depend on each other in a circle")
        for name in ready:
            node, text = waiting.pop(name)
            values[name] = _constant(to_sympy(node, {**(letters or {}), **values}, text=text), f"knob {name!r}")
    return {name: values[name] for name in given}


def _constant(value: Any, what: str) -> Any:
    if value.free_symbols or not value.is_number or not value.is_real:
        raise ProblemError(f"{what} must be a real number, not {str(value)[:60]}")
    return value


def number(value: Any, what: str, *, infinite: bool = False) -> Any:
    """One exact real number from Python, NumPy or SymPy; NaN and (unless allowed) infinities are refused."""
    if isinstance(value, str):
        node = language.parse(value)
        inner = node.operand if isinstance(node, language.tree.Negate) else node
        if infinite and inner == language.tree.Letter("oo"):
            return sympy.oo if inner is node else -sympy.oo
        return _constant(to_sympy(node, {}, text=value), what)
    if isinstance(value, sympy.Expr):
        if infinite and value in (sympy.oo, -sympy.oo):
            return value
        if value.has(sympy.nan, sympy.oo, sympy.zoo):
            raise ProblemError(f"{what} must be finite, not {value}")
        return _constant(exact_number(value), what)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction | np.number):
        raise ProblemError(f"{what} must be a number, not {type(value).__name__}")
    if isinstance(value, complex | np.complexfloating):
        raise ProblemError(f"{what} must be real")
    plain = float(value) if not isinstance(value, int | Fraction) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        if infinite and not math.isnan(plain):
            return sympy.oo if plain > 0 else -sympy.oo
        raise ProblemError(f"{what} must be finite, not {plain}")
    return exact_number(value)


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ProblemError(f"{what} must map names to values")
    return value


WORDS = frozenset({"on", "note", "why", "source", "attained", "verdict"})
"""Fields of ``known`` that stay as they are; every other text is a formula of the variables and knobs."""


def read_known(known: Any, scope: _Scope) -> dict[str, Any]:
    """What the author states about a problem: texts become exact numbers or expressions, tables stay tables."""

    def read(value: Any, field: str) -> Any:
        if isinstance(value, Mapping):
            return {k: v if k in WORDS else read(v, f"{field}.{k}") for k, v in value.items()}
        if isinstance(value, list | tuple):
            return tuple(read(v, field) for v in value)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and re.fullmatch(r"\s*-?\s*oo\s*", value):
            return number(value, field, infinite=True)
        return scope.formula(field, value) if isinstance(value, str) else number(value, field, infinite=True)

    result: dict[str, Any] = read(_mapping(known, "known"), "known")
    return result


def read_data(data: Mapping[str, Any] | None) -> dict[str, NDArray[np.float64]]:
    """Data arrays: finite float64, one to three dimensions, read-only copies."""
    arrays: dict[str, NDArray[np.float64]] = {}
    for name, value in _mapping(data, "data").items():
        check_name(name, "data array")
        try:
            array = np.array(value, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ProblemError(f"data array {name!r} must be a rectangular array of numbers") from None
        if array.ndim not in (1, 2, 3) or array.size == 0:
            raise ProblemError(f"data array {name!r} has shape {array.shape}; one to three non-empty axes are allowed")
        if not bool(np.all(np.isfinite(array))):
            raise ProblemError(f"data array {name!r} contains NaN or infinity")
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def _domain(
    domain: Domain | None, xs: Sequence[str], ys: Sequence[str], knobs: Mapping[str, Any]
) -> dict[str, Interval]:
    ranges: dict[str, Interval] = {}
    given = _mapping(domain, "domain")
    for key in sorted(given, key=lambda k: k in xs or k in ys):  # blocks first, so that single variables win
        names = (key,) if key in xs or key in ys else {"x": tuple(xs), "y": tuple(ys)}.get(key, ())
        if not names:
            raise ProblemError(f"domain: unknown variable {key!r}{language.nearest(key, [*xs, *ys])}")
        for name in names:
            ranges[name] = _interval(given[key], key, knobs)
    return {n: ranges[n] for n in (*xs, *ys) if n in ranges and ranges[n] != (-sympy.oo, sympy.oo)}


def _interval(value: Any, key: str, knobs: Mapping[str, Any]) -> Interval:
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise ProblemError(f"domain of {key!r} must be a pair (low, high)")
    ends = list(value)
    if len(ends) != 2:
        raise ProblemError(f"domain of {key!r} must be a pair (low, high), not {len(ends)} values")
    low, high = (_end(end, infinity, key, knobs) for end, infinity in zip(ends, (-sympy.oo, sympy.oo)))
    if (low < high) != sympy.true:
        raise ProblemError(
            f"domain of {key!r}: [{low}, {high}] is empty or a point; the low end must be below the high end"
        )
    return low, high


def _what(key: str) -> str:
    return key if key in ("start", "feasible") else f"domain of {key!r}"


def _end(value: Any, infinity: Any, key: str, knobs: Mapping[str, Any]) -> Any:
    if value is None:
        return infinity
    if isinstance(value, str) and not re.fullmatch(r"\s*-?\s*oo\s*", value):
        return _constant(to_sympy(language.parse(value), knobs, text=value), _what(key))
    return number(value, _what(key), infinite=True)


def _numbers_of_set(spec: Mapping[str, Any], dimension: int, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Texts of a feasible set as numbers; one number for ``lo`` or ``hi`` of a Box means all entries."""

    def read(value: Any) -> Any:
        if isinstance(value, str):
            return float(_end(value, None, "feasible", knobs))
        return [read(v) for v in value] if isinstance(value, list | tuple) else value

    result: dict[str, Any] = {}
    for field, value in spec.items():
        if field == "set":
            result[field] = value
        elif field == "sets" and isinstance(value, list | tuple):
            result[field] = [_numbers_of_set(s, dimension, knobs) if isinstance(s, Mapping) else s for s in value]
        else:
            number_or_list = read(value)
            broadcast = field in ("lo", "hi") and isinstance(number_or_list, int | float)
            result[field] = [float(number_or_list)] * dimension if broadcast else number_or_list
    return result


def _start(value: Any, dimension: int, knobs: Mapping[str, Any]) -> tuple[float, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = [value] * dimension
    if not isinstance(value, Iterable):
        raise ProblemError("start must be a list of numbers, or one text for all coordinates")
    point = tuple(float(_end(v, sympy.nan, "start", knobs)) for v in value)
    if any(math.isnan(v) or math.isinf(v) for v in point):
        raise ProblemError("start must be finite")
    if len(point) != dimension:
        raise ProblemError(f"start has {len(point)} entries, the problem {dimension}")
    return point
