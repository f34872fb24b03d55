"""What the letters of a paper are: declared, not guessed.

A notation says for each printed symbol whether it is a letter, a sequence (its scripts are indices) or a function, and
what its value is. From that follows whether a bracket after it is an argument or a factor, what a superscript means
and in which order things multiply. ``Notation()`` without entries is the notation of a single formula: every letter is
a scalar, ``x_1`` is ``x_1``, nothing is a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bilevel_verify.errors import InputError, LatexError
from bilevel_verify.latex.source.atoms import Atom, atom_of, default_names, index_name
from bilevel_verify.latex.source.structure import build, flat
from bilevel_verify.latex.source.tokens import Source
from bilevel_verify.latex.values import Kind

GROUPS: dict[str, tuple[str, Kind]] = {
    "letters": ("letter", "scalar"),
    "vectors": ("letter", "vector"),
    "matrices": ("letter", "matrix"),
    "tensors": ("letter", "tensor"),
    "sets": ("letter", "set"),
    "words": ("letter", "words"),
    "sequences": ("sequence", "scalar"),
    "vector_sequences": ("sequence", "vector"),
    "matrix_sequences": ("sequence", "matrix"),
    "set_sequences": ("sequence", "set"),
    "tensor_sequences": ("sequence", "tensor"),
    "functions": ("function", "scalar"),
    "vector_functions": ("function", "vector"),
    "matrix_functions": ("function", "matrix"),
    "tensor_functions": ("function", "tensor"),
    "set_functions": ("function", "set"),
}
"""Group of a notation table -> role and kind of value of its symbols."""
FLAGS = frozenset("upper split first last lower-component upper-component 1 2 3 4 5 6".split())
"""``upper``: superscripts are indices too; ``split``: ``w_{jk}`` has two indices; ``first``, ``last``: the index of a
function is its first or last argument; a digit: number of arguments; ``...-component``: with that script it is a
component, a scalar. Further ``of-matrix``, ``of-scalar`` and ``of-NAME``: what the one argument is, where the symbol
is a letter too, and ``entry-NAME``: a last index NAME picks an entry of the vector, a number."""
OPTIONS: dict[str, tuple[str, ...]] = {
    "log_takes": ("factor", "product"),
    "power_after": ("value", "argument"),
    "open_sums": ("wide",),
    "open_minima": ("wide",),
    "subscripts": ("product", "indices"),
    "circ": ("outer",),
    "bracketed_index": ("yes",),
    "partial": ("subdifferential",),
    "habits": ("paper",),
}
"""Readings that a paper fixes for itself; without them the reader asks."""
INDICES = "i j k l m n p q r s t"
NORMS = {"": "norm", "2": "norm", "F": "frobenius"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A declared symbol. ``display`` is its LaTeX, ``atom`` the same taken apart, ``name`` its name in cards."""

    name: str
    role: str
    kind: Kind
    display: str
    atom: Atom
    flags: frozenset[str] = frozenset()

    @property
    def of(self) -> str:
        """What the one argument is declared to be: a kind, or the name of a letter; empty: anything."""
        return next((flag.removeprefix("of-") for flag in self.flags if flag.startswith("of-")), "")

    @property
    def arities(self) -> frozenset[int]:
        """Allowed numbers of arguments; empty: any."""
        return frozenset(int(flag) for flag in self.flags if flag.isdigit())


