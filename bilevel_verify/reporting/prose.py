"""Formulas inside running text: ``H_nu**(-1/(2+2 nu_f))`` in a reason is set as a formula, all else is escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import letter_latex, parse, to_latex
from bilevel_verify.reporting.mathml import mixed_to_html, to_mathml

_PART = re.compile(r"[\w.*/+-]")
_GREEK = "eps|Delta|lambda|kappa|phi|theta|delta|sigma|rho|mu|nu|eta|tau"
_LETTER = re.compile(rf"\b(?:[A-Za-z]{{1,2}}_[A-Za-z0-9]{{1,6}}|(?:{_GREEK})(?:_\w{{1,6}})?)\b")
_OPERATOR = re.compile(
    r"\blambda_(min|max)(?=\()|\b(nabla)(?:\^(\d+))?(?:_([xyz]{1,4})\b)?|\b(D)\^(\d+)(?:_([xyz]{1,4})\b)?|\^(nu_\w)\b"
)
"""Derivatives, eigenvalues and exponents as constants are described: nabla^2_yy, D^3, lambda_min(...), ^nu_g."""
_SIGN = re.compile(r"(<=|>=|==|<|>|=)?\s*(.*)", re.S)
SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "=", "=": "=", "<": "<", ">": ">"}
LONGEST = 4000


@lru_cache(maxsize=4096)
def expression(text: str) -> str:
    """A formula of the card language as MathML; as escaped code where it is not understood."""
    found = _set(text)
    return f"<code>{escape(text)}</code>" if found is None else found


@lru_cache(maxsize=4096)
def prose(text: str) -> str:
    """Running text with its formulas set: those between dollar signs, powers, and letters with an index."""
    if "$" in text:
        return mixed_to_html(text)
    return "".join(to_mathml(part) if formula else escape(part) for formula, part in _pieces(text))


def prose_markdown(text: str) -> str:
    """The same text for Markdown, formulas between dollar signs."""
    if "$" in text:
        return text
    return "".join(f"${part}$" if formula else part for formula, part in _pieces(text))


def _pieces(text: str) -> list[tuple[bool, str]]:
    """The text cut into formulas, as LaTeX, and words."""
    if len(text) > LONGEST:
        return [(False, text)]
    out: list[tuple[bool, str]] = []
    done = 0
    for start, end in _powers(text):
        piece = re.sub(r"\blambda\b", "lam", text[start:end])
        found = latex_of(re.sub(r"([\w)])\s+(?=[A-Za-z(])", r"\1*", piece))
        if found is not None and start >= done:
            out += [*_letters(text[done:start]), (True, found)]
            done = end
    return [*out, *_letters(text[done:])]


def _letters(text: str) -> list[tuple[bool, str]]:
    """Words, and the letters with an index and the Greek ones among them."""
    out: list[tuple[bool, str]] = []
    done = 0
    for found in sorted([*_LETTER.finditer(text), *_OPERATOR.finditer(text)], key=lambda one: one.start()):
        if found.re is _OPERATOR:
            out += [(False, text[done : found.start()]), (True, _operator(found))]
            done = found.end()
            continue
        if found.start() < done:
            continue
        before, after = text[max(0, found.start() - 1) : found.start()], text[found.end() : found.end() + 1]
        if before in ("-", "/", ".", "'", '"', "=") or after in ("-", "/", "(", "'", '"', "["):
            continue  # part of a name (a statement, a file, a call), no letter by itself
        out += [(False, text[done : found.start()]), (True, letter_latex(found[0]))]
        done = found.end()
    return [*out, (False, text[done:])]


def _operator(found: re.Match[str]) -> str:
    """A derivative, an eigenvalue or an exponent as LaTeX."""
    extreme, nabla, order, block, _, d_order, d_block, exponent = found.groups()
    if exponent:
        return f"{{}}^{{{letter_latex(exponent)}}}"
    if extreme:
        return rf"\lambda_{{\{extreme}}}"
    symbol, power, below = (r"\nabla", order, block) if nabla else ("D", d_order, d_block)
    return symbol + (f"^{{{power}}}" if power else "") + (f"_{{{below}}}" if below else "")


def _powers(text: str) -> list[tuple[int, int]]:
    """Ends of the formulas around every ``**``, from left to right."""
    found: list[tuple[int, int]] = []
    for power in re.finditer(r"\*\*", text):
        if found and power.start() < found[-1][1]:
            continue
        start, end = _reach(text, power.start(), -1), _reach(text, power.end() - 1, 1)
        piece = text[start:end].strip("+-*/.")
        shift = text.index(piece, start) if piece else start
        found.append((shift, shift + len(piece)))
    return found


def _reach(text: str, at: int, step: int) -> int:
    """Where a formula ends in one direction: at a blank outside brackets, or at a bracket that opens outside it."""
    opening, closing = ("([", ")]") if step > 0 else (")]", "([")
    depth, place = 0, at
    while 0 <= place + step < len(text):
        letter = text[place + step]
        if letter in opening:
            depth += 1
        elif letter in closing:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and not _PART.match(letter):
            break
        place += step
    return place + 1 if step > 0 else place


def _set(text: str) -> str | None:
    """A formula, or the right side of a relation with its sign, as MathML."""
    sign, rest = _SIGN.fullmatch(text.strip()).groups()  # type: ignore[union-attr]  # it matches every text
    found = latex_of(rest)
    return None if found is None else to_mathml(f"{SIGNS[sign]} {found}" if sign else found)


def latex_of(text: str) -> str | None:
    """A formula of the card language as LaTeX; None where it is not understood."""
    try:
        return to_latex(parse(text))
    except (BilevelVerifyError, RecursionError, ValueError, TypeError, KeyError):
        return None
