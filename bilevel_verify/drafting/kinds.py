"""From evidence to a notation: which symbols are numbers, vectors, matrices, sequences, functions; what stays open.

Where the evidence is against itself the symbol is asked about, and taken for what proves least: a vector rather than a
number, a matrix rather than a vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bilevel_verify.drafting.evidence import TRANSPOSES, Evidence, Key, Traits
from bilevel_verify.drafting.stretches import RUNNING, is_running, is_word
from bilevel_verify.drafting.symbol_kinds import ORDERS, SPECTRAL, Seen, core, kind_of, latex_of, plain_kind
from bilevel_verify.latex import Entry, Notation
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.latex.source.atoms import Atom, default_names, index_name
from bilevel_verify.latex.source.symbols import WORDS
from bilevel_verify.latex.values import Kind
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

INDEX_LETTERS = "i j k l m n p q r s t"
JOINED = frozenset(WORDS) | frozenset(re.sub(r"[ .]", "", word) for word in WORDS)
"""Words between formulas, as they come out of ``\\text{for all }``."""
TAKEN = (
    frozenset(NUMBERS) | SCALAR_FUNCTIONS | RANGE_FUNCTIONS | {"E", "O", "softO", "Omega", "Theta", "T", "list", "set"}
)
SAID = {
    "scalar": r"constants?|numbers?|scalars?|parameters?|step[- ]?sizes?|accuracy|tolerance|radius|reals?|integers?",
    "vector": r"vectors?|points?|iterates?",
    "matrix": r"matri(?:x|ces)|linear (?:maps?|mappings?|operators?)|bounded operators?",
    "function": r"functions?|objectives?|losses|loss|mappings?|maps?",
}
"""Words before a formula -> what they say about the symbol in it."""


NUMBER_LIKE = frozenset(r"\lambda \mu \alpha \beta \eta \rho \sigma \kappa \varepsilon \epsilon k t".split())
"""Letters that are hardly ever functions."""
DRAFTED = {"open_minima": "wide", "bracketed_index": "yes", "partial": "subdifferential",
           "subscripts": "indices", "habits": "paper"}  # fmt: skip
"""How the formulas of a draft are read."""


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
    vectors = _vectors(evidence, spoken)
    for key, traits in evidence.symbols.items():
        if _skipped(key, traits, indices):
            continue
        base = evidence.symbols.get((*key[:3], ""))
        if key[3] and key[:3] in sequences and not is_word(key[3]) and re.fullmatch(r"[-0-9,+]*", key[3]):
            continue
        seen = Seen(key, traits, base, evidence, spoken.get(key, Counter()), indices, vectors)
        euler = _is_euler(key, traits, indices) and not spoken.get(key) and "e" not in answers
        for declared in _declared(seen, answers) if not euler else [_euler(traits)]:
            found += _with_names(declared, names)
    found += [*_expectations(evidence), *_new_points(evidence, found, names)]
    entries = tuple(d.entry for d in found)
    entries += tuple(_index(letter) for letter in sorted(indices) if not any(e.display == letter for e in entries))
    norms = {"": "norm", "2": "norm", "F": "frobenius", **{n: f"norm_{_safe(n)}" for n in evidence.norms}}
    running = frozenset({*INDEX_LETTERS.split(), *(i.replace("\\", "") for i in indices)})
    picks = {s for d in found for s in _picks(d.entry, evidence)}
    notation = Notation(
        entries, running, True, norms=norms, components=frozenset(picks), options={**DRAFTED}, title="draft"
    )
    return notation, found


def _is_euler(key: Key, traits: Traits, indices: frozenset[str]) -> bool:
    """Whether e is Euler's number: it only ever carries an exponent, none that may be an index, one negative."""
    exponents = [sup for sub, sup in traits.scripts if sup and not sub]
    return (
        key == ("e", 0, False, "")
        and sum(n for (sub, sup), n in traits.scripts.items() if sup and not sub) == traits.count
        and any(sup.startswith("-") for sup in exponents)
        and not any(re.fullmatch(r"[-+0-9.()/]+|T|\\top", sup) or sup in RUNNING for sup in exponents)
        and not any(is_running(items, indices) for items in traits.sup_items.values())
    )


