"""Tree to LaTeX: the echo that lets the author of a card see what was understood.

The echo is made from the tree alone, never from the text, so that precedence errors become visible
(``-x**2``, ``a/b*c``), and so that nothing a user wrote reaches a page unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from bilevel_verify.language import tree as t
from bilevel_verify.language.elementary import ELEMENTARY

GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split()
)
SPECIAL = {
    "lam": r"\lambda",
    "eps": r"\epsilon",
    "oo": r"\infty",
    "E": r"\mathrm{e}",
    "ell": r"\ell",
    "Lam": r"\Lambda",
}
OPERATORS = {name: one.latex for name, one in ELEMENTARY.items()} | {"max": r"\max", "min": r"\min"}
OPERATORS |= {"lambda_min": r"\lambda_{\min}", "lambda_max": r"\lambda_{\max}", "softO": r"\tilde{\mathcal{O}}"}
RELATIONS = {"<=": r"\le", ">=": r"\ge", "==": "=", "<": "<", ">": ">"}
BIG = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min", "argmin": r"\arg\min", "argmax": r"\arg\max"}
FENCES = {"abs": (r"\left|", r"\right|"), "norm": (r"\left\|", r"\right\|"), "floor": (r"\lfloor ", r"\rfloor ")}
FENCES |= {"ceil": (r"\lceil ", r"\rceil "), "dot": (r"\langle ", r"\rangle ")}

HALF = t.Divide(t.Number(Fraction(1)), t.Number(Fraction(2)))
CONDITION, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)

SCRIPTED = re.compile(r"(?P<head>.*)_\{(?P<script>[^{}]*)\}\Z")
RUNNING = frozenset("ijknt")
"""Subscripts that are the index itself."""


def letter_latex(name: str, display: Mapping[str, str] | None = None) -> str:
    """LaTeX of one letter: ``L_g`` -> ``L_{g}``, ``lam`` -> ``\\lambda``, ``rho_bar`` -> ``\\bar{\\rho}``."""
    if display and name in display:
        return display[name]
    base, _, index = name.partition("_")
    if index == "bar":
        return rf"\bar{{{_word(base)}}}"
    head = _word(base)
    return f"{head}_{{{','.join(_word(part) for part in index.split('_'))}}}" if index else head


def to_latex(node: t.Node, display: Mapping[str, str] | None = None) -> str:
    """LaTeX of a tree; ``display`` maps letters to the paper's own symbols."""
    return Echo(display or {}).of(node, CONDITION)


def _entry(symbol: str, index: str) -> str:
    """An entry of a sequence; two subscripts, which LaTeX refuses, are made one: ``g_k`` at k + 1 is ``g_{k + 1}``."""
    scripted = SCRIPTED.match(symbol)
    if scripted is None:
        return f"{symbol}_{{{index}}}"
    kept = "" if scripted["script"] in RUNNING else f"{scripted['script']},"
    return f"{scripted['head']}_{{{kept}{index}}}"


def _word(name: str) -> str:
    if name in SPECIAL:
        return SPECIAL[name]
    if name in GREEK:
        return "\\" + name
    stem = name.rstrip("0123456789")
    if stem and stem != name:
        return f"{_word(stem)}_{{{name[len(stem) :]}}}"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}"


DERIVATIVE = re.compile(r"(grad|hess|third)_(?:([xy]{1,3})_(?!star\b|star_))?(?=[A-Za-z])")
POWERS = {"grad": "", "hess": "^2", "third": "^3"}
OPTIMA = {"phi": "\\varphi", "y_star_lam": "y^*_\\lambda", "L_star": "L^*_\\lambda", "phi_star": "\\varphi^*"}


def function_latex(name: str) -> str:
    """A function that no table displays: ``grad_L_star`` is a gradient of what a star marks, others are upright."""
    derivative = DERIVATIVE.match(name)
    if derivative is not None:
        block = f"_{{{derivative[2]}}}" if derivative[2] else ""
        return f"\\nabla{POWERS[derivative[1]]}{block} {function_latex(name[derivative.end() :])}"
    if name in OPTIMA:
        return OPTIMA[name]
    base, star, rest = name.partition("_star")
    if star and not rest and len(base) == 1:
        return f"{base}^*"
    if len(name) <= 2:
        return letter_latex(name)
    stem, _, number = name.rpartition("_")
    index = f"_{{{number}}}" if stem and number.isdigit() else ""
    return rf"\operatorname{{{(stem if index else name).replace('_', ' ')}}}{index}"


