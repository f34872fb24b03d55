"""A card: one paper as data. What is printed, where, under which hypotheses; nothing here computes.

Every expression is kept twice, as the text of the card and as its parsed tree; the printed LaTeX stands beside it.
The classes mirror the tables of a card file one to one; :mod:`bilevel_verify.theorems.reading.reader` builds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bilevel_verify.language.tree import Node
from bilevel_verify.latex import Notation

if TYPE_CHECKING:
    from bilevel_verify.constants.papers import LetterSet

Scope = Literal["parameters", "point", "step", "epoch", "run", "order"]
SCOPES: tuple[Scope, ...] = ("parameters", "point", "step", "epoch", "run", "order")
LetterSource = Literal["constants", "truth", "user", "run", "problem", "settings"]
STATEMENT_KINDS = ("theorem", "lemma", "proposition", "corollary", "condition", "remark")
PASSIVE_KINDS = ("assumption", "definition", "proof", "table")
MARKS = ("added", "special", "step", "part", "letters", "reading", "by hand", "repaired")
"""Why what is judged is not what is printed: hypotheses of our own, a special case, one step or a part of it, letters
in place of what they stand for, a named reading, a change made by hand, a repaired form."""
ASSUMED_KINDS = ("assumption", "condition")
ORDER_SYMBOLS = frozenset({"O", "softO", "Omega", "Theta"})


def _none() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression: its tree and the text it was read from. Compares by tree."""

    tree: Node
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Condition(Expression):
    """A hypothesis. ``origin`` is the place where the paper prints it; one of our own (``added``) has none."""

    origin: str = field(default="", compare=False)
    added: bool = field(default=False, compare=False)

    @property
    def unread(self) -> bool:
        """Whether nobody has said where it comes from: neither the paper's place nor that it is our own."""
        return not (self.origin or self.added)


@dataclass(frozen=True, slots=True)
class Mark:
    """Why something is not judged as it is printed: a word of :data:`MARKS` and the reason."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class Link:
    """One relation ``left op right`` of a chain; each link of a chain is judged by itself.

    ``printed`` quotes the paper; ``stated`` is a display of the card's own making, "as we read it".
    """

    left: Expression
    op: str
    right: Expression
    printed: str = ""
    stated: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def has_order_symbol(self) -> bool:
        """Whether a side is ``O(...)``, ``softO(...)``, ``Omega(...)`` or ``Theta(...)``."""
        return any(getattr(side.tree, "function", None) in ORDER_SYMBOLS for side in (self.left, self.right))

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a letter lives: ``(0, oo)``, ``[mu, oo)``, ``integers 1..k_end-1``, ``domain``, ``vectors y``.

    Attributes
    ----------
    kind : ``interval`` (real), ``integers``, ``domain`` (all points of the problem's domain; ``space`` says of which
        block, "x" by default), ``vectors`` (all vectors shaped like the block ``space``), ``weights`` (a list of
        nonnegative numbers with sum 1).
    lower, upper : ends (None for an open integer range); they may mention other letters.
    lower_closed, upper_closed : whether the end belongs to it.
    origin : where the paper prints the range; empty for one that nobody has read against the paper.
    added : whether it is narrower than the printed one, by our own will.
    """

    text: str
    kind: Literal["interval", "integers", "domain", "vectors", "weights"]
    lower: Expression | None = None
    upper: Expression | None = None
    lower_closed: bool = True
    upper_closed: bool = True
    space: str = "x"
    origin: str = field(default="", compare=False, repr=False)
    added: bool = field(default=False, compare=False, repr=False)

    @property
    def unread(self) -> bool:
        """Whether it restricts a number and nobody has said where that comes from."""
        whole = self.kind == "interval" and all(end is None or _is_infinite(end) for end in (self.lower, self.upper))
        return self.kind in ("interval", "integers") and not (whole or self.origin or self.added)

    def __str__(self) -> str:
        return self.text


def _is_infinite(end: Expression) -> bool:
    return end.text.replace(" ", "") in ("oo", "-oo", "+oo")


