"""The formulas f and g of a problem: texts or SymPy expressions, read in the scope of its names and abbreviations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import sympy

from bilevel_verify import language
from bilevel_verify.errors import ExpressionError, LatexError, ProblemError
from bilevel_verify.latex import Notation, is_latex, parse_any
from bilevel_verify.problems.definedness import Membership, Need, Range, Reading, witness
from bilevel_verify.problems.expression_arrays import exact_number
from bilevel_verify.problems.names import check_name
from bilevel_verify.problems.numbers import mapping_of
from bilevel_verify.problems.stable import stabilise
from bilevel_verify.problems.to_sympy import to_sympy
from bilevel_verify.problems.vocabulary import Definition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAD = re.compile(r"([A-Za-z]\w*)\s*(?:\(\s*([A-Za-z]\w*(?:\s*,\s*[A-Za-z]\w*)*)\s*\))?")


def read_definitions(define: Mapping[str, str] | None, names: Iterable[str] = ()) -> dict[str, Definition]:
    """Abbreviations ``{"u": text, "h(t)": text}``; ``names`` are those that LaTeX among the texts may mention."""
    names = [*names, *(head.partition("(")[0].strip() for head in mapping_of(define, "define"))]
    result: dict[str, Definition] = {}
    for head, text in mapping_of(define, "define").items():
        match = HEAD.fullmatch(head.strip())
        if match is None or not isinstance(text, str):
            raise ProblemError(f"define: {head[:40]!r} must be a name or name(arguments), with a text as its value")
        parameters = tuple(p.strip() for p in match[2].split(",")) if match[2] else ()
        for name in (match[1], *parameters):
            check_name(name, "definition")
        if len(set(parameters)) < len(parameters) or match[1] in result or match[1] in ("f", "g"):
            raise ProblemError(f"define: {head[:40]!r} repeats a name or takes one that means something else")
        result[match[1]] = _definition(head, parameters, text, names)
    return result


def _definition(head: str, parameters: tuple[str, ...], text: str, names: Iterable[str]) -> Definition:
    """One abbreviation; LaTeX becomes text of the expression language."""
    try:
        node = parse_any(text, {*names, *parameters}, limits=language.PROBLEM)
    except LatexError as error:
        raise ExpressionError(f"define {head.strip()}: {error.plain}", text, error.column) from None
    return Definition(parameters, node, language.to_text(node) if is_latex(text) else text)


def _notation(names: Iterable[str], definitions: Mapping[str, Definition]) -> Notation:
    """How LaTeX of a problem is read: its own names and no others; abbreviations with parameters are functions."""
    functions = {name: name for name, definition in definitions.items() if definition.parameters}
    known = {*names, *(name for name in definitions if name not in functions)}
    return Notation().extended(functions, "functions").with_names(known, closed=True)


class FormulaReader:
    """Reads the formulas of one problem.

    Parameters
    ----------
    symbols : variable -> SymPy symbol.
    knobs, data : name -> exact number, name -> array.
    blocks : ``x`` and ``y`` -> names of their variables.
    definitions : abbreviations.
    rewrite : write ``log(1 + exp(t))`` and its kin with the stable atoms.
    """

    def __init__(
        self,
        symbols: Mapping[str, sympy.Symbol],
        knobs: Mapping[str, sympy.Expr],
        data: Mapping[str, NDArray[np.float64]],
        blocks: Mapping[str, tuple[str, ...]],
        definitions: Mapping[str, Definition],
        rewrite: bool,
    ) -> None:
        self.symbols, self.data, self.definitions, self.rewrite = symbols, data, definitions, rewrite
        self.letters = {**knobs, **symbols}
        self.doubtful: dict[str, Reading] = {}
        self.notation = _notation({*self.letters, *data, *blocks}, definitions)
        self.vectors = {
            block: tuple(symbols[n] for n in names)
            for block, names in blocks.items()
            if names and block not in self.letters and block not in data
        }

    def formula(self, field: str, value: sympy.Expr | str | Reading) -> sympy.Expr:
        """Field ``f`` or ``g`` as an expression of the variables alone."""
        if value is None:
            raise ProblemError(f"missing field {field!r}: give the formula as text or as a SymPy expression")
        if isinstance(value, str):
            return self._text(field, value)
        if isinstance(value, Reading):
            self.doubtful[field] = value
            return self._expression(field, value.expression)
        if isinstance(value, bool) or not isinstance(value, sympy.Expr | int | float):
            raise ProblemError(f"{field} must be text or a SymPy expression, not {type(value).__name__}")
        return self._expression(field, sympy.Integer(value) if isinstance(value, int) else value)

    def _text(self, field: str, text: str) -> sympy.Expr:
        needs: list[Need] = []
        try:
            found = to_sympy(
                self.parse(text),
                self.letters,
                text=self.plain(text),
                vectors=self.vectors,
                data=self.data,
                definitions=self.definitions,
                rewrite=self.rewrite,
                needs=needs,
            )
        except ExpressionError as error:
            raise ExpressionError(f"{field}: {error.plain}", error.text, error.column) from None
        if needs:
            self.doubtful[field] = Reading(found, needs)
        return found

    def require_defined(self, ranges: Mapping[str, Range], inside: Membership) -> None:
        """Refuse a formula that has no value at some point of the ranges (and ``inside``) where what was read has one.

        Raises
        ------
        ExpressionError : names what the text needs, and the point.
        """
        spans = {symbol: ranges.get(name, (-sympy.oo, sympy.oo)) for name, symbol in self.symbols.items()}
        for field, reading in self.doubtful.items():
            lost = witness(reading, spans, inside)
            if lost is not None:
                need, point = lost
                where = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
                typed = "typed" if reading.has_value is None else "written"
                raise ExpressionError(
                    f"{field}: has no value at {where} as {typed} ({need}), and is simplified to a formula that has "
                    "one: type that one, or give a [domain] without such points",
                    need.text,
                    need.column or None,
                )

    def parse(self, text: str) -> language.Node:
        """A text, in the expression language or in LaTeX."""
        return parse_any(text, notation=self.notation, limits=language.PROBLEM)

    def plain(self, text: str) -> str:
        """A formula as text of the expression language, whichever way it was typed."""
        return language.to_text(self.parse(text)) if is_latex(text) else text

    def _expression(self, field: str, value: float | sympy.Expr) -> sympy.Expr:
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
