"""Formulas inside running text: ``H_nu**(-1/(2+2 nu_f))`` in a reason is set as a formula, all else is escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import letter_latex, parse, to_latex
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.reporting.mathml import mixed_to_html, to_mathml

_PART = re.compile(r"[\w.*/+-]")
_GREEK = "eps|ell|Delta|lambda|kappa|phi|theta|delta|sigma|rho|mu|nu|eta|tau"
_LETTER = re.compile(rf"\b(?:[A-Za-z]{{1,2}}_[A-Za-z0-9]{{1,6}}|(?:{_GREEK})(?:_\w{{1,6}})?)\b")
_OPERATOR = re.compile(
    r"\blambda_(min|max)(?=\()|\b(nabla)(?:\^(\d+))?(?:_([xyz]{1,4})\b)?|\b(D)\^(\d+)(?:_([xyz]{1,4})\b)?|\^(nu_\w)\b"
)
"""Derivatives, eigenvalues and exponents as constants are described: nabla^2_yy, D^3, lambda_min(...), ^nu_g."""
_SIMPLE = re.compile(rf"(?:[A-Za-z]|[A-Za-z]\d+|{_GREEK})(?:_[A-Za-z0-9]+(?:_[A-Za-z0-9]+)?)?")
"""What may be a letter in a formula without dollar signs: longer words are words."""
_TOKEN = re.compile(r"[A-Za-z]\w*|\d+(?:\.\d+)?|\*\*|<=|>=|==|[-+*/^=<>(){},]|\s")
_SIGNED = re.compile(r" (?:<=|>=|==|[=<>]) |[\^*]")
"""What makes a span a formula: a relation between blanks, a power, a product."""
_ADJECTIVE = re.compile(r"-(?:Lipschitz|strongly|smooth|stationary)\b")
_INDEX = re.compile(r"\b([A-Za-z])_\{([A-Za-z0-9+-]{1,9})\}")
_CURVATURE = re.compile(r"\|([fg]):([xyz]{1,4})\|")
_SIGN = re.compile(r"(<=|>=|==|<|>|=)?\s*(.*)", re.S)
SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "=", "=": "=", "<": "<", ">": ">"}
LONGEST = 4000
WIDEST = 72
"""Letters of the longest formula among words: a longer one stays text, which can break."""
FUNCTIONS = frozenset({*ELEMENTARY, "norm", "abs", "max", "min"})


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
    return "".join(to_mathml(part) if formula else escape(_signed(part)) for formula, part in _pieces(text))


def prose_markdown(text: str) -> str:
    """The same text for Markdown, formulas between dollar signs."""
    if "$" in text:
        return text
    return "".join(f"${part}$" if formula else part for formula, part in _pieces(text))


def _signed(words: str) -> str:
    """Words with the signs of relations as they are printed."""
    return words.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")


def _pieces(text: str) -> list[tuple[bool, str]]:
    """The text cut into formulas, as LaTeX, and words."""
    if len(text) > LONGEST:
        return [(False, text)]
    out: list[tuple[bool, str]] = []
    done = 0
    for start, end in sorted([*_powers(text), *_spans(text)], key=lambda ends: (ends[0], -ends[1])):
        found = _formula(text[start:end]) if start >= done else None
        if found is not None:
            out += [*_letters(text[done:start]), (True, found)]
            done = end
    return [*out, *_letters(text[done:])]


def _formula(text: str) -> str | None:
    """LaTeX of a formula as running text has it: ``2 K`` is a product, ``^`` a power, ``=`` a relation."""
    piece = text.replace("^", "**").translate({ord("{"): "(", ord("}"): ")"})
    piece = re.sub(r"\blambda\b", "lam", piece)
    piece = re.sub(r"(?<![<>=])=(?!=)", "==", piece)
    return latex_of(re.sub(r"([\w)])\s+(?=[A-Za-z(])", r"\1*", piece))


def _spans(text: str) -> list[tuple[int, int]]:
    """Ends of relations, powers and products of letters and numbers, each with all that belongs to it."""
    found, start, end = [], 0, 0
    for token in [*_TOKEN.finditer(text), None]:
        joined = token is not None and token.start() == end and (token[0][0] not in _ALPHA or _letter_like(text, token))
        if token is not None and joined:
            end = token.end()
            continue
        found += _trimmed(text, start, end)
        if token is not None:
            start = token.start() if token[0][0] not in _ALPHA or _letter_like(text, token) else token.end()
            end = token.end()
    return found


_ALPHA = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _letter_like(text: str, token: re.Match[str]) -> bool:
    if text[token.end() : token.end() + 1] == "(" and token[0] in FUNCTIONS:
        return True
    return _SIMPLE.fullmatch(token[0]) is not None


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A span without blanks and loose signs at its ends, if it holds a formula; whole, or cut at its commas."""
    found = []
    for part in re.finditer(r"(?:[^,()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+", text[start:end]):
        piece = part[0].strip(" ,*/=<>+\n\t")
        first = start + part.start() + part[0].index(piece) if piece else start
        before, after = text[max(0, first - 1) : first], text[first + len(piece) :][:2]
        alone = not re.match(r"[\w.'\"`\[|:<]", before) and not re.match(r"['\"`\[|_>:*(^/]|\.\.", after)
        alone = alone and len(piece) <= WIDEST and not re.search(r"\.\d{3}", piece)  # a measured number is no fraction
        if alone and _SIGNED.search(piece) and re.search(r"[A-Za-z]", piece):
            found.append((first, first + len(piece)))
    return found


def _letters(text: str) -> list[tuple[bool, str]]:
    """Words, and the letters with an index and the Greek ones among them."""
    out: list[tuple[bool, str]] = []
    done = 0
    marks = [*_LETTER.finditer(text), *_OPERATOR.finditer(text), *_CURVATURE.finditer(text), *_INDEX.finditer(text)]
    for found in sorted(marks, key=lambda one: one.start()):
        latex = _mark(found, text) if found.start() >= done else None
        if latex is not None:
            out += [(False, text[done : found.start()]), (True, latex)]
            done = found.end()
    return [*out, (False, text[done:])]


def _mark(found: re.Match[str], text: str) -> str | None:
    """LaTeX of a letter, an operator or an index; None where a letter is part of a name."""
    if found.re is _CURVATURE:
        level, block = found.groups()
        return rf"|\nabla^{{{len(block)}}}_{{{block}}} {level}|"
    if found.re is _INDEX:
        return f"{found[1]}_{{{found[2]}}}"
    if found.re is _OPERATOR:
        return _operator(found)
    before, after = text[max(0, found.start() - 1) : found.start()], text[found.end() : found.end() + 1]
    if before in (" ", "") and _ADJECTIVE.match(text, found.end()):
        return letter_latex(found[0])
    if before in ("-", "/", ".", "'", '"', "=") or after in ("-", "/", "(", "'", '"', "["):
        return None  # part of a name (a statement, a file, a call), no letter by itself
    return letter_latex(found[0])


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
