"""What would decide an undecided row: one class and one sentence for each reason that a check gives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bilevel_verify.checks.verdicts.verdict import RowRecord


@dataclass(frozen=True, slots=True)
class Open:
    """A class of undecided rows: its ``name``, the ``pattern`` of its reasons, what ``decides`` it."""

    name: str
    pattern: str
    decides: str


CLASSES = (
    Open("hypothesis open", r"^hypothesis", "a certificate of the hypothesis, or a problem that has one"),
    Open(
        "condition open",
        r"^precision: \S+ at epoch ",
        "a run on which the condition that is assumed is decided at every k",
    ),
    Open(
        "leaves the box", r"^local: .*lies outside", "constants that are certified on a larger range of the variables"
    ),
    Open("broken on a box", r"^local: ", "constants on the theorem's own domain: a problem without [domain]"),
    Open("units", r"^units: ", "the audit: a relation between different units holds or fails with the units chosen"),
    Open(
        "sides not defined",
        r"^precision: (the logarithm of a number that may not be positive|division by a number that may be 0)",
        "nothing, as printed: a side has no value at the first places; the rows marked 'added' judge the others",
    ),
    Open(
        "below float64",
        r"^precision: .* is less than float64 resolves",
        "a run in many digits that ends: larger eps, or practical constants, which have rows of their own",
    ),
    Open(
        "rounding of the run",
        r"^precision: violated at .* in float64, but not in",
        "a run short enough for many digits as a whole, without conditions along it that float64 alone has met",
    ),
    Open(
        "no run in many digits",
        r"^precision: violated at .* digits is not available",
        "a method whose steps are written for many digits too: a claim that breaks in floats is not refuted by them",
    ),
    Open(
        "wide enclosures", r"^precision: the enclosures are too wide", "truth at the points of the run in more digits"
    ),
    Open(
        "probability", r"^a frequency proves no probability", "a proof: more seeds narrow the interval, and only refute"
    ),
    Open("tie", r"^tie", "a proof that the sides are equal there: enclosures of equal numbers never separate"),
    Open(
        "points",
        r"^(survived|attacked)",
        "a proof for all points: an attack can only refute, and no bound over boxes was found",
    ),
    Open("budget", r"^budget", "more calls or more digits than the budget of the row"),
    Open("time", r"^time: ", "more seconds, or none: without a limit it is judged as far as the budget goes"),
    Open("not recorded", r"^not recorded", "a run that records what the claim is about"),
    Open("vacuous", r"^vacuous", "a run on which the claim says something"),
)
OTHER = Open("other", "", "what the reason names")


def open_class(row: RowRecord) -> Open | None:
    """The class of an undecided row; None for a row that is decided."""
    if row["verdict"] != "undecided":
        return None
    reason = str(row.get("reason") or "")
    return next((one for one in CLASSES if re.search(one.pattern, reason)), OTHER)


def what_decides(row: RowRecord) -> str:
    """What would decide a row, in one line; empty for a row that is decided."""
    found = open_class(row)
    return "" if found is None else found.decides
