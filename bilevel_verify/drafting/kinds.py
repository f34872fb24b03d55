"""From evidence to a notation: which symbols are numbers, vectors, matrices, sequences, functions; what stays open.

Where the evidence is against itself the symbol is asked about, and taken for what proves least: a vector rather than a
number, a matrix rather than a vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bilevel_verify.drafting.evidence import Evidence, Key, Traits, is_running, is_word
from bilevel_verify.latex import Entry, Notation
from bilevel_verify.latex.atoms import Atom, default_names, index_name
from bilevel_verify.latex.structure import Group, Item, Macro, Script, flat
from bilevel_verify.latex.symbols import WORDS
from bilevel_verify.latex.tokens import Token
from bilevel_verify.latex.values import Kind
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

ORDERS = {"\\mathcal{O}": "O", "O": "O", "\\tilde{\\mathcal{O}}": "softO", "\\tilde{O}": "softO", "\\Omega": "Omega",
          "\\Theta": "Theta"}  # fmt: skip
INDEX_LETTERS = "i j k l m n p q r s t"
SPECTRAL = {"\\lambda_{\\min}": "lambda_min", "\\lambda_{\\max}": "lambda_max"}
TAKEN = frozenset(NUMBERS) | SCALAR_FUNCTIONS | RANGE_FUNCTIONS | {"E", "O", "softO", "Omega", "Theta", "T", "list", "set"}
SAID = {
    "scalar": r"constants?|numbers?|scalars?|parameters?|step[- ]?sizes?|accuracy|tolerance|radius|reals?|integers?",
    "vector": r"vectors?|points?|iterates?",
    "matrix": r"matri(?:x|ces)",
    "function": r"functions?|objectives?|losses|loss|mappings?|maps?",
}
"""Words before a formula -> what they say about the symbol in it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A symbol with what it was taken for; ``doubt`` is a question to the author, or empty."""

    entry: Entry
    first: int
    count: int
    doubt: str = ""
    kind: str = "scalar"


def said(words: str) -> str:
    """What the last words before a formula say that it is; empty if nothing."""
    for kind, pattern in SAID.items():
        if re.search(rf"\b(?:{pattern})\s*\Z", words, re.IGNORECASE):
            return kind
    return ""


def notation_of(
    evidence: Evidence, spoken: Mapping[Key, Counter[str]], answers: Mapping[str, str]
) -> tuple[Notation, list[Declared]]:
    """The notation of a paper, and its symbols.

    ``spoken`` are what the words before a symbol call it; ``answers`` are the author's: LaTeX -> kind.
    """
    indices = frozenset(evidence.indices)
    found: list[Declared] = []
    sequences = {key[:3] for key, traits in evidence.symbols.items() if not key[3] and _indexed(traits, indices)}
    names: set[str] = set()
    for key, traits in evidence.symbols.items():
        if _skipped(key, indices):
            continue
        base = evidence.symbols.get((*key[:3], ""))
        if key[3] and key[:3] in sequences and not is_word(key[3]) and re.fullmatch(r"[-0-9,+]*", key[3]):
            continue
        declared = _declared(key, traits, base, evidence, spoken.get(key, Counter()), indices, answers)
        found += _with_names(declared, names)
    entries = tuple(d.entry for d in found)
    entries += tuple(_index(letter) for letter in sorted(indices) if not any(e.display == letter for e in entries))
    norms = {"": "norm", "2": "norm", "F": "frobenius", **{n: f"norm_{_safe(n)}" for n in evidence.norms}}
    running = frozenset({*INDEX_LETTERS.split(), *(i.replace("\\", "") for i in indices)})
    notation = Notation(entries, running, True, norms=norms, options={"open_minima": "wide"}, title="draft")
    return notation, found


def _index(letter: str) -> Entry:
    atom = Atom(letter)
    return Entry(index_name(atom), "letter", "scalar", letter, atom)


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "other"


def _skipped(key: Key, indices: frozenset[str]) -> bool:
    symbol = key[0]
    inner = re.fullmatch(r"\\(?:mathrm|operatorname)\{([^{}]*)\}", symbol)
    if inner and (inner[1].lower() in WORDS or len(inner[1]) > 30):
        return True
    return symbol in ("\\mathbb{R}", "\\mathbb{E}", "\\nabla", "\\partial", "\\pi", "\\mathbf{1}", "\\mathbb{1}") or (
        symbol in indices and not key[3] and not key[2] and not key[1]
    )


def _indexed(traits: Traits, indices: frozenset[str]) -> bool:
    return any(is_running(items, indices) for items in traits.sub_items.values())


def _upper(traits: Traits, indices: frozenset[str], kind: str) -> bool:
    """Whether superscripts of a vector are indices: powers of vectors there are none."""
    return kind != "scalar" and kind != "matrix" and any(
        is_running(items, indices) or re.fullmatch(r"-?\d+|\(.*\)", flat(items)) for items in traits.sup_items.values()
    )


def _declared(
    key: Key, traits: Traits, base: Traits | None, evidence: Evidence, spoken: Counter[str],
    indices: frozenset[str], answers: Mapping[str, str],
) -> Declared:  # fmt: skip
    display = latex_of(traits.atom)
    answer = answers.get(display, "")
    function = answer == "function" or (not answer and _is_function(key, traits, spoken))
    kind, doubt = _kind(key, traits, base, evidence, spoken, function)
    if answer:
        kind, doubt = {"number": "scalar", "function": kind}.get(answer, answer), ""
        function = answer == "function"
    if not answer and not function and traits.traits["applied"] * 3 > traits.count and not doubt:
        doubt = f"is ${display}$ a function or a number?"
    flags: set[str] = set()
    if function:
        if any(is_running(i, indices) for i in traits.sub_items.values()):
            flags.add("first")
        return Declared(_entry(traits.atom, "function", kind, display, flags), traits.first, traits.count, doubt, "function")
    sequence = _indexed(traits, indices)
    if _upper(traits, indices, kind):
        sequence = True
        flags.add("upper")
    return Declared(
        _entry(traits.atom, "sequence" if sequence else "letter", kind, display, flags), traits.first, traits.count,
        doubt, kind,
    )  # fmt: skip


def _entry(atom: Atom, role: str, kind: str, display: str, flags: set[str]) -> Entry:
    if atom.symbol in ORDERS and role == "function":
        name = ORDERS[atom.symbol]
    elif display in SPECTRAL and role == "function":
        name = SPECTRAL[display]
    else:
        name = re.sub(r"[^A-Za-z0-9_]", "_", default_names(atom)[0])
    value: Kind = kind if kind in ("vector", "matrix", "set", "tensor") else "scalar"  # type: ignore[assignment]
    return Entry(name, role, value, display, atom, frozenset(flags))


def _is_function(key: Key, traits: Traits, spoken: Counter[str]) -> bool:
    if key[0] in ORDERS:
        return traits.traits["bracket"] + traits.traits["applied"] > 0 and key[0] != "\\Theta" or spoken["function"] > 0
    applied = traits.traits["applied"]
    if traits.traits["differentiated"] or (traits.traits["mapped"] and applied):
        return True
    return applied > 0 and (applied * 2 > traits.count or (spoken["function"] > 0 and not traits.traits["scalar place"]))


def _kind(
    key: Key, traits: Traits, base: Traits | None, evidence: Evidence, spoken: Counter[str], function: bool
) -> tuple[str, str]:
    """What a symbol is, or for a function its value; with a question where the paper shows both."""
    display = latex_of(traits.atom)
    seen = traits.traits
    if function:
        vector = seen["value norm"] + seen["value product"] + seen["value point"]
        if key[0] in ORDERS or (seen["value compared"] and not seen["value norm"]):
            return "scalar", ""
        letter = _core(key[0])
        if display in SPECTRAL:
            return "scalar", ""
        if vector and not seen["differentiated"]:
            return ("matrix" if letter.isupper() and len(letter) == 1 else "vector"), ""
        ordinary = letter.islower() or letter.startswith("\\") or seen["differentiated"] or key[0].startswith("\\mathcal")
        return ("scalar", "") if ordinary else ("matrix", f"what is the value of ${display}$: a number or a matrix?")
    length = seen["norm"] + seen["product"] + seen["point"] + seen["transposed"] + spoken["vector"]
    number = seen["scalar place"] + seen["compared"] + spoken["scalar"]
    letter, bold = _core(key[0]), "\\mathbf" in key[0]
    big = letter[:1].isupper() or (letter.startswith("\\") and letter[1:2].isupper())
    if spoken["matrix"] or seen["ordered"] or (bold and big and number == 0):
        return "matrix", f"is ${display}$ a matrix or a number?" if number > 1 else ""
    if bold and not (number and not length):
        return "vector", f"is ${display}$ a vector or a number?" if number > max(2, length // 3) else ""
    if length:
        what = "matrix" if big else "vector"
        doubt = number > 0 and number * 3 > length
        return what, f"is ${display}$ a {what} or a number?" if doubt else ""
    if number == 0:
        inherited = _inherited(key, evidence)
        if inherited:
            return inherited, ""
        if big and len(letter) == 1 and not key[3] and not spoken:
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
            letter = _core(key[0])
            return "matrix" if letter[:1].isupper() else "vector"
    return ""


def _core(symbol: str) -> str:
    """The letter inside fonts and accents."""
    while found := re.fullmatch(r"\\[A-Za-z]+\{(.*)\}", symbol):
        symbol = found[1]
    return symbol


def _with_names(declared: Declared, names: set[str]) -> list[Declared]:
    """The symbol with a name that no other has."""
    entry = declared.entry
    keep = entry.name in ("O", "softO", "Omega", "Theta", *SPECTRAL.values()) and entry.role == "function"
    name = entry.name
    if not keep and (name in TAKEN or name in names or not name.isidentifier() or name in KEYWORDS):
        name = next(n for n in (f"{name}_{i}" for i in ("v", *range(2, 10_000))) if n not in names | TAKEN)
    names.add(name)
    return [replace(declared, entry=replace(entry, name=name))]


KEYWORDS = frozenset("lambda in is if else for and or not as def del from None True False async await class".split())


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
