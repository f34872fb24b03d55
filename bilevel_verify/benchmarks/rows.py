"""What a benchmark reports: rows with a target, in sections, as text and as plain data."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number.

    Attributes
    ----------
    what : the thing that was measured.
    measured : the number; NaN if it was not measured (``note`` says why).
    unit : ``x`` for ratios, ``s``, ``ms``, ``us``, ``MB``, ``%`` ...
    target : the bound to reach; None for a number that is only shown.
    at_least : whether the target is a lower bound.
    rival : who did the same in the same run, and ``beside`` : what was measured of it, in the same unit.
    """

    what: str
    measured: float
    unit: str
    target: float | None = None
    at_least: bool = False
    note: str = ""
    rival: str = ""
    beside: float = math.nan

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None if there is none or nothing was measured."""
        if self.target is None or math.isnan(self.measured):
            return None
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def cells(self) -> list[str]:
        """The row as text: what, measured, target, verdict and note."""
        number = "not measured" if math.isnan(self.measured) else f"{short(self.measured)} {self.unit}".strip()
        wanted = "" if self.target is None else f"{'>=' if self.at_least else '<='} {short(self.target)} {self.unit}"
        verdict = {True: "reached", False: "NOT reached", None: ""}[self.reached]
        other = f"{self.rival}: {short(self.beside)} {self.unit}".strip() if self.rival else ""
        return [self.what, number, wanted.strip(), verdict, "; ".join(part for part in (other, self.note) if part)]

    def record(self) -> dict[str, object]:
        """The row as plain data (null where nothing was measured)."""
        measured = None if math.isnan(self.measured) else self.measured
        kept = {"what": self.what, "measured": measured, "unit": self.unit, "note": self.note}
        other = {"rival": self.rival, "beside": None if math.isnan(self.beside) else self.beside}
        return {**kept, "target": self.target, "at_least": self.at_least, "reached": self.reached, **other}


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one subject."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())

    def record(self) -> dict[str, object]:
        """The section as plain data."""
        return {"title": self.title, "rows": [row.record() for row in self.rows], "notes": list(self.notes)}


def law(what: str, sizes: Sequence[tuple[float, float, float]], target: float | None, rival: str, note: str) -> Row:
    """The exponent of growth between the first and the last (size, ours, the rival's), both measured in this run."""
    (n, a, b), (m, c, d) = sizes[0], sizes[-1]
    size = math.log(m / n)
    return Row(what, math.log(c / a) / size, "", target, False, note, rival, math.log(d / b) / size)


def missing(what: str, why: str, target: float | None = None, unit: str = "x", at_least: bool = False) -> Row:
    """A row of something that could not be measured."""
    return Row(what, math.nan, unit, target, at_least, why)


def short(value: float) -> str:
    """Three significant digits, no exponent for what people can read."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 1e-3 <= abs(value) < 1e6:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{min(digits, 5)}f}"
    return f"{value:.2e}"


def as_text(sections: Sequence[Section]) -> str:
    """All sections as aligned plain text."""
    lines: list[str] = []
    for section in sections:
        table = [row.cells() for row in section.rows]
        widths = [max((len(row[column]) for row in table), default=0) for column in range(4)]
        lines += ["", section.title, "-" * len(section.title)]
        lines += ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[4]]).rstrip() for row in table]
        lines += [f"  ({note})" for note in section.notes]
    rows = [row for section in sections for row in section.rows]
    judged = [row for row in rows if row.reached is not None]
    absent = sum(math.isnan(row.measured) for row in rows)
    reached = sum(bool(row.reached) for row in judged)
    lines += ["", f"{reached} of {len(judged)} targets reached; {absent} rows not measured."]
    return "\n".join(lines).lstrip("\n") + "\n"


def seconds(run: Callable[[], object]) -> float:
    """Processor seconds of one call (the processor may be shared, so the clock on the wall says little)."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def interleaved(candidates: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Least processor seconds of each candidate over some rounds in which they take turns."""
    best = dict.fromkeys(candidates, math.inf)
    for _ in range(rounds):
        for name, run in candidates.items():
            best[name] = min(best[name], seconds(run))
    return best


def peak_memory() -> float:
    """MB of this process at its largest; NaN where the system does not say."""
    status = Path("/proc/self/status")
    if status.is_file():  # of this program alone; getrusage also remembers the process that started it
        lines = [line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
        if lines:
            return int(lines[0].split()[1]) / 2**10
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
