"""Shapes of one chain of formulas: kinds and sizes of its trees, and what does not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.latex import Notation
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.latex.notation import Entry
from bilevel_verify.latex.statements import EQUATES, ORDERED
from bilevel_verify.proofreading.names.occurrences import has_power_of_e

SCALAR_ONLY = frozenset(ELEMENTARY) - {"sign"}
IDENTITY = re.compile(r"(?:\\\w+\{)?(?:I|Id|E)\}?\Z")
MIXED = {"scalar": "a number", "vector": "a vector", "covector": "a row", "matrix": "a matrix"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Kind of a value and the sizes of its sides, as numbers of unknowns."""

    kind: str
    sizes: tuple[int, ...] = ()


NUMBER = Shape("scalar")


class Conflict(Exception):
    """A formula that cannot be given shapes; the message says why."""


@dataclass
class Sizes:
    """Unknown sizes: which are equal, and which have a name."""

    parent: list[int] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    of_symbol: dict[tuple[str, int], int] = field(default_factory=dict)
    blocks: frozenset[str] = frozenset()
    """Names that are those of blocks: ``x`` of ``nabla_x f``; what such a block has for a dimension is not known."""

    def fresh(self, name: str = "") -> int:
        """A new size, with a name or unknown."""
        self.parent.append(len(self.parent))
        if name:
            self.names[len(self.parent) - 1] = name
        return len(self.parent) - 1

    def root(self, size: int) -> int:
        """The size that stands for all that are equal to it."""
        while self.parent[size] != size:
            size = self.parent[size]
        return size

    def equal(self, one: int, other: int, what: str) -> None:
        """Make two sizes one.

        Raises
        ------
        Conflict : they have different names.
        """
        a, b = self.root(one), self.root(other)
        if a == b:
            return
        if a in self.names and b in self.names and self.names[a] != self.names[b]:
            if (self.names[a] in self.blocks) != (self.names[b] in self.blocks):
                return
            raise Conflict(f"{what}: one side has {self.names[a]} entries, the other {self.names[b]}")
        if b in self.names:
            a, b = b, a
        self.parent[b] = a

    def symbol(self, name: str, side: int, known: dict[tuple[str, int], str]) -> int:
        """The size of a side of a symbol, the same wherever the symbol stands in the formula."""
        key = (name, side)
        if key not in self.of_symbol:
            self.of_symbol[key] = self.fresh(known.get(key, ""))
        return self.of_symbol[key]


@dataclass(frozen=True)
class World:
    """What the shapes of a formula are read with.

    ``blocks`` are the arguments of functions by their letters, ``known`` the sizes on which the paper agrees; ``firm``
    are the letters that are numbers for certain, where the notation was guessed (None: it was declared); ``single`` are
    the sequences that have entries with one index, ``acting`` what stands where only a matrix can; ``picked`` are
    symbols with the letters that may pick a component of them, ``spaces`` the dimensions that are those of one block.
    """

    notation: Notation
    blocks: dict[str, tuple[str, ...]]
    known: dict[tuple[str, int], str] = field(default_factory=dict)
    firm: frozenset[str] | None = None
    single: frozenset[str] = frozenset()
    acting: frozenset[str] = frozenset()
    picked: frozenset[tuple[str, str]] = frozenset()
    spaces: dict[str, str] = field(default_factory=dict)


