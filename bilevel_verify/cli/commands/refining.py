"""Constants round by round: more work for those that are not tight, as long as the time asked for lasts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.records import constant_record
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.time_limit import TimeOver, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bilevel_verify.constants import Constant

FURTHER = 4.0
"""How many times more work the next round of constants does at most."""
LEAST = 1.5
"""A round of less than this many times the work of the last one is not begun."""
SHARE = 0.6
"""Part of the time left that a round may be expected to take: searches certify what they found at their end."""
TIGHT = 0.03
"""A constant so near to what is reached needs no further round."""
SHORT = 30.0
"""Below so many seconds calculus alone goes first: a search that the clock ends leaves nothing."""
GRACE = 0.5
"""Seconds that calculus may take beyond the time asked for, so that there is something to show."""
INTERRUPTED = "interrupted before it was computed"
TIME_OVER = "not computed within the seconds asked for"


@dataclass
class Refined:
    """What is known: records by letter, the table that each comes from, whether the user broke in."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, Mapping[str, Constant]] = field(default_factory=dict)
    interrupted: bool = False
    took: dict[str, float] = field(default_factory=dict)

    def take(self, table: Mapping[str, Constant], name: str) -> None:
        """Compute one constant; the better of two certified ends stays."""
        begun, before = time.monotonic(), self.took.get(name)
        try:
            record: dict[str, Any] = {**constant_record(table[name])}
        except BilevelVerifyError as error:
            record = {"name": name, "value": None, "reason": " ".join(str(error).split())}
        self.took[name] = time.monotonic() - begun
        if before is None or _better(record, self.records[name]):
            self.tables[name], self.records[name] = table, record  # in this order: a record always has its table


def refined(compute: Callable[..., Mapping[str, Constant]], seconds: float) -> Refined:
    """One round with the usual effort, then further ones until all are tight or the next would take too long.

    Whatever happens, every value is one that a finished search has certified: a round that is interrupted, by the user
    or by the end of the time, leaves those of the round before.

    Parameters
    ----------
    compute : ``(effort=..., only=...)`` -> the constants; without ``only`` all that are wanted.
    seconds : of the clock; 0 for one round, however long it takes.
    """
    known, wanted, reason = Refined(), list[str](), ""
    end = time.monotonic() + seconds
    try:
        with time_limit(seconds + GRACE if 0 < seconds < SHORT else seconds) as limit, limit.broken_off():
            _rounds(compute, known, wanted, seconds, end)
    except TimeOver:
        reason = TIME_OVER
    except KeyboardInterrupt:
        known.interrupted, reason = True, INTERRUPTED
    for name in wanted if reason else ():
        known.records.setdefault(name, {"name": name, "value": None, "reason": reason})
    return known


def _rounds(
    compute: Callable[..., Mapping[str, Constant]], known: Refined, names: list[str], seconds: float, end: float
) -> None:
    """Fill ``known`` round by round; ``names`` becomes the list of all that are wanted."""
    for effort in (0.0, 1.0) if 0 < seconds < SHORT else (1.0,):
        table = compute(effort=effort)
        names[:] = table
        for name in names:
            known.take(table, name)
        if time.monotonic() >= end:
            return
    wanted = list(names)
    while wanted := [name for name in wanted if not _is_tight(known.records[name])]:
        spent = sum(known.took[name] for name in wanted)
        more = min(FURTHER, SHARE * (end - time.monotonic()) / max(spent, 1e-9))
        if more < LEAST:
            return
        effort *= more
        before, table = dict(known.took), compute(effort=effort, only=wanted)
        for name in wanted:
            known.take(table, name)
        wanted = [name for name in wanted if known.took[name] > LEAST / 2 * before[name] + 1e-3]  # not in vain


def _is_tight(record: Mapping[str, object]) -> bool:
    """Whether the two ends of a constant are near each other, or more work would not bring them nearer."""
    low, high = record.get("lower"), record.get("upper")
    if record.get("exact") or not isinstance(low, int | float) or not isinstance(high, int | float):
        return True
    return high - low <= TIGHT * max(abs(low), abs(high))


def _better(record: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether a certified record is at least as sharp as another one."""
    value, old = record.get("value"), other.get("value")
    if not isinstance(old, int | float):
        return True
    if not isinstance(value, int | float) or not record.get("certified"):
        return False
    return value >= old if record.get("side") == "lower" else value <= old