class Echo:
    """One method per node; ``level`` is the binding strength that the surroundings ask for."""

    def __init__(self, display: Mapping[str, str]) -> None:
        self.display = display

    def of(self, node: t.Node, level: int) -> str:
        text, own = self._plain(node)
        return rf"\left({text}\right)" if own < level else text

    def _plain(self, node: t.Node) -> tuple[str, int]:
        match node:
            case t.Number(value=value):
                return self._number(value.numerator, value.denominator)
            case t.Truth(value=value):
                return rf"\text{{{'true' if value else 'false'}}}", ATOM
            case t.Letter(name=name):
                return letter_latex(name, self.display), ATOM
            case t.Add(terms=terms):
                return self._sum(terms), SUM
            case t.Multiply(factors=factors):
                return self._product(factors), PRODUCT
            case t.Divide(numerator=top, denominator=bottom):
                return rf"\frac{{{self.of(top, CONDITION)}}}{{{self.of(bottom, CONDITION)}}}", PRODUCT
            case t.Power(base=base, exponent=exponent):
                return self._power(base, exponent), POWER
            case t.Negate(operand=operand):
                return f"-{self.of(operand, PRODUCT)}", SUM
            case t.Modulo(left=left, right=right):
                return rf"{self.of(left, PRODUCT)} \bmod {self.of(right, POWER)}", PRODUCT
            case t.MatrixMultiply(left=left, right=right):
                return rf"{self.of(left, PRODUCT)}\,{self.of(right, POWER)}", PRODUCT
            case t.Index(base=base, indices=indices):
                inner = ",".join(self.of(i, CONDITION) for i in indices)
                return _entry(letter_latex(base, self.display), inner), ATOM
            case t.Call(function=name, arguments=arguments):
                return self._call(name, arguments)
            case t.Tuple(items=items):
                return rf"\left({', '.join(self.of(i, CONDITION) for i in items)}\right)", ATOM
            case _:
                return self._condition(node), CONDITION

    def _number(self, top: int, bottom: int) -> tuple[str, int]:
        if bottom == 1:
            return (str(top), ATOM) if top >= 0 else (str(top), SUM)
        decimal = _short_decimal(top, bottom)
        if decimal:
            return decimal, ATOM if top >= 0 else SUM
        quotient = rf"\frac{{{abs(top)}}}{{{bottom}}}"
        return (f"-{quotient}", SUM) if top < 0 else (quotient, PRODUCT)

    def _sum(self, terms: tuple[t.Node, ...]) -> str:
        parts = [self.of(terms[0], SUM)]
        for term in terms[1:]:
            if isinstance(term, t.Negate):
                parts.append(f"- {self.of(term.operand, PRODUCT)}")
            else:
                parts.append(f"+ {self.of(term, PRODUCT)}")
        return " ".join(parts)

    def _product(self, factors: tuple[t.Node, ...]) -> str:
        parts = [self.of(factor, PRODUCT if place == 0 else POWER) for place, factor in enumerate(factors)]
        text = parts[0]
        for part in parts[1:]:
            text += (r" \cdot " if part[:1].isdigit() else r"\,") + part
        return text

    def _power(self, base: t.Node, exponent: t.Node) -> str:
        if exponent == HALF:
            return rf"\sqrt{{{self.of(base, CONDITION)}}}"
        return f"{self.of(base, ATOM)}^{{{self.of(exponent, CONDITION)}}}"

    def _call(self, name: str, arguments: tuple[t.Node, ...]) -> tuple[str, int]:
        if name in BIG and arguments and isinstance(arguments[-1], t.Tuple) and len(arguments[-1].items) == 3:
            index, low, high = (self.of(i, CONDITION) for i in arguments[-1].items)
            body = self.of(arguments[0], PRODUCT)
            if name in ("sum", "prod"):
                return rf"{BIG[name]}_{{{index}={low}}}^{{{high}}} {body}", PRODUCT
            return rf"{BIG[name]}_{{{low}\le {index}\le {high}}} {body}", PRODUCT
        if not arguments:  # a number of the problem, as print has it
            shown = self._function(name)
            return shown, POWER if "^" in shown else ATOM
        inner = ", ".join(self.of(a, CONDITION) for a in arguments)
        if name == "sqrt":
            return rf"\sqrt{{{inner}}}", ATOM
        if name in FENCES:
            left, right = FENCES[name]
            return f"{left}{inner}{right}", ATOM
        if name == "plus":
            return rf"\left({inner}\right)_+", ATOM
        if name == "mode" and len(arguments) == 3:  # a tensor times a matrix along one of its indices
            tensor, place, matrix = arguments
            return (
                rf"{self.of(tensor, PRODUCT)} \times_{{{self.of(place, CONDITION)}}} {self.of(matrix, POWER)}",
                PRODUCT,
            )
        if name == "T" and len(arguments) == 1:
            return rf"{self.of(arguments[0], ATOM)}^{{\top}}", POWER
        if name == "inv" and len(arguments) == 1:
            return rf"{self.of(arguments[0], ATOM)}^{{-1}}", POWER
        return rf"{self._function(name)}\left({inner}\right)", ATOM

    def _function(self, name: str) -> str:
        if name in self.display:
            return self.display[name]
        return OPERATORS.get(name) or function_latex(name)

    def _condition(self, node: t.Node) -> str:
        match node:
            case t.Compare(operands=operands, operators=operators):
                parts = [self.of(operands[0], SUM)]
                for operator, operand in zip(operators, operands[1:], strict=True):
                    parts.append(f"{RELATIONS[operator]} {self.of(operand, SUM)}")
                return " ".join(parts)
            case t.Logical(operator=word, operands=operands):
                return rf" \text{{ {word} }} ".join(
                    self.of(o, CONDITION if isinstance(o, t.Not | t.Compare) else SUM) for o in operands
                )
            case t.Not(operand=operand):
                return rf"\neg {self.of(operand, SUM)}"
            case t.Conditional(test=test, yes=yes, no=no):
                first = rf"{self.of(yes, CONDITION)} & {self.of(test, CONDITION)}"
                return rf"\begin{{cases}} {first} \\ {self.of(no, CONDITION)} & \text{{else}} \end{{cases}}"
        raise TypeError(f"no LaTeX for {type(node).__name__}")


def _short_decimal(top: int, bottom: int) -> str:
    """A decimal of at most four digits after the point where the fraction terminates there, else ''."""
    for digits in range(1, 5):
        if (abs(top) * 10**digits) % bottom == 0 and bottom > 9:
            scaled = abs(top) * 10**digits // bottom
            return ("-" if top < 0 else "") + f"{scaled / 10**digits:.{digits}f}"
    return ""
