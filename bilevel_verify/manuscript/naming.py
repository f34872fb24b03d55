"""A card's names as the paper prints them: ``l1`` is ``\\ell_1``, ``delta_x`` is a norm, ``x[k]`` is ``x_{t,k}``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from bilevel_verify.errors import InputError, LatexError
from bilevel_verify.files import read_toml
from bilevel_verify.language import letter_latex, tree
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.notation import notation_table
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

EPOCH = "t"
MOST_RUNS = 12
MOST_POINTS = 24
COUNTS = frozenset({"iterations", "epochs"})
LENGTHS = frozenset({"K_cal", "K", "T", "k"})
"""Letters that papers have for the length of an epoch or a run, where cards write ``k_end``."""


@dataclass(frozen=True, slots=True)
class Said:
    """What relations of a print are about: their free letters, their iterates and letters in the order of the print
    (``points``), and whether an entry has the epoch as its first index."""

    letters: frozenset[str] = frozenset()
    points: tuple[tree.Node, ...] = ()
    epoch: bool = False

    @classmethod
    def of(cls, relation: Relation) -> Said:
        """What one relation is about."""
        parts = [part for side in (relation.left, relation.right) for part in side.walk()]
        points = dict.fromkeys(part for part in parts if isinstance(part, tree.Index | tree.Letter))
        letters = free_letters(relation.left) | free_letters(relation.right)
        return cls(frozenset(letters), tuple(points), any(map(_is_epoch, parts)))

    @classmethod
    def joined(cls, every: Iterable[Said]) -> Said:
        """What several relations are about."""
        held = list(every)
        letters = frozenset().union(*(one.letters for one in held))
        points = dict.fromkeys(part for one in held for part in one.points)
        return cls(letters, tuple(points), any(one.epoch for one in held))

    @property
    def sequences(self) -> frozenset[str]:
        """The sequences of which entries occur."""
        return frozenset(part.base for part in self.points if isinstance(part, tree.Index))


@dataclass(frozen=True)
class Naming:
    """What the displays of a card read as: letters (``trees``, where that is something else than the letter), functions
    under another name, functions without arguments (``constants``), and entries of recorded sequences as k-th ones."""

    trees: Mapping[str, tree.Node]
    indices: frozenset[str]
    functions: Mapping[str, str]
    constants: Mapping[str, tree.Node] = field(default_factory=dict)
    sequences: Mapping[str, tree.Node] = field(default_factory=dict)

    @property
    def bare(self) -> Naming:
        """The same with functions without arguments as letters."""
        return replace(self, constants={})

    def printed(self, node: tree.Node) -> tree.Node:
        """An expression of the card in the names of the print."""
        used = free_letters(node) & self.trees.keys()
        node = substitute(node, {name: self.trees[name] for name in used}, caught=True) if used else node
        return self._called(node)

    def renamed(self, node: tree.Node) -> tree.Node:
        """An expression of the card with its letters under their names in the print; those that stand for more stay."""
        used = {n for n in free_letters(node) & self.trees.keys() if isinstance(self.trees[n], tree.Letter)}
        return substitute(node, {name: self.trees[name] for name in used}) if used else node

    def _called(self, node: tree.Node) -> tree.Node:
        """Functions under the names of the print; a function without arguments is a letter there."""
        node = rebuild(node, self._called)
        if isinstance(node, tree.Index) and node.base in self.sequences and len(node.indices) == 1:
            return substitute(self.sequences[node.base], {"k": node.indices[0]})
        if not isinstance(node, tree.Call):
            return node
        if not node.arguments:
            return self.constants.get(node.function, tree.Letter(node.function))
        base = node.function.rpartition("_")[2]
        if base in self.functions:
            return tree.Call(node.function[: -len(base)] + self.functions[base], node.arguments)
        return node

    def of_card(self, node: tree.Node) -> tree.Node:
        """An expression of the print with its letters under the names of the card, which has their ranges."""
        back = {t.name: tree.Letter(n) for n, t in self.trees.items() if isinstance(t, tree.Letter)}
        used = free_letters(node) & back.keys()
        return substitute(node, {n: back[n] for n in used}) if used else node

    def name(self, letter: str) -> str:
        """The name of a letter in the print."""
        found = self.trees.get(letter)
        return found.name if isinstance(found, tree.Letter) else letter

    def standing(self, *nodes: tree.Node) -> tuple[str, ...]:
        """Letters that stand for something that is no letter in the print."""
        used = set().union(*(free_letters(node) for node in nodes)) & self.trees.keys()
        return tuple(sorted(n for n in used if not isinstance(self.trees[n], tree.Letter | tree.Index)))

    def runs(self, relation: Relation, said: Said) -> Iterator[Callable[[tree.Node], tree.Node]]:
        """Changes of running letters: within an epoch ``t`` is left out, and ``k`` may be printed ``i``."""
        yield _last
        yield from _outputs(relation, said)
        yield from _lengths(relation, said)
        nodes = (_last(relation.left), _last(relation.right))
        epoch = said.epoch
        if epoch and not any(_epochs(node) for node in nodes):
            yield lambda node: _with_epoch(_last(node))
        used = set().union(*(free_letters(n) for n in nodes)) & self.indices
        others = said.letters & self.indices
        pairs = [(a, b) for a, b in product(sorted(used), sorted(others)) if a != b and b not in used]
        for ours, theirs in pairs[:MOST_RUNS]:
            letter = tree.Letter(theirs)

            def renamed(node: tree.Node, ours: str = ours, letter: tree.Letter = letter) -> tree.Node:
                return substitute(_last(node), {ours: letter})

            yield renamed
            if epoch:
                yield lambda node, renamed=renamed: _with_epoch(renamed(node))  # type: ignore[misc]


def _last(node: tree.Node) -> tree.Node:
    """The length of an epoch is printed ``k``."""
    return substitute(node, {"k_end": tree.Letter("k")})


def _lengths(relation: Relation, said: Said) -> Iterator[Callable[[tree.Node], tree.Node]]:
    """The length of an epoch under another letter of the print, which the relation itself does not have."""
    used = set().union(*(free_letters(n) for n in (relation.left, relation.right)))
    if "k_end" not in used:
        return
    for name in sorted((said.letters & LENGTHS) - used):
        letter = tree.Letter(name)

        def renamed(node: tree.Node, letter: tree.Letter = letter) -> tree.Node:
            return substitute(node, {"k_end": letter})

        yield renamed
        if said.epoch:
            yield lambda node, renamed=renamed: _with_epoch(renamed(node))  # type: ignore[misc]


def _outputs(relation: Relation, said: Said) -> Iterator[Callable[[tree.Node], tree.Node]]:
    """``output`` is printed as the point that is returned: any letter or iterate of the print may be that point."""
    if not any("output" in free_letters(node) for node in (relation.left, relation.right)):
        return
    for part in said.points[:MOST_POINTS]:
        yield lambda node, part=part: substitute(node, {"output": part})  # type: ignore[misc]


def _epochs(node: tree.Node) -> bool:
    """Whether an entry of a sequence with the epoch as its first index occurs."""
    return any(map(_is_epoch, node.walk()))


def _is_epoch(part: tree.Node) -> bool:
    return isinstance(part, tree.Index) and len(part.indices) == 2 and part.indices[0] == tree.Letter(EPOCH)


def _with_epoch(node: tree.Node) -> tree.Node:
    """Entries of one index as entries of the epoch t."""
    node = rebuild(node, _with_epoch)
    if isinstance(node, tree.Index) and len(node.indices) == 1:
        return tree.Index(node.base, (tree.Letter(EPOCH), *node.indices))
    return node


def is_count(node: tree.Node) -> bool:
    """Whether a side is a number of iterations, epochs or oracle calls (or a sum of such)."""
    match node:
        case tree.Letter(name=name):
            return name in COUNTS
        case tree.Call(function="calls"):
            return True
        case tree.Add(terms=terms):
            return all(is_count(t) for t in terms)
        case tree.Multiply(factors=factors):
            return any(is_count(f) for f in factors)
    return False


def print_notation(card: Card) -> Notation:
    """The notation of a paper without the card's own names for what it can already read: ``g_a`` for ``g_k``.

    A letter of a card whose display the paper's own table reads otherwise is only another name of that.
    """
    notation = card.notation
    try:
        data = read_toml(card.path)
        table = Notation.from_table(notation_table(data, card.path))
    except InputError:
        return notation
    own = {entry.name for entry in table.entries}
    extra = [e for e in notation.entries if e.role == "letter" and e.name in card.letters and e.name not in own]
    if not own or not extra:
        return notation
    bare = replace(notation, entries=tuple(e for e in notation.entries if e not in extra))
    kept = [e for e in extra if not _reads(e.display, bare)]
    return replace(bare, entries=(*bare.entries, *kept))


def _reads(latex: str, notation: Notation) -> bool:
    try:
        read_latex(latex, notation)
    except LatexError:
        return False
    return True


def naming_of(card: Card, notation: Notation | None = None) -> Naming:
    """The displays of a card's letters, read with the notation of its paper."""
    notation = notation or print_notation(card)
    trees: dict[str, tree.Node] = {}
    for name, spec in card.letters.items():
        found = _display(spec.display or letter_latex(name), notation)
        if found is not None and found != tree.Letter(name):
            trees[name] = found
    constants = {
        n: found for n, spec in card.functions.items() if (found := _display(spec.display, notation)) is not None
    }
    ran = {name for name, spec in card.letters.items() if spec.source == "run"}
    sequences = {name: trees.pop(name) for name in ran & trees.keys() if "k" in free_letters(trees[name])}
    return Naming(trees, notation.indices, _functions(card), constants, sequences)


def _display(latex: str, notation: Notation) -> tree.Node | None:
    """What the display of a quantity reads as; None where there is none, or it is not read."""
    try:
        found = read_latex(latex, notation).tree if latex else None
    except LatexError:
        return None
    return None if isinstance(found, tree.Compare) else found


def _functions(card: Card) -> dict[str, str]:
    """Functions of the card that the notation of its paper calls otherwise (``phi`` printed ``\\Phi``)."""
    found = {}
    for name, spec in card.functions.items():
        for entry in card.notation.entries if spec.display else ():
            if entry.role == "function" and entry.display == spec.display and entry.name != name:
                found[name] = entry.name
    return found
