"""What kind one symbol is, by its traits, its relatives and what the words before it call it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from bilevel_verify.drafting.evidence import Evidence, Key, Traits
from bilevel_verify.latex.source.atoms import Atom
from bilevel_verify.latex.source.items import Group, Item, Macro, Script
from bilevel_verify.latex.source.tokens import Token

ORDERS = {"\\mathcal{O}": "O", "O": "O", "\\tilde{\\mathcal{O}}": "softO", "\\tilde{O}": "softO", "\\Omega": "Omega",
          "\\Theta": "Theta"}  # fmt: skip
SPECTRAL = {"\\lambda_{\\min}": "lambda_min", "\\lambda_{\\max}": "lambda_max"}
"""Functions of matrices that cards have."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that is known about one symbol."""

    key: Key
    traits: Traits
    base: Traits | None
    evidence: Evidence
    spoken: Counter[str]
    indices: frozenset[str]
    vectors: frozenset[Key]

    @property
    def display(self) -> str:
        return latex_of(self.traits.atom)

    @property
    def is_map(self) -> bool:
        """``T: H \\to H``, put before points: ``T x``, and no linear one."""
        traits = self.traits.traits
        number = traits["scalar place"] + traits["compared"] + traits["transposed"] + self.spoken["matrix"]
        return bool(traits["to itself"] and traits["prefix"] and not number)

    @property
    def applied(self) -> int:
        """How often it stands before a bracket that can only hold arguments: several, or a vector."""
        several = sum(n for arity, n in self.traits.arities.items() if arity > 1)
        return several + sum(n for key, n in self.traits.points.items() if key in self.vectors)


def kind_of(seen: Seen, function: bool) -> tuple[str, str]:
    """What a symbol is, or for a function its value; with a question where the paper shows both."""
    return _value(seen) if function else plain_kind(seen)


def _value(seen: Seen) -> tuple[str, str]:
    traits, symbol = seen.traits.traits, seen.key[0]
    vector = traits["value norm"] + traits["value product"] + traits["value point"]
    if symbol in ORDERS or symbol == "\\lambda" or (traits["value compared"] and not traits["value norm"]):
        return "scalar", ""
    letter = core(symbol)
    if traits["set"]:
        return "set", ""
    if traits["to itself"]:
        return "vector", ""
    if (vector and not traits["differentiated"]) or "\\mathbf" in symbol:
        return ("matrix" if letter[:1].isupper() else "vector"), ""
    if letter.islower() or letter.startswith("\\") or traits["differentiated"] or symbol.startswith("\\mathcal"):
        return "scalar", ""
    return "matrix", f"what is the value of ${seen.display}$: a number or a matrix?"


def plain_kind(seen: Seen) -> tuple[str, str]:
    display, traits, spoken = seen.display, seen.traits.traits, seen.spoken
    if traits["set"]:
        return "set", ""
    length = traits["norm"] + traits["product"] + traits["point"] + traits["transposed"] + spoken["vector"]
    number = traits["scalar place"] + traits["compared"] + spoken["scalar"]
    if traits["identity"] and not number and not seen.traits.sub_items:
        return "matrix", ""  # I - eta H, A + lambda I
    letter, bold = core(seen.key[0]), "\\mathbf" in seen.key[0]
    big = letter[:1].isupper() or (letter.startswith("\\") and letter[1:2].isupper())
    if spoken["matrix"] or traits["ordered"] or (bold and big and number == 0):
        return "matrix", f"is ${display}$ a matrix or a number?" if number > 1 else ""
    if bold and not (number and not length):
        return "vector", f"is ${display}$ a vector or a number?" if number > max(2, length // 3) else ""
    if length and number >= 4 * length:
        return "scalar", f"is ${display}$ a number or a vector?"
    if length:
        what = "matrix" if big else "vector"
        return what, f"is ${display}$ a {what} or a number?" if number * 3 > length else ""
    if number == 0:
        inherited = _inherited(seen.key, seen.evidence)
        if inherited:
            return inherited, ""
        bare = seen.evidence.symbols.get((seen.key[0], 0, False, ""))
        if seen.key[2] and bare is not None and bare.traits["value compared"]:
            return "scalar", ""  # F^* beside the minimum of F(x)
        if big and len(letter) == 1 and not seen.key[3] and not spoken:
            return "scalar", f"is ${display}$ a number or a matrix?"
    return "scalar", ""


def _inherited(key: Key, evidence: Evidence) -> str:
    """The kind of the same letter without prime, star, accent or name, if that is clearly no number."""
    plain = re.sub(r"^\\(?:hat|tilde|bar|check|breve|dot|vec)\{(.*)\}$", r"\1", key[0])
    for other in ((key[0], key[1], key[2], ""), (key[0], 0, False, ""), (plain, 0, False, "")):
        found = evidence.symbols.get(other)
        if found is None or other == key:
            continue
        length = found.traits["norm"] + found.traits["product"] + found.traits["point"]
        if length > 2 * (found.traits["scalar place"] + found.traits["compared"]):
            letter = core(key[0])
            return "matrix" if letter[:1].isupper() else "vector"
    return ""


def core(symbol: str) -> str:
    """The letter inside fonts and accents."""
    while found := re.fullmatch(r"\\[A-Za-z]+\{(.*)\}", symbol):
        symbol = found[1]
    return symbol


def latex_of(atom: Atom) -> str:
    """The LaTeX of a symbol with its scripts, from the items themselves: commands keep their backslash."""
    sub = "" if atom.sub is None else f"_{{{spelt(atom.sub)}}}"
    sup = "*" * atom.star + ("" if atom.sup is None else spelt(atom.sup))
    return f"{atom.symbol}{chr(39) * atom.primes}{sub}" + (f"^{{{sup}}}" if len(sup) > 1 else f"^{sup}" if sup else "")


def spelt(items: tuple[Item, ...]) -> str:
    """Items of a script as LaTeX without blanks."""
    out = []
    for item in items:
        match item:
            case Token(kind="command", text=text):
                out.append(f"{{\\{text}}}")
            case Token(kind="operator", text=text):
                out.append(f"{{\\{text}}}")
            case Token(kind="word", text=text):
                out.append(f"\\mathrm{{{text.replace(' ', '')}}}")
            case Token(kind="relation", text=text):
                out.append({"==": "="}.get(text, text))
            case Token(text=text, font=font):
                out.append(f"\\{font}{{{text}}}" if font else text)
            case Script(kind="'"):
                out.append("'" * max(len(item.items), 1))
            case Script(kind=kind, items=inner):
                out.append(f"{kind}{{{spelt(inner)}}}")
            case Macro(name=name, arguments=arguments):
                out.append(f"\\{name}" + "".join(f"{{{spelt(a.items)}}}" for a in arguments))
            case Group(items=inner):
                out.append(f"{{{spelt(inner)}}}")
    text = "".join(out)
    return text[1:-1] if text.startswith("{\\") and text.count("{") == 1 else text