def _euler(traits: Traits) -> Declared:
    entry = Entry("E", "letter", "scalar", "e", Atom("e"))
    return Declared(entry, traits.first, traits.count, kind="Euler")


def _expectations(evidence: Evidence) -> Iterator[Declared]:
    """``\\mathbb{E}[X]``, ``\\mathbb{E}_k\\|X\\|``: an operator where most of them stand before an operand."""
    found = [t for key, t in evidence.symbols.items() if key[0] == "\\mathbb{E}" and not key[1] and not key[2]]
    if found and 2 * sum(t.traits["operator"] + t.traits["prefix"] for t in found) > sum(t.count for t in found):
        bare = Atom("\\mathbb{E}")
        for traits, flags in ((found[0], frozenset[str]()), (found[0], frozenset({"first"}))):
            entry = Entry(EXPECTATION, "function", "scalar", bare.symbol, bare, flags)
            yield Declared(entry, traits.first, sum(t.count for t in found), kind="function")


def _new_points(evidence: Evidence, found: list[Declared], names: set[str]) -> Iterator[Declared]:
    """``x^+`` beside ``x``: a name of its own, of the same kind."""
    for one in [d for d in found if d.entry.role in ("letter", "sequence") and d.entry.atom.sub is None]:
        atom = one.entry.atom
        traits = evidence.symbols.get((atom.symbol, atom.primes, atom.star, ""))
        plus = None if traits is None or "upper" in one.entry.flags else traits.sup_items.get("+")
        if plus is not None and not atom.symbol.startswith("\\mathbb"):
            scripts = [sub for sub, sup in traits.scripts if sup == "+"] if traits is not None else []
            role = one.entry.role if any(scripts) else "letter"
            named = replace(atom, sup=plus)
            entry = replace(one.entry, name=f"{one.entry.name}_plus", role=role, atom=named, display=latex_of(named))
            yield from _with_names(replace(one, entry=entry, doubt=""), names)


def _picks(entry: Entry, evidence: Evidence) -> Iterator[str]:
    """Letters that pick a component of a symbol."""
    if not any(flag.endswith("component") for flag in entry.flags):
        return
    traits = evidence.symbols.get((entry.atom.symbol, entry.atom.primes, entry.atom.star, ""))
    for sub, sup in traits.scripts if traits else ():
        letter = sub if "lower-component" in entry.flags else sup
        if letter in RUNNING:
            yield letter


def _index(letter: str) -> Entry:
    atom = Atom(letter)
    return Entry(index_name(atom), "letter", "scalar", letter, atom)


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "other"


def _skipped(key: Key, traits: Traits, indices: frozenset[str]) -> bool:
    symbol = key[0]
    if symbol == "\\mathbf{1}" and traits.traits["transposed"]:  # the vector of ones; else it is an indicator
        return False
    inner = re.fullmatch(r"\\(?:mathrm|operatorname)\{([^{}]*)\}", symbol)
    if inner and (inner[1].lower() in JOINED or len(inner[1]) > 30):
        return True
    return symbol in ("\\mathbb{R}", "\\mathbb{E}", "\\nabla", "\\partial", "\\pi", "\\mathbf{1}", "\\mathbb{1}") or (
        symbol in indices and not key[3] and not key[2] and not key[1]
    )


def _indexed(traits: Traits, indices: frozenset[str]) -> bool:
    return any(is_running(items, indices) for items in traits.sub_items.values())


