"""What a count of verdicts counts: relations as printed, marked ones beside them, everything else apart.

A row of units agrees or disagrees; it never holds. What its card records as refuted is kept on some instances, or in
some link of its chain: these are counted apart too, so that nothing which sums up shows it as holding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from bilevel_verify.checks.verdicts.verdict import ORDER_VERDICTS, Judged, RowRecord, judged_by

WORDS: dict[str, dict[str, str]] = {
    "units": {"holds": "agree", "refuted": "disagree", "undecided": "weak"},
    "bookkeeping": {"holds": "agree", "refuted": "disagree"},
    "executability": {"holds": "no defect found", "refuted": "defects"},
    "definedness": {"holds": "defined", "refuted": "undefined"},
    "hypothesis": {"holds": "verified", "refuted": "false"},
}
"""What is judged, other than the relation itself -> verdict -> the word under which it is counted and shown."""
ON_RECORD = "refuted on record"
KEPT = "kept here"
ORDER = ("refuted", "inconsistent", "undecided", "holds", "consistent", "uninformative", "not applicable")
assert set(ORDER) == {"holds", "refuted", *ORDER_VERDICTS}


def judges(row: RowRecord) -> Judged:
    """What a row judges (rows of older stores do not say it)."""
    return row.get("judges") or judged_by(row["kind"])


def plain_word(row: RowRecord) -> str:
    """The word under which a row is counted among those that judge the same: ``agree``, ``holds``, ``kept here``."""
    if _kept(row):
        return KEPT
    verdict: str = row["verdict"]
    return WORDS.get(judges(row), {}).get(verdict, verdict)


def word_of(row: RowRecord) -> str:
    """How the verdict of a row is called: a relation holds, units agree; what is on record as refuted is kept here."""
    what = judges(row)
    return plain_word(row) if what == "relation" else f"{what}: {plain_word(row)}"


def _kept(row: RowRecord) -> bool:
    """Whether a claim that is on record as refuted is kept on an instance."""
    known = row.get("known_refuted") and row["verdict"] == "holds" and row.get("as_printed")
    return bool(known and judges(row) == "relation")


def first_mark(marks: Sequence[str], reading: str | None) -> str:
    """The word under which a row that is not as printed is counted (rows of older stores have no marks)."""
    return marks[0].partition(":")[0] if marks else "reading" if reading else "repaired"


class Counts(TypedDict):
    """A :class:`Count` as JSON."""

    verdicts: dict[str, int]
    as_printed: dict[str, int]
    marked: dict[str, dict[str, int]]
    apart: dict[str, dict[str, int]]
    holds_by_certainty: dict[str, int]


@dataclass(slots=True)
class Count:
    """Verdicts of some rows.

    Attributes
    ----------
    printed : verdict -> rows that judge a relation as printed.
    marked : first mark -> verdict -> rows that judge something else than is printed.
    apart : what is judged -> word -> rows; they make nothing hold.
    certainty : rows that hold, by certainty.
    """

    printed: Counter[str] = field(default_factory=Counter)
    marked: dict[str, Counter[str]] = field(default_factory=dict)
    apart: dict[str, Counter[str]] = field(default_factory=dict)
    certainty: Counter[str] = field(default_factory=Counter)

    def add(self, row: RowRecord) -> None:
        """Count one row, as a mapping of its fields."""
        verdict, what = row["verdict"], judges(row)
        if what != "relation":
            self.apart.setdefault(what, Counter())[plain_word(row)] += 1
        elif _kept(row):
            self.apart.setdefault(ON_RECORD, Counter())[KEPT] += 1
        else:
            self._relation(row, verdict)
            if verdict == "holds":
                self.certainty[row["certainty"] or "computed"] += 1

    def _relation(self, row: RowRecord, verdict: str) -> None:
        if row["as_printed"]:
            self.printed[verdict] += 1
            return
        self.marked.setdefault(first_mark(row.get("marks", ()), row["reading"]), Counter())[verdict] += 1

    def update(self, other: Count) -> None:
        """Add the counts of other rows."""
        self.printed.update(other.printed)
        self.certainty.update(other.certainty)
        for mine, theirs in ((self.marked, other.marked), (self.apart, other.apart)):
            for name, counts in theirs.items():
                mine.setdefault(name, Counter()).update(counts)

    @property
    def relations(self) -> Counter[str]:
        """Verdicts of all rows that judge a relation, as printed or marked."""
        return sum(self.marked.values(), self.printed.copy())

    @property
    def summed_up(self) -> Counter[str]:
        """What a cell or an entry shows: verdicts as printed; marked rows only where nothing is judged as printed."""
        if self.printed:
            return self.printed
        own = [counts for mark, counts in self.marked.items() if mark != "repaired"]
        return sum(own or self.marked.values(), Counter())

    def to_dict(self) -> Counts:
        """All counts, for JSON."""
        return {
            "verdicts": in_order(self.relations),
            "as_printed": in_order(self.printed),
            "marked": {mark: in_order(counts) for mark, counts in sorted(self.marked.items())},
            "apart": {what: dict(sorted(counts.items())) for what, counts in sorted(self.apart.items())},
            "holds_by_certainty": dict(sorted(self.certainty.items())),
        }

    def __str__(self) -> str:
        return text_of(self.to_dict())


def count_of(rows: Iterable[RowRecord]) -> Count:
    """The counts of some rows."""
    found = Count()
    for row in rows:
        found.add(row)
    return found


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """Verdicts in the order in which a summary names them; none that does not occur."""
    return {verdict: counts[verdict] for verdict in ORDER if counts.get(verdict)}


def text_of(counts: Counts) -> str:
    """Counts (:meth:`Count.to_dict`) in one line: relations, and behind them what is counted apart."""
    split = ", ".join(f"{n} {c}" for c, n in counts["holds_by_certainty"].items())
    parts = [_words(counts["verdicts"], split)] if counts["verdicts"] else []
    parts += [f"of these {mark}: {_words(found)}" for mark, found in counts["marked"].items()]
    parts += [f"{what}: {_words(found)}" for what, found in counts["apart"].items()]
    return "; ".join(parts) or "no verdicts"


def _words(counts: Mapping[str, int], split: str = "") -> str:
    return ", ".join(f"{n} {word}" + (f" ({split})" if word == "holds" and split else "") for word, n in counts.items())


def is_new_refutation(row: RowRecord) -> bool:
    """A promise refuted, whose card does not already record it: as printed, or a part or special case of the print.

    A named reading and a repaired form are not the paper's; their refutation is none of the paper.
    """
    if row["verdict"] not in ("refuted", "inconsistent") or row["known_refuted"]:
        return False
    marks = row.get("marks") or ()
    return bool(row["as_printed"] or marks) and not any(mark.startswith(("reading", "repaired")) for mark in marks)
