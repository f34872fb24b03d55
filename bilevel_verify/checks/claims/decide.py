"""From two enclosures to a verdict, and from many places to one row.

``holds`` needs the far end of the left side on the right side of the near end of the right side, at every place, and
every hypothesis verified. A comparison that involves NaN decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import inf, isnan

from bilevel_verify.checks.claims.values import Answer, Value, as_scalar, compare, ends, scalar_ball
from bilevel_verify.checks.verdicts.verdict import Verdict
from bilevel_verify.errors import MathematicalError
from bilevel_verify.truth.arithmetic.enclosure import Certainty, is_witness, weakest

WIDE = 1e-6
"""A side whose relative width exceeds this is undecided for want of precision rather than by a tie."""

NOISE = 1e-13
"""Sides that are both smaller are rounding where a relation between them breaks."""

WORST_FIRST: tuple[Verdict, ...] = ("refuted", "undecided", "holds", "inconsistent", "consistent", "uninformative")
"""What decides for a statement, if one of its claims has it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One relation at one place.

    ``answer`` is True, False or None (undecided, for ``reason``); ``measured`` and ``bound`` are the ends that count,
    ``margin`` is positive where the relation holds with room.
    """

    answer: Answer
    measured: float
    bound: float
    margin: float
    reason: str = ""
    certainty: Certainty = "proved"
    where: str = ""
    gap: float = 0.0
    """Least distance between the two sides of a violated relation."""


def judge(left: Value, operator: str, right: Value, certainty: Certainty = "proved", where: str = "") -> Judgement:
    """Decide ``left operator right`` from enclosures of both sides.

    >>> from fractions import Fraction
    >>> judge(Fraction(1), "<=", Fraction(1)).answer
    True
    """
    a, b = as_scalar(left), as_scalar(right)
    answer = compare(a, operator, b)
    (a_low, a_high), (b_low, b_high) = ends(a), ends(b)
    measured, bound = _counting_ends((a_low, a_high), operator, (b_low, b_high), answer)
    reason = "" if answer is not None else _why((a_low, a_high), (b_low, b_high))
    margin = margin_of(measured, operator, bound)
    # both ends are rounded outwards: a relation that holds has room, any other one has none (NaN stays NaN)
    margin = max(margin, 0.0) if answer else min(margin, 0.0)
    gap = 0.0 if answer is not False else max(0.0, float(abs(scalar_ball(a) - scalar_ball(b)).lower()))
    return Judgement(answer, measured, bound, margin, reason, certainty, where, gap)


def undecided(reason: str, certainty: Certainty = "computed", where: str = "") -> Judgement:
    """A place where a side has no value."""
    return Judgement(None, float("nan"), float("nan"), float("nan"), reason, certainty, where)


def _counting_ends(
    a: tuple[float, float], operator: str, b: tuple[float, float], answer: Answer
) -> tuple[float, float]:
    """The pessimistic ends; for a violated relation the optimistic ones, so that the margin shows the violation."""
    upwards = operator in ("<=", "<", "==")
    if answer is False:
        return (a[0], b[1]) if upwards else (a[1], b[0])
    return (a[1], b[0]) if upwards else (a[0], b[1])


def _why(a: tuple[float, float], b: tuple[float, float]) -> str:
    if any(isnan(end) for end in (*a, *b)):
        return "precision: a side is not a number"
    scale = max(abs(end) for end in (*a, *b))
    width = max(a[1] - a[0], b[1] - b[0])
    if scale == inf or width > WIDE * scale > 0:
        return "precision: the enclosures are too wide"
    return "tie"


def margin_of(measured: float, operator: str, bound: float) -> float:
    """``(bound - measured) / max(|bound|, |measured|)``, sign turned for ``>=``; 0 for two equal sides."""
    if isnan(measured) or isnan(bound):
        return float("nan")
    if measured == bound:
        return 0.0
    if abs(measured) == inf or abs(bound) == inf:
        return 1.0 if (measured < bound) == (operator in ("<=", "<", "==")) else -1.0
    difference = bound - measured if operator in ("<=", "<") else measured - bound
    if operator == "==":
        difference = -abs(difference)
    return difference / max(abs(bound), abs(measured))


def ratio_of(judgement: Judgement | None) -> float:
    """The share of a bound that is used up at a place: 1 where the sides are equal, above 1 for a violation.

    ``left/right`` for ``<=`` between positive sides, ``right/left`` for ``>=`` or between negative ones, at most 0
    where the signs differ. ``-inf`` where it says nothing: no place, a side that is not a number, both sides zero,
    sides that their enclosures do not tell apart but for a tie.
    """
    if judgement is None or isnan(judgement.margin) or judgement.measured == 0 == judgement.bound:
        return -inf
    margin = judgement.margin
    if judgement.answer is None:
        return 1.0 if judgement.reason == "tie" and judgement.measured * judgement.bound > 0 else -inf
    if margin >= 0:
        return 1 - margin
    return 1 / (1 + margin) if margin > -1 else inf


@dataclass
class Tally:
    """Collects the judgements of one relation over all its places.

    Keeps the place with the smallest margin, the worst violation, the first place that was not decided, and the place
    that uses up most of the bound. ``certainty`` is the weakest ingredient of all that was looked at, ``excluded`` that
    of the conditions which left places out: what holds at the others rests on them too.
    """

    places: int = 0
    skipped: int = 0
    held: int = 0
    violated: int = 0
    certainty: Certainty = "proved"
    excluded: Certainty = "proved"
    tightest: Judgement | None = None
    worst: Judgement | None = None
    first: Judgement | None = None
    first_epoch: int | None = None
    closest: Judgement | None = None
    open_: Judgement | None = None
    open_count: int = 0
    notes: list[str] = field(default_factory=list)
    work: int = 0

    def take(self, judgement: Judgement, epoch: int | None = None) -> None:
        """One more place, of that epoch."""
        self.places += 1
        self.certainty = weakest(self.certainty, judgement.certainty)
        if ratio_of(judgement) > ratio_of(self.closest) and not _is_noise(judgement):
            self.closest = judgement
        if judgement.answer is None:
            self.open_count += 1
            self.open_ = self.open_ or judgement
            return
        if judgement.answer:
            self.held += 1
        else:
            self.violated += 1
            if self.first is None:
                self.first, self.first_epoch = judgement, epoch
            if self.worst is None or _before(judgement.margin, self.worst.margin):
                self.worst = judgement
        if self.tightest is None or _before(judgement.margin, self.tightest.margin):
            self.tightest = judgement

    def skip(self, certainty: Certainty) -> None:
        """A place where a ``where`` line is false, in numbers of this certainty."""
        self.skipped += 1
        self.excluded = weakest(self.excluded, certainty)
        self.certainty = weakest(self.certainty, certainty)

    def become(self, other: Tally) -> None:
        """The places of another run in place of these; the certainty is the weakest of both."""
        weaker = weakest(self.certainty, other.certainty)
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))
        self.certainty = weaker

    def outcome(self) -> tuple[Verdict, str]:
        """Verdict and reason from the places alone, hypotheses not yet considered."""
        if self.places == 0:
            count = f" ({self.skipped} skipped)" if self.skipped else ""
            if not is_witness(self.excluded):
                return "undecided", f"hypothesis: no place to check in {self.excluded} numbers, no witness{count}"
            return "not applicable", f"vacuous: no place to check{count}" if self.skipped else "vacuous"
        if self.violated:
            return "refuted", f"violated at {self.violated} of {self.places} places"
        if self.open_ is not None:
            return "undecided", f"{self.open_.reason} ({self.open_count} of {self.places} places)"
        return "holds", ""

    @property
    def shown(self) -> Judgement | None:
        """The judgement that a row shows: the worst violation, else an open place, else the smallest margin."""
        return self.worst or self.open_ or self.tightest


def _is_noise(judgement: Judgement) -> bool:
    """Whether a violation is so small that the rounding of a run in floats makes it."""
    return judgement.answer is False and max(abs(judgement.measured), abs(judgement.bound)) < NOISE


def _before(a: float, b: float) -> bool:
    return a < b or isnan(b)


def reason_of(error: MathematicalError) -> str:
    """The reason of a verdict behind an error of evaluation."""
    return str(getattr(error, "reason", error))


def guarded(error: MathematicalError, where: str, certainty: Certainty = "computed") -> Judgement:
    """The judgement of a place whose evaluation failed; reasons outside the known set become ``precision``."""
    known = ("tie", "precision", "budget", "local", "not recorded", "hypothesis", "vacuous")
    text = reason_of(error)
    return undecided(text if text.startswith(known) else f"precision: {text}", certainty, where)


def summary(verdicts: Sequence[Verdict]) -> Verdict:
    """Verdict of a statement from those of its claims (orders stay in their rows)."""
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), "not applicable")
