"""Rows in lines, cells and errata: the pieces of which the page is put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bilevel_verify.checks.verdicts.counting import word_of
from bilevel_verify.checks.verdicts.verdict import RowRecord
from bilevel_verify.files import slug
from bilevel_verify.reporting import words
from bilevel_verify.reporting.build import worst_rows
from bilevel_verify.reporting.document import ClaimRecord, MatrixCell, Plot, StatementRecord
from bilevel_verify.reporting.page import ErrataItem, Line, MatrixView


def erratum(
    name: str,
    record: StatementRecord | None,
    claim: ClaimRecord,
    broken: list[Line],
    repaired: list[ClaimRecord],
    mended: list[Line],
) -> ErrataItem:
    """One erratum; its anchor is given when all are known."""
    return {
        "name": name,
        "record": record,
        "claim": claim,
        "broken": broken,
        "repaired": repaired,
        "mended": mended,
        "anchor": "",
        "paper": name.partition("/")[0],
    }


def decided(line: Line) -> bool:
    """Whether a line is about a relation that holds or is broken: what is open has no margin."""
    return line["verdict"] in ("holds", "refuted")


def anchored(name: str, lines: list[Line]) -> list[Line]:
    """The lines of a statement; the first one of each problem is where the cell of the matrix leads."""
    seen: set[str | None] = set()
    for line in lines:
        problem = line["row"]["problem"]
        line["anchor"] = None if problem in seen else slug("s", name, problem or "whole")
        seen.add(problem)
    return lines


def lines_of(rows: Sequence[RowRecord]) -> list[Line]:
    """Rows of one claim on one problem by one method as one line: the worst of them, and how many of each verdict."""
    groups: dict[tuple[object, ...], list[RowRecord]] = {}
    for row in rows:
        key = (
            *(row["paper"], row["statement"], row["claim"], row["problem"], row["method"]),
            *(row["kind"], row["reading"], row["as_printed"]),
            *(row.get("marks") or ()),
        )
        groups.setdefault(key, []).append(row)
    lines: list[Line] = []
    for number, members in enumerate(groups.values()):
        counts = Counter(m["verdict"] for m in members)
        verdict = words.worst(list(counts))
        shown = worst_rows([m for m in members if m["verdict"] == verdict], 1)[0]
        places = [m["places"] for m in members if m["places"]]
        lines.append(
            {
                "id": f"line-{number}",
                "name": words.statement_name(shown),
                "row": shown,
                "verdict": verdict,
                "word": word_of(shown),
                "relation": word_of(shown) == verdict,
                "marks": list(shown.get("marks") or ()),
                "stated": shown.get("stated"),
                "count": len(members),
                "counts": {v: counts[v] for v in words.LOOKS if counts[v]},
                "places": sum(places) if places else None,
            }
        )
    return lines


def cell_of(name: str, problem: str | None, found: MatrixCell | None) -> MatrixView:
    """A cell of the summary matrix: its worst verdict, and all of them as its title."""
    if found is None:
        return {"verdict": None, "count": 0, "title": "", "anchor": "", "marks": ""}
    counts = found["verdicts"]
    parts = [", ".join(f"{n} {v}" for v, n in counts.items())] if counts else []
    marks = "" if found["as_printed"] or not counts else ", ".join(found["marked"])
    if marks:
        parts[0] += f" (not as printed: {marks})"
    parts += [f"{what}: " + ", ".join(f"{n} {w}" for w, n in words_.items()) for what, words_ in found["apart"].items()]
    title = f"{name}, {problem or 'the statement as a whole'}: {'; '.join(parts)}"
    anchor = slug("s", name, problem or "whole")
    verdict = words.worst(list(counts)) if counts else None
    return {"verdict": verdict, "count": sum(counts.values()), "title": title, "anchor": anchor, "marks": marks}


def heat(ratio: float) -> int:
    """Level 0 (hardly used) to 6 (the bound is reached), 7 beyond it."""
    if ratio > 1:
        return 7
    for level, edge in enumerate((1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.7)):
        if ratio <= edge:
            return level
    return 6


def indexed(plots: Sequence[Plot]) -> dict[str, list[Plot]]:
    """Statement -> its plots, numbered."""
    found: dict[str, list[Plot]] = {}
    for number, plot in enumerate(plots):
        found.setdefault(plot["statement"], []).append(plot | {"id": f"plot-{number}"})
    return found