@dataclass
class ShapeReader:
    """Shapes of the trees of one chain."""

    world: World
    sizes: Sizes = field(default_factory=Sizes)
    at: tuple[tree.Node, ...] = ()
    gave: set[str] = field(default_factory=set)
    """Names from which a shape was taken: a conflict rests on these alone."""

    def __post_init__(self) -> None:
        self.sizes.blocks = frozenset(letter for letters in self.world.blocks.values() for letter in letters)

    def chain(self, members: tuple[tree.Node, ...], words: tuple[str, ...]) -> None:
        """Every member, and neighbours against each other.

        Raises
        ------
        Conflict : something does not fit.
        """
        shapes = [self.shape(member) for member in members]
        for place, word in enumerate(words):
            if place + 1 >= len(members):
                break
            left, right = shapes[place], shapes[place + 1]
            one, other = members[place], members[place + 1]
            self.at = (one, other)
            if word == "in":
                self._space(left, other)
            elif left is None or right is None or any(tree.is_zero(side) or _has_euler(side) for side in (one, other)):
                continue
            elif word in EQUATES and not _names(one, other):
                self.same(left, right, "the two sides of an equation")
            elif word in ORDERED and (left.kind == "scalar") != (right.kind == "scalar"):
                raise Conflict(f"{MIXED[left.kind]} is compared with {MIXED[right.kind]}")

    def _space(self, left: Shape | None, space: tree.Node) -> None:
        if left is None or not isinstance(space, tree.Call) or space.function != "reals":
            return
        ends = [self._named(a) for a in space.arguments]
        if left.kind == "vector" and len(ends) == 1:
            self.sizes.equal(left.sizes[0], ends[0], "a vector and its space")

    def _named(self, node: tree.Node) -> int:
        from bilevel_verify.language import to_text

        text = to_text(node)
        named = {"d_x": "x", "d_y": "y", "dx": "x", "dy": "y"} | self.world.spaces
        return self.sizes.fresh(named.get(text, text))

    def same(self, one: Shape, other: Shape, what: str) -> None:
        """Two values of the same shape."""
        if {one.kind, other.kind} == {"vector", "covector"}:
            return
        if one.kind != other.kind:
            raise Conflict(f"{what}: {MIXED[one.kind]} and {MIXED[other.kind]}")
        for a, b in zip(one.sizes, other.sizes, strict=False):
            self.sizes.equal(a, b, what)

    def shape(self, node: tree.Node) -> Shape | None:
        """The shape of a tree; None where it is not known."""
        match node:
            case tree.Number():
                return NUMBER
            case tree.Letter(name=name):
                return self.letter(name, "letter")
            case tree.Index(base=base, indices=indices):
                for index in indices:
                    self.shape(index)
                return None if self.unsure(base, indices) else self.letter(base, "sequence", len(indices))
            case tree.Negate(operand=operand):
                return self.shape(operand)
            case tree.Add(terms=terms):
                return self.added(terms)
            case tree.Multiply(factors=factors):
                return self.scaled(factors)
            case tree.MatrixMultiply(left=left, right=right):
                return self.product(node, self.shape(left), self.shape(right))
            case tree.Divide(numerator=top, denominator=bottom):
                below = self.shape(bottom)
                if below is not None and below.kind != "scalar":
                    self.at = (bottom,)
                    raise Conflict(f"{MIXED[below.kind]} stands in a denominator")
                return self.shape(top)
            case tree.Power(base=base, exponent=exponent):
                inner = self.shape(base)
                self.shape(exponent)
                return inner if inner is not None and inner.kind in ("scalar", "matrix") else None
            case tree.Call():
                return self.call(node)
        for part in node.children():
            self.shape(part)
        return None

    def letter(self, name: str, role: str, indices: int = 0) -> Shape | None:
        """The shape of a letter or of an entry of a sequence; one with more indices is another sequence."""
        entry = self.world.notation.by_name.get((name, role))
        if entry is not None and role == "letter" and entry.atom.sub is not None and self._entry_too(entry):
            return None
        if entry is None and role == "letter":
            entry = self.world.notation.by_name.get((name, "sequence"))
            if entry is not None:
                return None
        if entry is None or entry.role == "function" or any(flag.endswith("component") for flag in entry.flags):
            return None
        if self.world.firm is not None and not self._firm(entry):
            return None
        key = f"{name}/{indices}"
        self.gave.add(name)
        if entry.kind == "scalar":
            return NUMBER
        if entry.kind == "vector":
            return Shape("vector", (self.sizes.symbol(key, 0, self.world.known),))
        if entry.kind == "matrix":
            if IDENTITY.match(entry.atom.symbol):
                size = self.sizes.fresh()
                return Shape("matrix", (size, size))
            return Shape("matrix", tuple(self.sizes.symbol(key, side, self.world.known) for side in (0, 1)))
        return None

    def unsure(self, base: str, indices: tuple[tree.Node, ...]) -> bool:
        """Whether an entry of a guessed sequence may be a component, a power or an entry of a matrix."""
        entry = self.world.notation.by_name.get((base, "sequence"))
        if self.world.firm is None or entry is None:
            return False
        components = any(tree.letters(i) & self.world.notation.components for i in indices)
        if len(indices) == 1 and any((base, letter) in self.world.picked for letter in tree.letters(indices[0])):
            return True
        power = "upper" in entry.flags and any(isinstance(i, tree.Number) and i.value > 1 for i in indices)
        below = entry.kind == "matrix" or base in self.world.single  # x_{t,i} beside x_t: its i-th component, maybe
        return components or power or (below and len(indices) > 1)

    def _firm(self, entry: Entry) -> bool:
        """Whether a guessed kind is beyond doubt: numbers by their places, vectors small, matrices in capitals."""
        assert self.world.firm is not None
        name = f"{entry.name}[]" if entry.role == "sequence" else entry.name
        core = entry.atom.symbol.rpartition("{")[2].strip("}\\")
        if entry.kind == "scalar":
            bare = self.world.notation.by_symbol.get(core, ()) if core != entry.atom.symbol else ()
            return name in self.world.firm and not any(e.kind == "vector" for e in bare)  # a mean of vectors
        if entry.kind == "matrix" and entry.name not in self.world.acting:
            return False
        return core[:1].islower() == (entry.kind == "vector") and name not in self.world.firm

    def _entry_too(self, entry: Entry) -> bool:
        """Whether a letter with a script is printed like an entry of a sequence: ``r_0`` beside ``r_t``."""
        return any(e.role == "sequence" for e in self.world.notation.by_symbol.get(entry.atom.symbol, ()))

    def added(self, terms: tuple[tree.Node, ...]) -> Shape | None:
        """A sum: all terms of one shape."""
        first: Shape | None = None
        whole = True
        for term in terms:
            shape = self.shape(term)
            if shape is None:
                whole = False
            elif not tree.is_zero(term):
                if first is not None:
                    self.at = terms
                    self.same(first, shape, "terms of a sum")
                first = first or shape
        return first if whole or first is not None else None

    def scaled(self, factors: tuple[tree.Node, ...]) -> Shape | None:
        """A product with numbers: at most one factor is none."""
        found: list[Shape | None] = [self.shape(factor) for factor in factors]
        lines = [s for s in found if s is not None and s.kind != "scalar"]
        if None in found:
            return None
        return NUMBER if not lines else lines[0] if len(lines) == 1 else None

    def product(self, node: tree.MatrixMultiply, one: Shape | None, other: Shape | None) -> Shape | None:
        """A product of matrices and vectors: inner sizes agree."""
        if one is None or other is None:
            return None
        self.at = (node.left, node.right)
        what = "a product of matrices"
        match one.kind, other.kind:
            case "matrix", "vector":
                self.sizes.equal(one.sizes[1], other.sizes[0], what)
                return Shape("vector", (one.sizes[0],))
            case "matrix", "matrix":
                self.sizes.equal(one.sizes[1], other.sizes[0], what)
                return Shape("matrix", (one.sizes[0], other.sizes[1]))
            case "covector" | "vector", "matrix":
                self.sizes.equal(one.sizes[0], other.sizes[0], what)
                return Shape("covector", (other.sizes[1],))
            case "covector", "vector":
                self.sizes.equal(one.sizes[0], other.sizes[0], "an inner product")
                return NUMBER
            case "vector", "covector":
                return Shape("matrix", (one.sizes[0], other.sizes[0]))
        return None

    def call(self, node: tree.Call) -> Shape | None:
        """The value of a function or operator."""
        name, arguments = node.function, node.arguments
        if name in ("sum", "prod", "min", "max", "sup", "inf", "argmin", "argmax", "integral", "family"):
            return self.operator(node)
        shapes = [self.shape(argument) for argument in arguments]
        first = shapes[0] if shapes else None
        if name in ("norm", "norm_2", "frobenius", "abs", "dual_norm", "dist", "component", "lambda_min", "rank"):
            return NUMBER
        if name == EXPECTATION:
            return shapes[-1]
        if name == "dot" and len(shapes) == 2:
            self.at = arguments
            if first is not None and shapes[1] is not None:
                self.same(first, shapes[1], "an inner product")
            return NUMBER
        if name == "T" and first is not None:
            return Shape({"vector": "covector", "covector": "vector"}.get(first.kind, first.kind), first.sizes[::-1])
        if name == "inv" and first is not None and first.kind == "matrix":
            self.at = arguments
            self.sizes.equal(first.sizes[0], first.sizes[1], "an inverse of a matrix")
            return first
        if name in SCALAR_ONLY and first is not None:
            if first.kind != "scalar":
                self.at = arguments
                raise Conflict(f"the {name} of {MIXED[first.kind]}")
            return NUMBER
        return self.function(node, shapes)

    def operator(self, node: tree.Call) -> Shape | None:
        """Sums have the shape of their terms; minima are numbers, minimisers what the letter is."""
        name, span = node.function, node.arguments[-1]
        if len(node.arguments) < 2 or not isinstance(span, tree.Tuple):
            for part in node.arguments:
                self.shape(part)
            return NUMBER if name in ("min", "max", "sup", "inf") else None
        body = self.shape(node.arguments[0])
        if name in ("sum", "prod"):
            return body
        if name in ("min", "max", "sup", "inf"):
            if body is not None and body.kind != "scalar":
                self.at = node.arguments[:1]
                raise Conflict(f"the {name} of {MIXED[body.kind]}")
            return NUMBER
        if name in ("argmin", "argmax"):
            first = span.items[0] if span.items else None
            return None if first is None else self.shape(first)
        return None

    def function(self, node: tree.Call, shapes: list[Shape | None]) -> Shape | None:
        """Functions of the paper and their derivatives."""
        split = split_name(node.function, self.world.notation.functions)
        base = split[1] if split is not None else node.function
        letters = self.world.blocks.get(base, ())
        if len(letters) == 2 and len(shapes) == 2:
            self.at = (node,)
            for letter, shape in zip(letters, shapes, strict=True):
                if shape is not None and shape.kind == "vector":
                    self.sizes.equal(shape.sizes[0], self.sizes.fresh(letter), f"an argument of {base}")
        entry = self.world.notation.by_name.get((base, "function"))
        if entry is None or entry.of or entry.flags & {"first", "last"}:
            return None
        firm = self.world.firm
        if firm is not None and (entry.kind != "scalar" or not (f"{base}()" in firm or base in self.world.blocks)):
            return None
        if split is None:
            return self.value(entry.kind, base)
        nabla = split[0]
        if entry.kind != "scalar" or nabla.order > 2:
            return None
        if nabla.blocks:
            sizes = tuple(self.sizes.fresh(letter) for letter in nabla.blocks)
            return Shape("vector" if len(sizes) == 1 else "matrix", sizes)
        if len(shapes) != 1 or shapes[0] is None or shapes[0].kind != "vector":
            return None
        size = shapes[0].sizes[0]
        return Shape("vector", (size,)) if nabla.order == 1 else Shape("matrix", (size, size))

    def value(self, kind: str, name: str) -> Shape | None:
        """The value of a function."""
        if kind == "scalar":
            return NUMBER
        if kind == "vector":
            return Shape("vector", (self.sizes.symbol(f"{name}()", 0, self.world.known),))
        if kind == "matrix":
            return Shape("matrix", tuple(self.sizes.symbol(f"{name}()", side, self.world.known) for side in (0, 1)))
        return None


def _has_euler(node: tree.Node) -> bool:
    """Whether e stands in it, to a power or as a letter with scripts: Euler's number, or an error ``e_k``."""
    return has_power_of_e(node) or any(isinstance(p, tree.Index) and p.base == "e" for p in node.walk())


def _names(one: tree.Node, other: tree.Node) -> bool:
    """Whether an equation only names: ``v = U_n`` says what v is."""
    return all(isinstance(side, tree.Letter | tree.Index) for side in (one, other))
