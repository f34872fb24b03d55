"""Laws of growth of what a user makes longer: the text, the accuracy, the rows of a run that are judged, the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bilevel_verify.benchmarks.growth import in_a_process
from bilevel_verify.benchmarks.rows import Row, Section, law, missing


@dataclass(frozen=True, slots=True)
class Grown:
    """What grows: its name in :mod:`~bilevel_verify.benchmarks.scaled`, words, sizes, the rival, the exponent asked."""

    name: str
    what: str
    unit: str
    sizes: tuple[int, ...]
    rival: str
    exponent: float | None


ALL = (
    Grown("text", "length of the text", "characters", (10, 20, 28), "sympify", 1.25),
    Grown("eps", "1/eps", "", (5, 8, 10), "C by hand", None),
    Grown("rows", "rows of a run that are judged", "rows", (200, 1_000, 5_000), "arb by hand", 1.1),
    Grown("cells", "cells of a campaign", "cells", (8, 24, 72), "verify in a loop", 1.1),
)


def laws(quick: bool = False) -> Section:
    """Time and memory at each size, ours and the rival's of the same run, and the exponents between the ends."""
    rows: list[Row] = []
    for grown in ALL:
        rows += _of(grown, grown.sizes[:2] if quick else grown.sizes)
    notes = (
        "every size in a process of its own; processor time, children included; memory: peak, libraries included",
        "1/eps: gradient descent on x**4/4, steps like eps to the power -2/3, ours records and counts them",
        "rows: descent of that run, certified; arb by hand: the same claim in balls at the same points",
        "cells: one lemma at so many eps, one worker and a store; in a loop: neither",
    )
    return Section("growth of text, accuracy, rows and cells", tuple(rows), notes)


def _of(grown: Grown, sizes: tuple[int, ...]) -> list[Row]:
    pairs = [(in_a_process(grown.name, n, None), in_a_process(f"{grown.name}_by_hand", n, None)) for n in sizes]
    absent = [str(other["missing"]) for _, other in pairs if "missing" in other]
    if absent:
        return [missing(f"{grown.what}: exponent of the time", absent[0], grown.exponent, "")]
    rows = [_at(grown, ours, other) for ours, other in pairs]
    ends = f"from {pairs[0][0]['size']:g} to {pairs[-1][0]['size']:g}"
    for what, field, target in (("time", "seconds", grown.exponent), ("memory", "memory", None)):
        found = [(ours["size"], max(ours[field], LEAST), max(other[field], LEAST)) for ours, other in pairs]
        rows.append(law(f"{grown.what}: exponent of the {what}", found, target, grown.rival, ends))
    return rows


LEAST = 1e-6
"""Seconds that a processor's clock can tell."""


def _at(grown: Grown, ours: Mapping[str, float], other: Mapping[str, float]) -> Row:
    size = f"{ours['size']:g} {grown.unit}".strip()
    notes = [f"{ours['memory']:.0f} MB, {grown.rival} {other['memory']:.0f} MB"]
    if "steps" in ours:
        notes.append(f"{ours['steps']} steps, by hand {other['steps']}")
    if "verdict" in ours:
        notes.append(str(ours["verdict"]))
    what = f"{grown.what}: {size}"
    return Row(what, ours["seconds"], "s", note="; ".join(notes), rival=grown.rival, beside=other["seconds"])