def _upper(traits: Traits, indices: frozenset[str], kind: str) -> bool:
    """Whether superscripts are indices: powers of vectors there are none, and nobody prints ``K_t^1`` or ``p^{(k)}``.

    A vector with no superscript but ``T`` and a number from 2 on is transposed there, and a number elsewhere (``r^2``).
    """
    if kind == "scalar":
        running = (sup for sup, items in traits.sup_items.items() if is_running(items, indices))
        return any(sub and sup == "1" for sub, sup in traits.scripts) or any(
            re.fullmatch(r"\(.*\)", s) for s in running
        )
    return kind != "matrix" and any(
        (is_running(items, indices) and sup not in TRANSPOSES) or re.fullmatch(r"-?[01]|\(.*\)", sup)
        for sup, items in traits.sup_items.items()
    )


def _vectors(evidence: Evidence, spoken: Mapping[Key, Counter[str]]) -> frozenset[Key]:
    """Symbols that are certainly no numbers, by their own traits."""
    return frozenset(
        key for key, t in evidence.symbols.items()
        if t.traits["norm"] + t.traits["point"] + t.traits["product"] > 2 * t.traits["scalar place"]
        or ("\\mathbf" in key[0] and (core(key[0])[:1].islower() or core(key[0])[:1] == "1"))
    )  # fmt: skip


def _declared(seen: Seen, answers: Mapping[str, str]) -> list[Declared]:
    """What a symbol is taken for: a letter or sequence, a function, a family of functions, or several of them."""
    traits, display, answer = seen.traits, seen.display, answers.get(seen.display, "")
    function = answer == "function" or (not answer and _is_function(seen))
    kind, doubt = kind_of(seen, function)
    if answer:
        kind, doubt = {"number": "scalar", "function": kind}.get(answer, answer), ""
    if not answer and not function and traits.traits["applied"] * 3 > traits.count and not doubt:
        doubt = f"is ${display}$ a function or a number?"

    def made(role: str, value: str, flags: set[str], what: str) -> Declared:
        return Declared(_entry(traits.atom, role, value, display, flags), traits.first, traits.count, doubt, what)

    if not function:
        return [_letter(seen, kind, made)]
    found = []
    family = [items for items in traits.sub_items.values() if is_running(items, seen.indices)]
    indexed = sum(n for (sub, _), n in traits.scripts.items() if sub and sub in traits.sub_items and family)
    if not seen.key[3] and family:
        found.append(made("function", kind, {"first"}, "function"))
    if seen.key[3] or not family or indexed < traits.count:
        found.append(made("function", kind, {"map"} if seen.is_map else set(), "function"))
    if _alone(seen):
        other, _ = plain_kind(seen)
        flags = {str(arity) for arity in traits.arities if arity > 1 and arity < 7}
        points = [key for key in traits.points if key in seen.vectors]
        if flags and not points:
            found = [replace(d, entry=replace(d.entry, flags=d.entry.flags | flags)) for d in found]
        elif len(points) == 1 and other == "scalar":
            atom = seen.evidence.symbols[points[0]].atom if points[0] in seen.evidence.symbols else None
            flags = set() if atom is None else {f"of-{default_names(atom)[0]}"}
            found = [replace(d, entry=replace(d.entry, flags=d.entry.flags | flags)) for d in found]
        found.append(_letter(seen, other, made))
    return found


def _alone(seen: Seen) -> bool:
    """Whether a function's symbol is a letter too: it stands without arguments where only a letter can stand."""
    traits = seen.traits
    alone = traits.count - sum(traits.arities.values()) - traits.traits["differentiated"]
    if seen.key[0] in ORDERS or alone * 4 <= traits.count:
        return False
    lengths = traits.traits["norm"] + traits.traits["product"] + traits.traits["transposed"]
    return bool(traits.traits["scalar place"] + traits.traits["compared"] + lengths)


def _letter(seen: Seen, kind: str, made: Callable[[str, str, set[str], str], Declared]) -> Declared:
    flags: set[str] = set()
    sequence = _indexed(seen.traits, seen.indices)
    if kind == "vector":
        flags |= {f"entry-{core(letter)}" for letter in picking(seen.traits)}
    if _upper(seen.traits, seen.indices, kind):
        sequence = True
        flags.add("upper")
        flags |= _component(seen)
    return made("sequence" if sequence else "letter", kind, flags, kind)


