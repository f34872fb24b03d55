"""LaTeX to MathML for the subset that cards and derivations use, so that a page shows mathematics without a network.

What is not understood is shown as its source, never guessed and never passed through as markup: every character of the
input ends up escaped inside an element that this module wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from bilevel_verify.reporting.typesetting.breaking import fenced, pieces
from bilevel_verify.reporting.typesetting.symbols import (
    ACCENTS,
    ALPHABETS,
    FENCED,
    FUNCTIONS,
    HOLES,
    IGNORED,
    LARGE,
    LETTERLIKE,
    LIMITS,
    OPERATORS,
    SPACES,
    TABLES,
    TEXT,
    UPRIGHT,
)

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|[0-9]+(?:\.[0-9]+)?|.", re.S)
_SMALL_FRACTION = re.compile(r"<mfrac>(<m[in]>[^<]*</m[in]>)(<m[in]>[^<]*</m[in]>)</mfrac>")
_NESTING = 200


class LatexError(ValueError):
    """LaTeX outside the subset; carries a short reason."""


def to_mathml(latex: str, *, block: bool = False) -> str:
    """MathML of a formula; the source as escaped ``<code>`` where it is not understood.

    Parameters
    ----------
    latex : a formula without dollar signs. A long one comes as several elements that a browser may set in lines.
    block : a display of its own instead of one inside a line.
    """
    try:
        parts = _Parser(latex).formula()
    except (LatexError, RecursionError):
        return f'<code class="latex">{escape(latex)}</code>'
    if len(parts) == 1:
        display = ' display="block"' if block else ""
        return f"<math{display}>{parts[0]}</math>"
    if block:
        return '<div class="display">' + " ".join(f'<math displaystyle="true">{p}</math>' for p in parts) + "</div>"
    return "<wbr>".join(f"<math>{part}</math>" for part in parts)


def mixed_to_html(text: str, *, block: bool = False) -> str:
    """Running text with formulas between dollar signs; a text without any dollar sign is one formula."""
    if "$" not in text:
        return to_mathml(text, block=block)
    parts = re.split(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.S)
    out = []
    for plain, display, inline in zip(parts[0::3], [*parts[1::3], None], [*parts[2::3], None], strict=True):
        out.append(escape(plain))
        if display is not None:
            out.append(to_mathml(display, block=True))
        elif inline is not None:
            out.append(to_mathml(inline))
    return "".join(out)


def _row(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"


def _styled(letter: str, base: int) -> str:
    """A letter of one of the mathematical alphabets."""
    if letter.isascii() and letter.isupper():
        code = base + ord(letter) - ord("A")
    elif letter.isascii() and letter.islower():
        code = base + 26 + ord(letter) - ord("a")
    elif letter.isascii() and letter.isdigit() and base in (0x1D538, 0x1D400):
        code = (0x1D7D8 if base == 0x1D538 else 0x1D7CE) + int(letter)
    else:
        return letter
    return HOLES.get(code) or chr(code)


class _Parser:
    """Recursive descent over tokens; every method returns MathML of what it consumed."""

    def __init__(self, latex: str) -> None:
        if len(latex) > 20_000:
            raise LatexError("too long")
        self.tokens = [t for t in _TOKEN.findall(latex.strip()) if not t.isspace()]
        self.raw = _TOKEN.findall(latex.strip())
        self.place = 0
        self.depth = 0
        self._spaced = [i for i, t in enumerate(self.raw) if not t.isspace()]

    def formula(self) -> list[str]:
        """The pieces of the formula, each a row."""
        items = self._until(())
        if self.place < len(self.tokens):
            raise LatexError(f"unexpected {self.tokens[self.place]!r}")
        cut = pieces(items)
        return [_row(items) if items else "<mrow></mrow>"] if len(cut) == 1 else [f"<mrow>{p}</mrow>" for p in cut]

    # ---- structure -----------------------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise LatexError("ends too early")
        self.place += 1
        return token

    def _until(self, stops: tuple[str, ...]) -> list[str]:
        self.depth += 1
        if self.depth > _NESTING:
            raise LatexError("nested too deeply")
        items: list[str] = []
        while self._peek() and self._peek() not in stops and self._peek() != "}":
            part = self._scripted()
            if part:
                items.append(part)
        self.depth -= 1
        return items

    def _scripted(self) -> str:
        """An atom with its sub- and superscripts."""
        limits = self._peek().lstrip("\\").rstrip("*") in LIMITS | LARGE.keys() or self._arg_operator()
        base = self._atom()
        below: str | None = None
        above: str | None = None
        while self._peek() in ("_", "^", "'", "\\limits", "\\nolimits"):
            token = self._take()
            if token == "_":
                below = self._script() if below is None else _row([below, self._script()])
            elif token == "^":
                above = self._script() if above is None else _row([above, self._script()])
            elif token == "'":
                prime = "<mo>′</mo>"
                above = prime if above is None else _row([above, prime])
        if below is None and above is None:
            return base
        base = base or "<mrow></mrow>"
        under, both, over = ("munder", "munderover", "mover") if limits else ("msub", "msubsup", "msup")
        if below is not None and above is not None:
            return f"<{both}>{base}{below}{above}</{both}>"
        if below is not None:
            return f"<{under}>{base}{below}</{under}>"
        return f"<{over}>{base}{above}</{over}>"

    def _arg_operator(self) -> bool:
        return self.tokens[self.place : self.place + 2] in (["\\arg", "\\min"], ["\\arg", "\\max"])

    def _argument(self) -> str:
        """One braced group or one atom; of a number without braces only its first digit, as TeX has it."""
        while self._peek().startswith("\\") and self._peek()[1:] in IGNORED:
            self._take()
        token = self._peek()
        if token == "{":
            return self._group()
        if len(token) > 1 and token[0].isdigit():
            self.tokens[self.place] = token[1:]
            return f"<mn>{token[0]}</mn>"
        return self._atom()

    def _script(self) -> str:
        """A sub- or superscript; a fraction of two plain symbols is set on one line there."""
        return _SMALL_FRACTION.sub(r"<mrow>\1<mo>/</mo>\2</mrow>", self._argument())

    def _group(self) -> str:
        if self._take() != "{":
            raise LatexError("a brace is missing")
        items = self._until(())
        if self._peek() != "}":
            raise LatexError("a brace is not closed")
        self._take()
        return _row(items) if items else "<mrow></mrow>"

    def _atom(self) -> str:
        token = self._peek()
        if token == "{":
            return self._group()
        if self._arg_operator():
            self._take()
            return f"<mo>arg&nbsp;{self._take()[1:]}</mo>".replace("&nbsp;", " ")
        self._take()
        if token.startswith("\\"):
            return self._command(token[1:])
        return self._character(token)

    @staticmethod
    def _character(token: str) -> str:
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        if token in ("_", "^", "&", "#", "%", "$", "~"):
            if token == "~":
                return '<mspace width="0.25em"></mspace>'
            raise LatexError(f"unexpected {token!r}")
        symbol = {"-": "−", "*": "∗", "'": "′"}.get(token, token)
        stretch = ' stretchy="false"' if token in "()[]|/" else ""
        return f"<mo{stretch}>{escape(symbol)}</mo>"

    # ---- commands ------------------------------------------------------------------------------------------------

    def _command(self, name: str) -> str:
        simple = self._symbol(name)
        if simple is not None:
            return simple
        if name in ("frac", "dfrac", "tfrac", "cfrac"):
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
        if name == "binom":
            inner = f'<mfrac linethickness="0">{self._argument()}{self._argument()}</mfrac>'
            return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"
        if name == "sqrt":
            return self._root()
        if name in ACCENTS:
            stretchy = "true" if name.startswith(("over", "wide")) else "false"
            return f'<mover accent="true">{self._argument()}<mo stretchy="{stretchy}">{ACCENTS[name]}</mo></mover>'
        if name == "underline":
            return f"<munder>{self._argument()}<mo>_</mo></munder>"
        if name in ("underbrace", "overbrace"):
            return self._argument()
        if name in ALPHABETS:
            return "".join(self._styled_group(ALPHABETS[name]))
        if name in UPRIGHT or name in TEXT or name == "operatorname*":
            return self._upright(name)
        if name in ("left", "middle", "right"):
            return self._fence(name)
        if name == "begin":
            return self._environment()
        if name in ("tag", "label", "eqref", "ref", "cite", "tag*"):
            self._plain_group()
            return ""
        if name == "not":
            return f"<mo>{escape(_negated(self._argument()))}</mo>"
        if name in ("stackrel", "overset"):
            above, base = self._argument(), self._argument()
            return f"<mover>{base}{above}</mover>"
        if name == "underset":
            below, base = self._argument(), self._argument()
            return f"<munder>{base}{below}</munder>"
        raise LatexError(f"unknown command \\{name}")

    def _symbol(self, name: str) -> str | None:
        if name in LETTERLIKE:
            return f"<mi>{LETTERLIKE[name]}</mi>"
        if name in OPERATORS:
            fence = ' stretchy="false"' if OPERATORS[name] in "⟨⟩⌊⌋⌈⌉{}|‖[]" else ""
            return f"<mo{fence}>{escape(OPERATORS[name])}</mo>"
        if name in LARGE:
            return f'<mo movablelimits="true">{LARGE[name]}</mo>'
        if name in LIMITS:
            return f'<mo movablelimits="true">{name.replace("arg", "arg ")}</mo>'
        if name in FUNCTIONS:
            return f"<mi>{name}</mi><mo>⁡</mo>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"></mspace>' if SPACES[name] != "0" else ""
        if name in IGNORED:
            return ""
        if name in ("_", "%", "&", "#", "$"):
            return f"<mo>{escape(name)}</mo>"
        return None

    def _root(self) -> str:
        if self._peek() != "[":
            return f"<msqrt>{self._argument()}</msqrt>"
        self._take()
        degree = _row(self._until(("]",)) or ["<mrow></mrow>"])
        self._take()
        return f"<mroot>{self._argument()}{degree}</mroot>"

    def _styled_group(self, base: int) -> list[str]:
        braced = self._peek() == "{"
        if braced:
            self._take()
        out = []
        while True:
            token = self._take()
            if token.startswith("\\"):
                out.append(self._command(token[1:]))
            else:
                out += [f"<mi>{escape(_styled(c, base))}</mi>" for c in token]
            if not braced:
                return out
            if self._peek() == "}":
                self._take()
                return [_row(out)]

    def _upright(self, name: str) -> str:
        text = self._plain_group()
        if name in TEXT:
            kept = re.sub(r"^ | $", "\u00a0", text)  # a browser drops plain spaces at the ends
            return f"<mtext>{escape(kept)}</mtext>"
        return f'<mi mathvariant="normal">{escape(text.replace("~", " "))}</mi>'

    def _plain_group(self) -> str:
        """The characters of a braced group with their spaces (for text)."""
        if self._peek() != "{":
            return self._take().lstrip("\\")
        start = self.place
        depth = 0
        while True:
            token = self._take()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                break
        first, last = self._spaced[start] + 1, self._spaced[self.place - 1]
        words = {"\\,": " ", "\\ ": " ", "\\_": "_", "\\%": "%", "$": "", "{": "", "}": ""}
        return "".join(words.get(t, re.sub(r"\s+", " ", t)) for t in self.raw[first:last])

    def _fence(self, name: str) -> str:
        """``\\left( ... \\right)`` as stretching operators around a row."""
        opening = self._delimiter()
        if name != "left":
            return f"<mo stretchy='true'>{opening}</mo>".replace("'", '"')
        items = self._until(("\\right",))
        if self._peek() != "\\right":
            raise LatexError("\\left without \\right")
        self._take()
        closing = self._delimiter()
        return fenced(opening, items, closing)

    def _delimiter(self) -> str:
        token = self._take()
        if token == ".":
            return ""
        if token.startswith("\\"):
            if token[1:] not in OPERATORS:
                raise LatexError(f"{token} is no delimiter")
            return escape(OPERATORS[token[1:]])
        return escape(token)

    def _environment(self) -> str:
        name = self._plain_group()
        if name not in TABLES:
            raise LatexError(f"unknown environment {name}")
        if name == "array" and self._peek() == "{":
            self._plain_group()
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(_row(self._until(("&", "\\\\", "\\end")) or ["<mrow></mrow>"]))
            token = self._take()
            if token == "\\\\":
                rows.append([])
            elif token == "\\end":
                break
            elif token != "&":
                raise LatexError(f"unexpected {token!r}")
        if self._plain_group() != name:
            raise LatexError(f"\\begin{{{name}}} is not closed")
        body = "".join(
            "<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in row) + "</mtr>"
            for row in rows
            if row != ["<mrow></mrow>"]
        )
        opening, closing = FENCED.get(name, ("", ""))
        left = f'<mo fence="true" stretchy="true">{opening}</mo>' if opening else ""
        right = f'<mo fence="true" stretchy="true">{closing}</mo>' if closing else ""
        align = ' columnalign="left"' if name in ("cases", "aligned", "align", "align*", "split") else ""
        return f"<mrow>{left}<mtable{align}>{body}</mtable>{right}</mrow>"


def _negated(element: str) -> str:
    text = re.sub("<[^>]*>", "", element)
    return {"=": "≠", "∈": "∉", "&lt;": "≮", "≤": "≰"}.get(text, text + "\u0338")
