"""The grammar of a formula in running text: relations, sums, products side by side, powers, bars, inner products."""

from __future__ import annotations

import re

from bilevel_verify.language.latex import RELATIONS
from bilevel_verify.reporting.typesetting.inline_words import (
    ARTICLES,
    FENCES,
    FUNCTIONS,
    OPERATORS,
    Token,
    letter,
    script,
)

SIGNS = RELATIONS | {"=": "="}


DEEPEST = 12
"""Brackets within brackets."""


class NoFormula(Exception):
    """The piece does not fit the grammar."""


class Reader:
    """One formula from one place on: how far it goes, and its LaTeX."""

    def __init__(self, tokens: list[Token], at: int) -> None:
        self.tokens, self.at = tokens, at
        self.depth = 0
        self.signs = 0
        """Signs that make a piece a formula."""

    # -- tokens ----------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> Token:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else Token("end", "", 0, 0)

    def _state(self) -> tuple[int, int, int]:
        return self.at, self.depth, self.signs

    def _back(self, state: tuple[int, int, int]) -> None:
        """To an earlier place, as if nothing behind it had been tried."""
        self.at, self.depth, self.signs = state

    def _skip(self) -> bool:
        """Past a blank; whether there was one."""
        if self._peek().kind == "blank":
            self.at += 1
            return True
        return False

    def _take(self, *texts: str) -> bool:
        """Past one of these signs, with the blanks before it where brackets are open."""
        start = self._state()
        if self.depth:
            self._skip()
        if self._peek().kind == "sign" and self._peek().text in texts:
            self.at += 1
            return True
        self._back(start)
        return False

    # -- grammar ---------------------------------------------------------------------------------------------------

    def relation(self) -> str:
        """Sums with signs of relation between blanks (inside brackets also without)."""
        text = self.sum()
        while True:
            start = self._state()
            blank = self._skip()
            sign = self._peek()
            if sign.text not in SIGNS or not (self.depth or (blank and self._peek(1).kind == "blank")):
                self._back(start)
                return text
            self.at += 1
            self._skip()
            try:
                text += f" {SIGNS[sign.text]} {self.sum()}"
            except NoFormula:
                self._back(start)
                return text
            self.signs += 1

    def sum(self) -> str:
        """Products with plus and minus between them: blanks on both sides, or on none."""
        sign = self._peek().text if self._peek().text in ("-", "+") and self._peek().kind == "sign" else ""
        if sign:
            self.at += 1
        text = sign + self.product()
        while True:
            start = self._state()
            blank = self._skip()
            here = self._peek()
            after = self._peek(1).kind == "blank"
            named = not (blank or text.isdigit()) and self._peek(2).text == "-"  # the name c-1-c-1
            if here.text not in ("+", "-") or blank != after or named:
                self._back(start)
                return text
            self.at += 1
            self._skip()
            try:
                text += f" {here.text} {self.product()}"
            except NoFormula:
                self._back(start)
                return text
            self.signs += not (text[0].isdigit() and not self.depth and not blank)

    def product(self) -> str:
        """Factors side by side or with ``*``; what is divided is all that stands before the stroke."""
        text = self.power()
        while True:
            start = self._state()
            if self._take("*") or self._take("/"):
                divided = self.tokens[self.at - 1].text == "/"
                self._skip()
                try:
                    factor = self.power()
                except NoFormula:
                    self._back(start)
                    return text
                text = rf"\frac{{{_bare(text)}}}{{{_bare(factor)}}}" if divided else rf"{text}\,{factor}"
                self.signs += 1
                continue
            blank = self._skip()
            try:
                if not self._side_by_side():
                    raise NoFormula
                text += (r"\," if blank else "") + self.power()
            except NoFormula:
                self._back(start)
                return text

    def _side_by_side(self) -> bool:
        """Whether what follows can be a factor without a sign before it."""
        here, after = self._peek(), self._peek(1)
        if here.kind == "word":
            return here.text not in ARTICLES or (after.kind == "sign" and after.text in ("^", "**", "/"))
        if here.kind == "number":
            return False
        if here.text == "<":
            return after.kind != "blank"
        if here.text == "|":  # a bar that closes is no factor
            return self.depth == 0 or self._peek(-1).kind == "blank"
        label = self._peek(-1).kind == "blank" and after.kind in ("word", "number") and self._peek(2).text == ")"
        return here.text == "(" and not label

    def power(self) -> str:
        """An atom with its exponent and star."""
        text = self.atom()
        if self._starred():
            self.at += 1
            text += "^*"
        if self._peek().kind == "sign" and self._peek().text in ("^", "**"):
            self.at += 1
            self.signs += 1
            text = f"{text}^{{{self.exponent()}}}" if "^" not in text else rf"{{{text}}}^{{{self.exponent()}}}"
            below = self._below()
            text += f"_{{{below}}}" if below else ""
        return text

    def _starred(self) -> bool:
        """A star that marks a solution: ``x*``, ``y*(x)``; a star before a factor is a product."""
        before, here, after = self._peek(-1), self._peek(), self._peek(1)
        if here.text != "*" or before.kind != "word" or len(before.text.partition("_")[0]) > 1:
            return False
        if after.text == "(":
            return before.text in ("y", "w", "x") and self._peek(2).kind == "word" and self._peek(3).text in (")", ",")
        return after.kind not in ("word", "number") and not (after.kind == "blank" and self._peek(2).text == "(")

    def exponent(self) -> str:
        sign = "-" if self._peek().text == "-" else ""
        if sign:
            self.at += 1
        for left, right in (("(", ")"), ("{", "}")):
            if self._take(left):
                return sign + self._inside(right)
        here = self._peek()
        if here.kind == "number" or here.text in ("*", "+"):
            self.at += 1
            return sign + here.text
        found = letter(here.text) if here.kind == "word" else None
        if found is None:
            raise NoFormula
        self.at += 1
        return sign + found

    def atom(self) -> str:
        """A number, a letter, a function, brackets, bars, an inner product."""
        here = self._peek()
        if here.kind == "number":
            self.at += 1
            mantissa, _, exponent = here.text.partition("e")
            power = f"10^{{{exponent}}}"
            return mantissa if not exponent else power if mantissa == "1" else rf"{mantissa} \cdot {power}"
        if here.kind == "word":
            return self._word(here)
        if here.text == "(" and self._peek(1).kind == "number" and self._peek(2).text == ")":
            raise NoFormula  # the number of a formula
        if self._take("("):
            return rf"\left({self._inside(')')}\right)"
        if self._take("|"):
            self.signs += 1
            return rf"\left|{self._inside('|')}\right|"
        if here.text == "<" and self._peek(1).kind != "blank":
            self.at += 1
            self.signs += 1
            first = self._argument(",")
            self._skip()
            return rf"\langle {first}, {self._inside('>')}\rangle "
        raise NoFormula

    def _argument(self, end: str) -> str:
        self.depth += 1
        text = self.sum()
        if not self._take(end):
            raise NoFormula
        self.depth -= 1
        return text

    def _inside(self, end: str) -> str:
        """What stands before a closing bracket: relations, with commas between them."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoFormula
        self._skip()
        parts = [self.relation() if end not in "|>" else self.sum()]
        while end == ")" and self._take(","):
            self._skip()
            parts.append(self.relation())
        if not self._take(end):
            raise NoFormula
        self.depth -= 1
        return ", ".join(parts)

    def _word(self, here: Token) -> str:
        name = here.text
        if name in FENCES or name == "sqrt" or name in FUNCTIONS:
            return self._function(name)
        function, _, below = name.partition("_")
        if function in FUNCTIONS and below:
            self.at += 1
            self.signs += 1
            self._skip()
            return rf"{FUNCTIONS[function]}_{{{script(below.strip('{}'))}}} {self.atom()}"
        found = letter(name)
        if found is None:
            raise NoFormula
        self.at += 1
        self.signs += "_" in name or name in OPERATORS
        if name in ("grad", "nabla", "hess", "D") or name.startswith(("nabla_", "grad_", "hess_", "D_")):
            return self._derivative(found)
        return found

    def _function(self, name: str) -> str:
        self.at += 1
        if name not in FUNCTIONS and self._take("("):
            self.signs += 1
            left, right = FENCES.get(name, (r"\sqrt{", "}"))
            return f"{left}{self._inside(')')}{right}"
        if name in FUNCTIONS and self._peek().text in ("(", "{", "^"):
            self.signs += 1
            return FUNCTIONS[name]
        here = self._peek(1)
        if (
            name != "exp"
            and name not in FENCES
            and self._skip()
            and here.kind in ("number", "word")
            and here.text not in ARTICLES
        ):
            self.signs += 1
            return rf"\sqrt{{{self.atom()}}}" if name == "sqrt" else rf"{FUNCTIONS[name]} {self.atom()}"
        raise NoFormula

    def _derivative(self, symbol: str) -> str:
        """``grad^j Phi``, ``nabla^2_yy g``: order or component above, block below, then what is differentiated."""
        self.signs += 1
        if self._peek().text == "^" and self._peek(1).text in ("{", "("):
            self.at += 1
            return rf"{{{symbol}}}^{{{self.exponent()}}}"
        if self._peek().text == "^":
            if self._peek(1).kind not in ("word", "number"):
                raise NoFormula
            order, _, block = self._peek(1).text.partition("_")
            self.at += 2
            block = block or self._below()
            symbol += f"^{{{order}}}" + (f"_{{{block}}}" if block else "")
        start = self._state()
        if self._skip() and (self._peek().kind != "word" or letter(self._peek().text) is None):
            self._back(start)
        elif self._peek().kind == "word":
            symbol += f" {self.atom()}"
        return symbol

    def _below(self) -> str:
        """A subscript that stands behind an exponent, as in ``nabla^2_yy`` and ``K^2_t``."""
        if self._peek().text != "_" or self._peek(1).kind not in ("word", "number"):
            return ""
        self.at += 2
        return self._peek(-1).text


def _bare(text: str) -> str:
    """Without the brackets around all of it, which a fraction bar makes needless."""
    inner = text.removeprefix(r"\left(").removesuffix(r"\right)")
    whole = (
        text.startswith(r"\left(") and text.endswith(r"\right)") and inner.count(r"\left(") == inner.count(r"\right)")
    )
    return inner if whole and not re.search(r"\\right\).*\\left\(", inner) else text
