"""What the entries of a card are made of: expressions, conditions, links, letters, functions, settings, marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bilevel_verify.language.text import to_text
from bilevel_verify.language.tree import Node

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


def none() -> Mapping[str, Any]:
    """An empty table that nobody can write into."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression: its tree and the text it was read from. Compares by tree."""

    tree: Node
    text: str = field(compare=False)

    @classmethod
    def of(cls, node: Node) -> Expression:
        """An expression that no text was read into."""
        return Expression(node, to_text(node))

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

    def with_ends(self, change: Callable[[Node], Node]) -> Domain:
        """The same range with its ends written otherwise."""
        low, high = (None if e is None else Expression(change(e.tree), e.text) for e in (self.lower, self.upper))
        return replace(self, lower=low, upper=high)

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
    define: Mapping[str, Expression] = field(default_factory=none)


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
    parameters: Mapping[str, Definition] = field(default_factory=none)


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
    set: Mapping[str, Any] = field(default_factory=none)
    digits: int = 0
    never: str = ""
