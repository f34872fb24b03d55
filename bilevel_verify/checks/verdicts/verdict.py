"""The closed list of verdicts and the row in which every one of them is handed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from bilevel_verify.errors import InputError
from bilevel_verify.truth.arithmetic.enclosure import Certainty

Verdict = Literal["holds", "refuted", "undecided", "not applicable", "consistent", "inconsistent", "uninformative"]
BOUND_VERDICTS: tuple[Verdict, ...] = ("holds", "refuted", "undecided", "not applicable")
ORDER_VERDICTS: tuple[Verdict, ...] = ("consistent", "inconsistent", "uninformative", "undecided", "not applicable")

Judged = Literal["relation", "units", "definedness", "bookkeeping", "executability", "hypothesis"]
NOT_THE_RELATION: tuple[Judged, ...] = ("units", "definedness", "bookkeeping", "executability", "hypothesis")
"""Kinds of check that look at something else than the relation: they never make a statement hold."""


def judged_by(kind: str) -> Judged:
    """What a check of this kind judges."""
    return next((what for what in NOT_THE_RELATION if what == kind), "relation")


def related(right: str | None, details: Mapping[str, object] | None) -> str:
    """A right side behind its sign, where a row has both; rows of earlier versions have the sign in the text."""
    op = (details or {}).get("op")
    return f"{op} {right}" if op and right else right or ""


class Details(TypedDict, total=False):
    """What a row says besides its fields, as far as reports read it: a check puts more in, by names of its own.

    ``driver``, ``counts``, ``bounds``, ``interval`` are the sweep of an order (``interval``: of a probability, too);
    ``script``, ``repaired`` are of audits.
    """

    op: str
    eps: float | list[float | None] | None
    x0: list[float] | None
    driver: list[float]
    counts: list[float] | None
    bounds: list[float] | None
    interval: list[float] | None
    certificate_files: list[str]
    script: str | None
    repaired: str | None


class RowRecord(TypedDict):
    """A :class:`Row` as JSON: numbers that JSON cannot say are texts; rows of older stores lack the last two."""

    paper: str | None
    statement: str | None
    claim: str | None
    source: str | None
    problem: str | None
    method: str | None
    kind: str
    verdict: Verdict
    certainty: Certainty | None
    left: str | None
    right: str | None
    measured: float | str | None
    bound: float | str | None
    margin: float | str | None
    where: str | None
    places: int | None
    reason: str | None
    reproduce: str | None
    reading: str | None
    as_printed: bool
    known_refuted: bool
    printed: str | None
    stated: str | None
    details: Details
    marks: NotRequired[list[str]]
    judges: NotRequired[Judged]


@dataclass(frozen=True, slots=True)
class Row:
    """One verdict on one claim. A field that does not apply is None, never absent.

    Attributes
    ----------
    paper, statement, claim : ids of the card ("ragd-gs", "theorem-1", "iterations").
    source : place in the paper, as the card gives it.
    problem, method : names; ``problem`` is None for a row about a statement as a whole.
    kind : kind of check: ``parameters point step epoch run order probability inequality derivation identity units
        step-algebra executability bookkeeping``.
    verdict, certainty, reason : as the design defines them; ``reason`` is a short text, its first words from a small
        set (``tie``, ``precision``, ``budget``, ``time``, ``local``, ``not recorded``, ``hypothesis ...``, ``vacuous``,
        ``survived N attacks ...``).
    left, right : both sides of the relation as text; the sign between them is ``details["op"]``.
    measured, bound : the two sides where the margin is smallest (upper end of left, lower end of right).
    margin : (bound - measured) / max(|bound|, |measured|): positive where it holds, at its smallest place.
    where : that place ("epoch 3, k = 17", "eps = 0.01"), and over how many places it was checked (``places``).
    reproduce : a command line, quoted for the shell, that repeats this row.
    reading : label of the named reading, where numbers marked [derived] were used.
    printed, stated : the LaTeX that the card quotes; a display of the card's own making, "as we read it".
    known_refuted : the card already records this refutation.
    marks : why this is not judged as printed, ``"special: k = 2 stands for all k >= 2"``; a row with a mark is never
        ``as_printed``.
    judges : what is judged: ``relation``, or ``units definedness bookkeeping executability hypothesis``, which are
        counted apart and make nothing ``holds``. Follows from ``kind``.
    """

    paper: str | None
    statement: str | None
    claim: str | None
    source: str | None
    problem: str | None
    method: str | None
    kind: str
    verdict: Verdict
    certainty: Certainty | None = None
    left: str | None = None
    right: str | None = None
    measured: float | None = None
    bound: float | None = None
    margin: float | None = None
    where: str | None = None
    places: int | None = None
    reason: str | None = None
    reproduce: str | None = None
    reading: str | None = None
    as_printed: bool = True
    known_refuted: bool = False
    printed: str | None = None
    stated: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    judges: Judged = field(init=False, default="relation")

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not isinstance(self.marks, tuple):
            raise InputError("a row needs a text as its kind and a tuple of texts as its marks")
        if self.marks and self.as_printed:
            raise InputError(f"a row with marks is never as printed: {self.marks}")
        object.__setattr__(self, "judges", judged_by(self.kind))

    @property
    def related(self) -> str:
        """The right side behind its sign, ``<= B**2``."""
        return related(self.right, self.details)

    def to_dict(self) -> RowRecord:
        """All fields, for JSON; non-finite numbers become strings so that the text stays strict JSON."""
        record: RowRecord = _jsonable(asdict(self))
        return record

    @classmethod
    def from_dict(cls, data: RowRecord) -> Row:
        """Inverse of :meth:`to_dict`; unknown keys are refused by the constructor."""
        fields_ = {name: value for name, value in data.items() if name != "judges"}
        for name in ("measured", "bound", "margin"):
            if isinstance(value := fields_.get(name), str):
                fields_[name] = float(value)
        given: dict[str, Any] = fields_ | {"marks": tuple(data.get("marks", ()))}
        return cls(**given)

    def __str__(self) -> str:
        """``holds ragd-gs/lemma-1:value on trig-1-1: 0.1 against 0.3, margin 0.67 (certified)``."""
        name = "/".join(p for p in (self.paper, self.statement) if p) + (f":{self.claim}" if self.claim else "")
        parts = [f"{self.verdict} {name}" + (f" on {self.problem}" if self.problem else "")]
        if self.measured is not None and self.bound is not None:
            margin = "" if self.margin is None else f", margin {self.margin:.3g}"
            parts.append(f"{self.measured:.6g} against {self.bound:.6g}{margin}")
        why = [self.certainty, self.where, self.reason, f"reading: {self.reading}" if self.reading else None]
        said = "; ".join(w for w in why if w)
        return ": ".join(parts) + (f" ({said})" if said else "")


def _jsonable(value: object) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    return value.item() if hasattr(value, "item") else value
