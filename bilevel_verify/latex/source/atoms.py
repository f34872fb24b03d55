"""One printed symbol: a letter with font, accents, primes, star and scripts, before anybody asks what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Group, Item, Macro, Script
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Source, Token

SHORT = {"lambda": "lam", "epsilon": "eps", "Lambda": "Lam"}
"""Names that the expression language gives to letters whose own name is taken or long."""
SPELLINGS = {"varepsilon": ("varepsilon", "eps", "epsilon"), "varphi": ("varphi", "phi"), "epsilon": ("eps", "epsilon")}
FONT_NAMES = {"mathbf": "bf", "mathcal": "cal", "mathbb": "bb", "mathfrak": "fr", "mathscr": "scr", "mathsf": "sf"}


@dataclass(frozen=True, slots=True)
class Atom:
    """``symbol`` is the canonical LaTeX of letter, font and accents (``\\tilde{\\mathbf{x}}``)."""

    symbol: str
    primes: int = 0
    star: bool = False
    sub: tuple[Item, ...] | None = None
    sup: tuple[Item, ...] | None = None
    at: int = 0

    def fixed(self) -> tuple[int, bool, str | None, str | None]:
        """Everything but the symbol, as text."""
        return (
            self.primes,
            self.star,
            None if self.sub is None else flat(self.sub),
            None if self.sup is None else flat(self.sup),
        )

    def latex(self) -> str:
        """The symbol as it is printed, canonically spelt."""
        sup = "*" * self.star + ("" if self.sup is None else flat(self.sup))
        sub = "" if self.sub is None else f"_{{{flat(self.sub)}}}"
        return f"{self.symbol}{chr(39) * self.primes}{sub}" + (f"^{{{sup}}}" if sup else "")


def atom_of(source: Source, items: Sequence[Item], place: int) -> tuple[Atom | None, int]:
    """The symbol at a place with all its scripts, and the place after it; None if no symbol stands there."""
    bare, inner, at = _bare(items[place] if place < len(items) else None)
    if bare is None:
        return None, place
    atom = Atom(bare, at=at)
    for under in inner:
        atom = _scripted(source, atom, under)
    place += 1
    while place < len(items) and isinstance(items[place], Script):
        script = items[place]
        assert isinstance(script, Script)
        atom = _scripted(source, atom, script)
        place += 1
    return atom, place


def _bare(item: Item | None) -> tuple[str | None, list[Script], int]:
    """Canonical symbol of an item, and scripts that stand under its accent."""
    match item:
        case Token(kind="letter", text=text, font=font, at=at):
            return (f"\\{font}{{{text}}}" if font else text), [], at
        case Token(kind="digits", text=text, font=font, at=at) if font and font != "mathrm":
            return f"\\{font}{{{text}}}", [], at
        case Token(kind="word", text=text, at=at) if is_name(text):
            return upright(text), [], at
        case Token(kind="command", text="nabla" | "partial" as text, at=at):
            return f"\\{text}", [], at
        case Macro(name=name, arguments=(Group(items=inner),), at=at) if name in symbols.ACCENTS and inner:
            symbol, scripts, _ = _bare(inner[0])
            rest = inner[1:]
            if symbol is None or any(not isinstance(part, Script) for part in rest):
                return None, [], at
            accented = f"\\{symbols.ACCENTS[name]}{{{symbol}}}"
            return accented, [*scripts, *(p for p in rest if isinstance(p, Script))], at
    return None, [], 0


def is_name(text: str) -> bool:
    """Whether words may be the name of something: no more than two, and no reason."""
    return text.count(" ") < 2 and symbols.REASON.match(text) is None


def upright(word: str) -> str:
    """The symbol of a name that is a word."""
    name = word.replace(" ", "")
    return f"\\mathrm{{{name}}}" if name.isalpha() else f"\\operatorname{{{name}}}"


def _scripted(source: Source, atom: Atom, script: Script) -> Atom:
    """The atom with one more script.

    Raises
    ------
    LatexError : two subscripts or two superscripts.
    """
    if script.kind == "'":
        return replace(atom, primes=atom.primes + 1)
    if script.kind == "_":
        if atom.sub is not None:
            raise source.error("script", "two subscripts", script.at)
        return replace(atom, sub=script.items)
    items = list(script.items)
    star, primes = False, 0
    while items and isinstance(items[0], Token) and items[0].text in ("*", "ast", "star"):
        star = True
        items.pop(0)
    while items and _is_prime(items[-1]):
        primes += 1
        items.pop()
    while items and _is_prime(items[0]):
        primes += 1
        items.pop(0)
    if items and atom.sup is not None:
        raise source.error("script", "two superscripts", script.at)
    sup = tuple(items) if items else atom.sup
    return replace(atom, star=atom.star or star, primes=atom.primes + primes, sup=sup)


def _is_prime(item: Item) -> bool:
    if isinstance(item, Script):
        return item.kind == "'"
    return isinstance(item, Token) and item.text in ("prime", "'") and item.kind in ("command", "prime")


def default_names(atom: Atom) -> tuple[str, ...]:
    """Names for a symbol that has none, the first is the usual one: ``x_1`` and ``x1``, ``lam``, ``rho_bar``."""
    heads = _heads(atom.symbol)
    tails = ["_star"] if atom.star else [""]
    if atom.primes:
        tails = [tail + mark * atom.primes for tail in tails for mark in ("_p", "p")]
    sub = "" if atom.sub is None else _plain(flat(atom.sub))
    tails = [f"{t}{joint}{sub}" for t in tails for joint in (("_", "") if sub.isdigit() else ("_",))] if sub else tails
    return tuple(head + tail for tail in tails for head in heads)


def index_name(atom: Atom) -> str:
    """Name of a running letter."""
    return default_names(atom)[0]


def _heads(symbol: str) -> tuple[str, ...]:
    """Names of a bare symbol."""
    found = re.fullmatch(r"\\([A-Za-z]+)\{(.*)\}", symbol)
    if found is None:
        word = symbol.removeprefix("\\")
        return SPELLINGS.get(word, (SHORT.get(word, word),)) if symbol.startswith("\\") else (word,)
    wrapper, inner = found[1], found[2]
    if wrapper in ("mathrm", "operatorname"):
        return (_plain(inner) or "word",)
    suffix = FONT_NAMES.get(wrapper, wrapper)
    return tuple(f"{head}_{suffix}" if head[:1].isalpha() else f"n{head}_{suffix}" for head in _heads(inner))


def _plain(text: str) -> str:
    """Letters and digits of a subscript, joined to a name."""
    return "_".join(SHORT.get(part, part) for part in re.split(r"[^A-Za-z0-9]+", text) if part)