def picking(traits: Traits) -> set[str]:
    """Running letters that pick an entry of a vector: with them it stands where only a number can, never in a norm.

    A letter that counts points stands in the next one, too: ``x_{k+1}``.
    """
    lasts = [sub.rpartition(",")[2] for sub, _ in traits.scripts]
    return {
        letter for letter, times in traits.entries.items()
        if times > 4 * traits.points_with[letter]
        and not any(last.startswith((f"{letter}+", f"{letter}-")) for last in lasts)
    }  # fmt: skip


def _component(seen: Seen) -> set[str]:
    """Which script of a vector with two of them picks a component: shown by bars for numbers, never by a norm."""
    traits = seen.traits
    if not traits.traits["absolute both"] or 5 * traits.traits["norm both"] > traits.traits["absolute both"]:
        return set()
    steps = seen.evidence.stepping
    ends = Counter[str]()
    for sub, sup in traits.scripts:
        if sub and sup:
            ends["lower-component"] += sub in RUNNING and not steps[sub]
            ends["upper-component"] += sup in RUNNING and not steps[sup]
    best = ends.most_common(1)
    return {best[0][0]} if best and best[0][1] else set()


def _entry(atom: Atom, role: str, kind: str, display: str, flags: set[str]) -> Entry:
    if atom.symbol in ORDERS and role == "function":
        name = ORDERS[atom.symbol]
    elif display in SPECTRAL and role == "function":
        name = SPECTRAL[display]
    else:
        name = re.sub(r"[^A-Za-z0-9_]", "_", default_names(atom)[0])
        name += "_part" if "first" in flags else "_of" if role == "function" and kind == "both" else ""
    value: Kind = kind if kind in ("vector", "matrix", "set", "tensor") else "scalar"  # type: ignore[assignment]
    return Entry(name, role, value, display, atom, frozenset(flags))


def _is_function(seen: Seen) -> bool:
    traits, spoken = seen.traits, seen.spoken
    if seen.key[0] in ORDERS:
        brackets = traits.traits["bracket"] + traits.traits["applied"]
        return 2 * brackets > traits.count
    applied = traits.traits["applied"]
    if seen.display in SPECTRAL and traits.arities:
        return True
    if "\\mathcal" in seen.key[3] and traits.arities.total() == traits.count:
        return True  # the projection onto a set, \Pi_{\mathcal X}(x - y)
    mapped = seen.is_map or (traits.traits["mapped"] and applied)
    if mapped or traits.traits["differentiated"] or seen.applied * 8 > traits.count:
        return True
    if applied > 1 and applied >= traits.traits["bracket"] and seen.key[0] not in NUMBER_LIKE:
        return True  # E(t), p(A): one symbol in brackets is an argument
    return applied > 0 and (
        applied * 2 > traits.count or (spoken["function"] > 0 and not traits.traits["scalar place"])
    )


def _with_names(declared: Declared, names: set[str]) -> list[Declared]:
    """The symbol with a name that no other has."""
    entry = declared.entry
    if declared.kind == "Euler":
        return [replace(declared, entry=replace(entry, name="E"), kind="scalar")]
    keep = entry.name in ("O", "softO", "Omega", "Theta", *SPECTRAL.values()) and entry.role == "function"
    name = entry.name
    if not keep and (name in TAKEN or name in names or not name.isidentifier() or name in KEYWORDS):
        name = next(n for n in (f"{name}_{i}" for i in ("v", *range(2, 10_000))) if n not in names | TAKEN)
    names.add(name)
    return [replace(declared, entry=replace(entry, name=name))]


KEYWORDS = frozenset("lambda in is if else for and or not as def del from None True False async await class".split())
