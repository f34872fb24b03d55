"""A finding of the audit: one printed statement, what was decided about it, and how anybody can check that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.checks.verdicts.verdict import Row, RowRecord, Verdict
from bilevel_verify.theorems.card_parts import Mark

VERDICTS: dict[str, Verdict] = {
    "proved": "holds",
    "refuted": "refuted",
    "undecided": "undecided",
    "vacuous": "not applicable",
}


class FindingRecord(RowRecord):
    """A :class:`Finding` as JSON: its row, and what the audit adds."""

    counterexample: dict[str, str] | None
    repaired: str | None
    script: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A row of the audit.

    Attributes
    ----------
    row : verdict in the common form (``problem`` is None: it is about the statement itself).
    printed : the printed LaTeX of the relation.
    counterexample : letter -> value of the smallest counterexample found, as exact text; None unless refuted.
    repaired : the nearest true form, as text of the card language; None where there is none (yet).
    script : a minimal, independent Python script that shows the counterexample; None unless refuted.
    claim, vectors : what was decided, as a relation between scalars, and which letters are vectors; None where the row
        is not about one.
    """

    row: Row
    printed: str | None = None
    counterexample: Mapping[str, str] | None = None
    repaired: str | None = None
    script: str | None = None
    claim: ScalarClaim | None = field(default=None, repr=False, compare=False)
    vectors: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the row."""
        return self.row.verdict

    @property
    def statement(self) -> str:
        """``paper/id`` of the statement."""
        return f"{self.row.paper}/{self.row.statement}"

    def to_dict(self) -> FindingRecord:
        """All fields of the row and of the finding, for JSON; a field that does not apply is None."""
        return {
            **self.row.to_dict(),
            "printed": self.printed,
            "counterexample": None if self.counterexample is None else dict(self.counterexample),
            "repaired": self.repaired,
            "script": self.script,
        }

    def __str__(self) -> str:
        op = self.row.details.get("op", "<=")
        text = f"{self.row.verdict:14} {self.statement} {self.row.claim or ''}: {self.row.left} {op} {self.row.right}"
        if self.counterexample:
            text += " at " + ", ".join(f"{k} = {v}" for k, v in self.counterexample.items())
        return text

    def _repr_html_(self) -> str:
        """A table for a notebook; everything is escaped, the printed formula stays LaTeX for the page to set."""
        relation = f"{self.row.left} {self.row.details.get('op', '<=')} {self.row.right}"
        at = ", ".join(f"{k} = {v}" for k, v in (self.counterexample or {}).items())
        lines = [
            (
                "verdict",
                " ".join(w for w in (self.verdict, f"({self.row.certainty})" if self.row.certainty else "") if w),
            ),
            ("printed", f"${self.printed}$" if self.printed else ""),
            *(("relation", relation), ("counterexample", at), ("repaired", self.repaired or "")),
            ("why", self.row.reason or ""),
        ]
        body = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in lines if text)
        script = f"<details><summary>script</summary><pre>{escape(self.script)}</pre></details>" if self.script else ""
        caption = escape(f"{self.statement} {self.row.claim or ''}".strip())
        return f"<table><caption>{caption}</caption><tbody>{body}</tbody></table>{script}"


@dataclass(frozen=True, slots=True)
class Place:
    """Which statement a decision is about, for the row."""

    paper: str
    statement: str
    claim: str | None = None
    source: str | None = None
    reading: str | None = None
    as_printed: bool = True
    known_refuted: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    stated: str | None = None


def row_of(place: Place, kind: str, decision: Decision, left: str, op: str, right: str) -> Row:
    """The common row of a decision of an engine."""
    proved = decision.outcome != "undecided"
    reason = f"{decision.engine}: {decision.certificate}" if decision.certificate else decision.engine
    tight = "" if decision.ratio is None else f"largest ratio {decision.ratio:.6g}"
    if decision.outcome == "vacuous":
        reason = f"vacuous: {decision.certificate}"
    elif decision.outcome == "undecided" and decision.attacks:
        furthest = f"; {decision.engine}: {decision.certificate}" if decision.certificate else ""
        reason = f"survived {decision.attacks} attacks{', ' + tight if tight else ''}{furthest}"
    elif decision.outcome == "proved" and tight:
        reason = f"{reason} ({tight} in {decision.attacks} attacks)"
    margin = None
    # what a definedness decision compares is a denominator or the like with 0: no values of the sides of the row
    measured, bound = (None, None) if kind == "definedness" else (decision.left, decision.right)
    if measured is not None and bound is not None:
        low, high = (measured, bound) if op in ("<=", "<", "==") else (bound, measured)
        scale = max(abs(low), abs(high))
        margin = (high - low) / scale if scale else 0.0
    return Row(
        paper=place.paper,
        statement=place.statement,
        claim=place.claim,
        source=place.source,
        problem=None,
        method=None,
        kind=kind,
        verdict=VERDICTS[decision.outcome],
        certainty="proved" if proved else None,
        left=left,
        right=right,
        measured=measured,
        bound=bound,
        margin=margin,
        where=", ".join(f"{n} = {v}" for n, v in decision.point.items()) or None,
        reason=reason,
        reading=place.reading,
        as_printed=place.as_printed and not place.marks,
        known_refuted=place.known_refuted,
        stated=place.stated,
        marks=tuple(str(mark) for mark in place.marks),
        details={"op": op, "tightness": decision.ratio, "attacks": decision.attacks or None, **place.details},
    )


def exact_text(point: Mapping[str, Fraction]) -> dict[str, str]:
    """A rational point as text."""
    return {name: str(value) for name, value in point.items()}