@dataclass(frozen=True, slots=True)
class LetterSpec:
    """A declared letter.

    ``source`` says where its value comes from: ``constants`` (room constants, under the name ``called``), ``truth``
    (``Delta`` and the like), ``user`` (``eps``), ``problem`` (dimensions), ``run`` (sequences and what a run shows),
    ``settings`` (defined by the card). ``relation`` lists units that its definition declares equal to 1;
    ``needs`` are letters that must be known before its truth can be asked for (``Delta_lam`` needs ``lam``);
    ``definition`` holds the card's own definitions of constants, where this letter is one of them;
    ``rounding = "up"`` marks a loop limit: ``while k < K`` runs ceil(K) times.
    """

    name: str
    unit: Expression | None = None
    domain: Domain | None = None
    meaning: str = ""
    source: LetterSource = "settings"
    called: str = ""
    sign: Literal["", "any"] = ""
    display: str = ""
    relation: tuple[Expression, ...] = ()
    default: Expression | None = None
    needs: tuple[str, ...] = ()
    rounding: Literal["", "up"] = ""
    definition: LetterSet | None = None


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function symbol: units of its arguments and of its value, and what computes it."""

    name: str
    arguments: tuple[Expression, ...] = ()
    value: Expression | None = None
    computes: str = ""
    meaning: str = ""
    display: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """A letter that is the only root of an increasing function in a bracket; ``side`` is the safe end for a run."""

    equation: Expression
    between: tuple[Expression, Expression]
    define: Mapping[str, Expression] = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Definition:
    """A letter that is a formula of other letters, with the printed LaTeX beside it.

    ``side`` is the end of its enclosure that a run takes: ``upper``, ``lower`` or ``middle``.
    """

    name: str
    value: Expression | Root
    printed: str = ""
    stated: str = ""
    source: str = ""
    side: Literal["upper", "lower", "middle"] = "middle"
    where: tuple[Expression, ...] = ()

    @property
    def expression(self) -> Expression:
        """The defining formula (the equation, for a root)."""
        return self.value.equation if isinstance(self.value, Root) else self.value


@dataclass(frozen=True, slots=True)
class Settings:
    """One prescribed choice of parameters with its own hypotheses, printed ones and (``added``) ours."""

    name: str
    parameters: Mapping[str, Definition]
    where: tuple[Condition, ...] = ()
    added: tuple[Condition, ...] = ()
    source: str = ""
    printed: str = ""
    stated: str = ""
    note: str = ""
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A named reading: numbers or a text taken where the print has an order symbol, a gap, or an ambiguity."""

    name: str
    label: str
    why: str = ""
    literal: bool = False
    source: str = ""
    parameters: Mapping[str, Definition] = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Hides:
    """What the order symbols of a paper hide besides absolute constants, declared once for the whole card.

    ``letters`` stay fixed in every sentence whose bound does not name them; ``source`` and ``printed`` say where the
    paper says so, or which of its sentences leave them out.
    """

    letters: tuple[str, ...] = ()
    source: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A known refutation: since which version, and why.

    ``on`` is the problem of the recorded counterexample of a claim, a name of the zoo or the table of a problem file,
    with the accuracies ``eps``, the start ``x0``, the letters ``set``, the ``digits`` of the run (0: float64):
    ``audit`` runs it again. Where no instance can show it, ``never`` says why, by a key of :data:`NEVER`.
    """

    since: str = ""
    why: str = ""
    at: str = ""
    on: str | Mapping[str, Any] = ""
    eps: tuple[float, ...] = ()
    x0: tuple[float, ...] = ()
    set: Mapping[str, Any] = field(default_factory=_none)
    digits: int = 0
    never: str = ""


NEVER = {
    "units": "only the units disagree; in every one choice of units the relation is kept",
    "range": "wherever the relation breaks, a letter that the statement prescribes has left its printed range",
}
"""Why a recorded refutation has no instance that could be run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One promise of a statement, in one scope.

    ``chain`` holds its links; ``kind`` is ``bound`` or ``probability`` (then ``probability`` is the least success
    probability and the chain is the event). ``readings`` and ``repaired`` are complete claims of their own; theirs
    carry ``reading`` (the label) or ``change``/``why`` and ``as_printed = False``. ``given_by`` names letters whose
    proof is a proof of the claim: where they are proved, the claim is a hypothesis that needs no run. ``assumed``: the
    paper assumes it and does not claim it, so that where it is false the paper says nothing.
    """

    id: str
    over: Scope
    chain: tuple[Link, ...]
    for_: Mapping[str, Domain] = field(default_factory=_none)
    where: tuple[Condition, ...] = ()
    added: tuple[Condition, ...] = ()
    narrowed: Mapping[str, Domain] = field(default_factory=_none)
    marks: tuple[Mark, ...] = ()
    define: Mapping[str, Expression] = field(default_factory=_none)
    source: str = ""
    printed: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    refuted: Refuted | None = None
    same_as: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    points: tuple[Expression, ...] = ()
    probability: Expression | None = None
    fit: str = ""
    given_by: tuple[str, ...] = ()
    assumed: bool = False
    note: str = ""
    why: str = ""
    reading: str = ""
    literal: bool = False
    change: str = ""
    as_printed: bool = True
    readings: tuple[Claim, ...] = ()
    repaired: Claim | None = None

    @property
    def is_order(self) -> bool:
        """Whether it is known only up to a constant."""
        return self.over == "order" or any(link.has_order_symbol for link in self.chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What all numbered items share.

    ``where`` and ``for_`` are the hypotheses and ranges of the print; ``added`` and ``narrowed`` are ours and stand in
    a second judgement, which is marked. ``marks`` say that the entry is not judged as it is printed at all; ``assumed``
    as for a claim (the rule for assumptions and conditions).
    """

    kind: str
    id: str
    source: str = ""
    title: str = ""
    for_: Mapping[str, Domain] = field(default_factory=_none)
    where: tuple[Condition, ...] = ()
    added: tuple[Condition, ...] = ()
    narrowed: Mapping[str, Domain] = field(default_factory=_none)
    marks: tuple[Mark, ...] = ()
    define: Mapping[str, Expression] = field(default_factory=_none)
    assumes: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    text: str = ""
    refuted: Refuted | None = None
    assumed: bool = False
    same_as: tuple[str, ...] = ()
    nothing_to_decide: str = ""
    note: str = ""
    why: str = ""
    reading: str = ""
    settings: tuple[str, ...] = ()
    parameters: Mapping[str, Definition] = field(default_factory=_none)
    repaired: Entry | None = None
    drafted: bool = False
    quantified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Entry):
    """A theorem, lemma, proposition, corollary, condition, remark, assumption, definition, proof or table."""

    readings: tuple[str, ...] = ()
    method: str = ""
    algorithm: str = ""
    claims: tuple[Claim, ...] = ()
    items: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

    def claim(self, claim_id: str) -> Claim:
        """The claim of that id; KeyError if there is none."""
        for claim in self.claims:
            if claim.id == claim_id:
                return claim
        raise KeyError(f"{self.id} has no claim {claim_id!r}; it has {[c.id for c in self.claims]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inequality(Entry):
    """Scalar mathematics inside a proof: a chain, for all letters in their ranges under ``where``."""

    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Entry):
    """Vector algebra inside a proof, linear in inner products of ``vectors``."""

    vectors: tuple[str, ...] = ()
    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation(Entry):
    """``result`` after ``substitute`` is (of order) ``gives`` in the ``regime``.

    ``premise`` names the entries (``id`` or ``id/claim``) that ``result`` is taken from, the best that the paper gives
    for it; their hypotheses are in force.
    """

    result: Expression
    gives: Expression
    substitute: Mapping[str, Expression] = field(default_factory=_none)
    regime: tuple[Condition, ...] = ()
    premise: tuple[str, ...] = ()
    dimensionless: bool = False
    free_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Entry):
    """A printed formula against the object that it claims to be."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow(Entry):
    """An entry of a comparison table: column -> expression (usually ``O(...)``); ``regime`` as in a derivation."""

    table: str
    method: str
    entries: Mapping[str, Expression] = field(default_factory=_none)
    regime: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm(Entry):
    """A printed pseudo-code as data.

    ``program`` is the parsed statement list (see ``theorems.algorithm``); ``called`` the name by which other
    algorithms call this one; ``families`` sequences of parameters: name -> (indices, formula), as ``T[t, k]`` from
    ``T_0`` and ``T_k``. ``inputs`` are those that the paper names; ``taken`` are letters that a run needs besides, with
    the reason why they are taken: a reading.
    """

    inputs: tuple[str, ...]
    steps: str
    program: Any = None
    called: str = ""
    families: Mapping[str, tuple[tuple[str, ...], Expression]] = field(default_factory=_none)
    taken: Mapping[str, str] = field(default_factory=_none)
    outputs: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    supplied_by: tuple[str, ...] = ()
    method: str = ""
    variant_of: str = ""
    literal: bool = True

    @property
    def needs(self) -> tuple[str, ...]:
        """What a run is given: the inputs of the paper and the letters that are taken besides."""
        return (*self.inputs, *self.taken)


@dataclass(frozen=True, slots=True)
class Card:
    """One paper."""

    key: str
    title: str
    path: Path
    authors: str = ""
    venue: str = ""
    note: str = ""
    units: Mapping[str, str] = field(default_factory=_none)
    letters: Mapping[str, LetterSpec] = field(default_factory=_none)
    functions: Mapping[str, FunctionSpec] = field(default_factory=_none)
    definitions: Mapping[str, Definition] = field(default_factory=_none)
    settings: Mapping[str, Settings] = field(default_factory=_none)
    readings: Mapping[str, Reading] = field(default_factory=_none)
    regimes: Mapping[str, tuple[Condition, ...]] = field(default_factory=_none)
    hides: Hides | None = None
    entries: Mapping[str, Entry] = field(default_factory=_none)
    digest: str = ""
    notation: Notation = field(default_factory=Notation, compare=False, repr=False)
    draft: Mapping[str, Any] = field(default_factory=_none, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The paper's key."""
        return self.key

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Theorems, lemmas, propositions, corollaries, conditions and remarks, in the order of the file."""
        return tuple(e for e in self.entries.values() if isinstance(e, Statement) and e.kind in STATEMENT_KINDS)

    @property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """Printed algorithms."""
        return tuple(e for e in self.entries.values() if isinstance(e, Algorithm))

    def of_kind(self, kind: str) -> tuple[Entry, ...]:
        """All entries of one kind (``inequality``, ``step``, ``table_row`` ...)."""
        return tuple(e for e in self.entries.values() if e.kind == kind)

    def statement(self, statement_id: str) -> Statement:
        """The statement of that id; KeyError with what there is."""
        found = self.entries.get(statement_id)
        if not isinstance(found, Statement):
            raise KeyError(f"{self.key} has no statement {statement_id!r}")
        return found

    def claims(self) -> Iterator[tuple[Statement, Claim]]:
        """Every claim with its statement."""
        for entry in self.entries.values():
            if isinstance(entry, Statement):
                for claim in entry.claims:
                    yield entry, claim