@dataclass(frozen=True)
class Notation:
    """The declared symbols of a paper.

    Parameters
    ----------
    entries : declared symbols; with none, ``free`` letters name themselves.
    indices : names of running letters.
    free : letters that are not declared name themselves, as scalars.
    known : with ``free``, prefer these names (``x1`` for ``x_1``); ``closed`` allows no other.
    norms : index of a norm -> function.
    components : letters that pick a component (``v^j``, ``\\nabla_j``).
    options : readings fixed once, see ``OPTIONS``.
    """

    entries: tuple[Entry, ...] = ()
    indices: frozenset[str] = frozenset(INDICES.split())
    free: bool = True
    known: frozenset[str] = frozenset()
    closed: bool = False
    norms: Mapping[str, str] = field(default_factory=lambda: NORMS)
    components: frozenset[str] = frozenset()
    options: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    @cached_property
    def by_symbol(self) -> dict[str, list[Entry]]:
        """Entries under their bare symbol."""
        table: dict[str, list[Entry]] = {}
        for entry in self.entries:
            table.setdefault(entry.atom.symbol, []).append(entry)
        return table

    @cached_property
    def by_marks(self) -> dict[tuple[str, int, bool, str | None], list[tuple[int, str | None, Entry]]]:
        """Symbol, primes, star and subscript -> (place among all, superscript, entry)."""
        table: dict[tuple[str, int, bool, str | None], list[tuple[int, str | None, Entry]]] = {}
        for place, entry in enumerate(self.entries):
            primes, star, sub, sup = entry.atom.fixed()
            table.setdefault((entry.atom.symbol, primes, star, sub), []).append((place, sup, entry))
        return table

    def explaining(self, atom: Atom) -> list[tuple[Entry, bool, bool]]:
        """The entries of a symbol whose scripts it has, and whether each has its subscript and its superscript."""
        primes, star, sub, sup = atom.fixed()
        found = []
        for key in dict.fromkeys((None, sub)):
            for place, own, entry in self.by_marks.get((atom.symbol, primes, star, key), ()):
                if own in (None, sup):
                    found.append((place, entry, key is not None, own is not None))
        return [(entry, lower, upper) for _, entry, lower, upper in sorted(found, key=lambda one: one[0])]

    @cached_property
    def by_name(self) -> dict[tuple[str, str], Entry]:
        """(name, role) -> the first entry with it: its display is the echo of the name."""
        table: dict[tuple[str, str], Entry] = {}
        for entry in self.entries:
            table.setdefault((entry.name, entry.role), entry)
        return table

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that a formula in the expression language would mention."""
        return self.known | {entry.name for entry in self.entries}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Names of several letters, longest first: ``Gc`` may be typed in italics too."""
        found = {e.atom.symbol[8:-1] for e in self.entries if e.atom.symbol.startswith("\\mathrm{")}
        return tuple(sorted((w for w in found if w.isalpha() and len(w) > 1), key=lambda w: (-len(w), w)))

    @cached_property
    def functions(self) -> frozenset[str]:
        """Names of all functions."""
        return frozenset(entry.name for entry in self.entries if entry.role == "function")

    @classmethod
    def from_table(cls, table: Mapping[str, object], title: str = "") -> Notation:
        """A notation from a ``[notation]`` table.

        Groups are strings of declarations separated by blanks: ``LATEX``, ``LATEX=name``, ``LATEX=name:flag,flag``.

        Raises
        ------
        InputError : an unknown key, flag or option, or a display that is not one symbol; names the place.
        """
        allowed = {*GROUPS, *OPTIONS, "indices", "norms", "components", "free", "paper"}
        for key in table:
            if key not in allowed:
                raise InputError(f"[notation]: unknown key {key!r}; known are {', '.join(sorted(allowed))}")
        entries: list[Entry] = []
        for group in GROUPS:
            value = table.get(group, "")
            if not isinstance(value, str):
                raise InputError(f"[notation] {group}: a string of declarations is expected")
            entries += [_declared(word, group) for word in value.split()]
        indices = [_symbol(word, "indices") for word in str(table.get("indices", INDICES)).split()]
        entries += [
            Entry(index_name(atom), "letter", "scalar", word, atom)
            for word, atom in zip(str(table.get("indices", INDICES)).split(), indices, strict=True)
        ]
        options = {key: _option(key, str(table[key])) for key in OPTIONS if key in table}
        norms = table.get("norms", {})
        if not isinstance(norms, Mapping):
            raise InputError("[notation] norms: a table from index to function is expected")
        return cls(
            tuple(entries),
            frozenset(index_name(atom) for atom in indices),
            bool(table.get("free", False)),
            norms={**NORMS, **{_spelled(str(k)): str(v) for k, v in norms.items()}},
            components=frozenset(str(table.get("components", "")).split()),
            options=options,
            title=title,
        )

    def with_names(self, names: Iterable[str], *, closed: bool = False) -> Notation:
        """The same with names that free letters prefer."""
        found = replace(self, known=frozenset(names) | self.known, closed=closed or self.closed)
        for table in ("by_symbol", "by_marks", "by_name", "words", "functions"):  # they are about the same entries
            found.__dict__[table] = getattr(self, table)
        return found

    def extended(self, declarations: Mapping[str, str], group: str = "letters") -> Notation:
        """The same with more letters: name -> LaTeX. Displays that are no single symbol are left out."""
        more: list[Entry] = []
        known = {(e.atom.symbol, e.atom.fixed()) for e in self.entries}
        for name, display in declarations.items():
            try:
                atom = _symbol(display, name)
            except InputError:
                continue
            if (atom.symbol, atom.fixed()) not in known:
                known.add((atom.symbol, atom.fixed()))
                role, kind = GROUPS[group]
                more.append(Entry(name, role, kind, display, atom))
        return replace(self, entries=(*self.entries, *more))


def _option(key: str, value: str) -> str:
    if value not in OPTIONS[key]:
        raise InputError(f"[notation] {key}: {value!r} is not one of {', '.join(OPTIONS[key])}")
    return value


def _declared(word: str, group: str) -> Entry:
    """One declaration ``LATEX=name:flags``."""
    display, _, rest = word.partition("=")
    name, _, flags = rest.partition(":")
    if not rest and ":" in display:
        display, _, flags = display.partition(":")
    atom = _symbol(display, group)
    marked = frozenset(flag for flag in flags.split(",") if flag)
    unknown = sorted(flag for flag in marked - FLAGS if not flag.startswith(("of-", "entry-")))
    if unknown:
        raise InputError(f"[notation] {group}: unknown flag {unknown[0]!r} of {word!r}")
    role, kind = GROUPS[group]
    return Entry(name or default_names(atom)[0], role, kind, display, atom, marked)


def _symbol(display: str, where: str) -> Atom:
    """A display as one symbol; a bare word of several letters is upright."""
    source = Source(rf"\operatorname{{{display}}}" if re.fullmatch("[A-Za-z][A-Za-z-]+", display) else display)
    try:
        items = build(source, list(source.tokens))
        atom, place = atom_of(source, items, 0)
    except LatexError as error:
        raise InputError(f"[notation] {where}: {display!r} is not a symbol: {error.plain}") from None
    if atom is None or place != len(items):
        raise InputError(f"[notation] {where}: {display!r} is not one symbol")
    return atom


def _spelled(index: str) -> str:
    """The index of a norm as the reader writes it."""
    source = Source(index)
    return flat(build(source, list(source.tokens)))
