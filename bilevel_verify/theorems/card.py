"""A card: one paper as data. What is printed, where, under which hypotheses; nothing here computes.

Every expression is kept twice, as the text of the card and as its parsed tree; the printed LaTeX stands beside it.
The classes mirror the tables of a card file one to one; :mod:`bilevel_verify.theorems.reading.reader` builds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.theorems.card_parts import (
    STATEMENT_KINDS,
    Condition,
    Definition,
    Domain,
    Expression,
    FunctionSpec,
    Hides,
    LetterSpec,
    Link,
    Mark,
    Reading,
    Refuted,
    Scope,
    Settings,
    none,
)

if TYPE_CHECKING:
    from bilevel_verify.latex import Notation


def free_notation() -> Notation:
    """That of a single formula; the reader of LaTeX is loaded when there is a card."""
    from bilevel_verify.latex import Notation

    return Notation()


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
    for_: Mapping[str, Domain] = field(default_factory=none)
    where: tuple[Condition, ...] = ()
    added: tuple[Condition, ...] = ()
    narrowed: Mapping[str, Domain] = field(default_factory=none)
    marks: tuple[Mark, ...] = ()
    define: Mapping[str, Condition] = field(default_factory=none)
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
    for_: Mapping[str, Domain] = field(default_factory=none)
    where: tuple[Condition, ...] = ()
    added: tuple[Condition, ...] = ()
    narrowed: Mapping[str, Domain] = field(default_factory=none)
    marks: tuple[Mark, ...] = ()
    define: Mapping[str, Condition] = field(default_factory=none)
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
    parameters: Mapping[str, Definition] = field(default_factory=none)
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
    substitute: Mapping[str, Expression] = field(default_factory=none)
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
    entries: Mapping[str, Expression] = field(default_factory=none)
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
    families: Mapping[str, tuple[tuple[str, ...], Expression]] = field(default_factory=none)
    taken: Mapping[str, str] = field(default_factory=none)
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
    units: Mapping[str, str] = field(default_factory=none)
    letters: Mapping[str, LetterSpec] = field(default_factory=none)
    functions: Mapping[str, FunctionSpec] = field(default_factory=none)
    definitions: Mapping[str, Definition] = field(default_factory=none)
    settings: Mapping[str, Settings] = field(default_factory=none)
    readings: Mapping[str, Reading] = field(default_factory=none)
    regimes: Mapping[str, tuple[Condition, ...]] = field(default_factory=none)
    hides: Hides | None = None
    entries: Mapping[str, Entry] = field(default_factory=none)
    digest: str = ""
    notation: Notation = field(default_factory=free_notation, compare=False, repr=False)
    draft: Mapping[str, Any] = field(default_factory=none, compare=False, repr=False)

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
