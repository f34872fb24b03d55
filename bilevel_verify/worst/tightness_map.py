"""The tightness of many theorems beside each other: a table, and a map of the largest share of every bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bilevel_verify.checks.verdicts.verdict import RowRecord


class ClaimRecord(TypedDict):
    """The largest share of the bound of one claim; ``problem`` and ``reproduce`` once it is saved."""

    claim: str
    relation: str
    ratio: float | str
    measured: float | str
    bound: float | str
    where: str
    certainty: str
    verdict: str | None
    known_refuted: bool
    confirmed: bool
    word: str
    family: str
    knobs: Mapping[str, object]
    x0: list[float]
    eps: float | None
    row: RowRecord | None
    problem: NotRequired[str]
    reproduce: NotRequired[str]


class WorstRecord(TypedDict):
    """The result of a search for one statement, without its course."""

    statement: str
    method: str | None
    families: list[str]
    claims: list[ClaimRecord]
    silent: list[str]
    tried: int
    decided: int
    places: int
    skipped: dict[str, int]
    seed: int
    seconds: float
    interrupted: bool


LEAST = 1e-12
"""Where the map begins; smaller shares are drawn there."""
COLOURS = {"refuted": "tab:red", "holds": "tab:green"}


def table(results: Sequence[WorstRecord]) -> str:
    """Markdown: every statement with its loosest and its tightest claim, then every claim.

    Parameters
    ----------
    results : what :meth:`WorstCase.to_dict` gives, one for each statement.
    """
    lines = ["| statement | candidates | places | tightest claim | share | on | loosest claim | share |"]
    lines.append("|---|---:|---:|---|---:|---|---|---:|")
    for one in results:
        claims = [claim for claim in one["claims"] if _share(claim) is not None]
        head = f"| {one['statement']} | {one['decided']} of {one['tried']} | {one['places']} "
        if not claims:
            why = "no share above 0" if one["claims"] else f"nothing decided: {_why(one)}"
            lines.append(f"{head}| {why} | | | | |")
            continue
        tight, loose = claims[0], claims[-1]
        lines.append(
            f"{head}| {tight['claim']} | {_text(tight)} | {tight['family']} | {loose['claim']} | {_text(loose)} |"
        )
    lines += ["", "| claim | relation | share | finding | certainty | verify | worst instance |"]
    lines.append("|---|---|---:|---|---|---|---|")
    for one in results:
        for claim in one["claims"]:
            knobs = ", ".join(f"{name} = {value}" for name, value in claim["knobs"].items())
            eps = "" if claim["eps"] is None else f", eps = {claim['eps']:g}"
            where = f"{claim['family']}: {knobs}{eps}, x0 = {claim['x0']}"
            cells = (f"{one['statement']}:{claim['claim']}", f"`{claim['relation']}`", _text(claim), claim["word"])
            rest = (claim["certainty"], claim["verdict"] or "", where)
            lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in (*cells, *rest)) + " |")
    return "\n".join(lines) + "\n"


def totals(results: Sequence[WorstRecord]) -> dict[str, int]:
    """How much was tried, and how many claims were found attained, tight, loose, broken."""
    claims = [claim for one in results for claim in one["claims"]]
    shares = [share for claim in claims if (share := _share(claim)) is not None]
    broken = [claim for claim in claims if claim["verdict"] == "refuted"]
    return {
        "statements": len(results),
        "statements with a decided claim": sum(bool(one["claims"]) for one in results),
        "candidates": sum(one["tried"] for one in results),
        "candidates that decide": sum(one["decided"] for one in results),
        "places": sum(one["places"] for one in results),
        "claims": len(claims),
        "share at least 0.95": sum(share >= 0.95 for share in shares),
        "share below 1e-3": sum(share < 1e-3 for share in shares),
        "above 1 in the search and not refuted": sum(not claim["confirmed"] for claim in claims),
        "broken and on record": sum(bool(claim["known_refuted"]) for claim in broken),
        "broken and not on record": sum(not claim["known_refuted"] for claim in broken),
    }


def tightness_map(results: Sequence[WorstRecord]) -> Figure:
    """One line for every statement, one point for every claim at the largest share of its bound, on a log scale."""
    from matplotlib.figure import Figure

    rows = [one for one in results if any(_share(claim) is not None for claim in one["claims"])]
    figure = Figure(figsize=(9, 1 + 0.16 * max(len(rows), 4)), layout="constrained")
    axes = figure.subplots()
    for place, one in enumerate(reversed(rows)):
        for claim in one["claims"]:
            share = _share(claim)
            if share is not None:
                at = min(max(share, LEAST), 3.0)
                axes.plot(at, place, "o", ms=4, alpha=0.7, color=COLOURS.get(claim["verdict"] or "", "tab:gray"))
    axes.axvline(1.0, color="black", lw=0.8)
    axes.set(xscale="log", xlim=(LEAST, 4.0), ylim=(-1, len(rows)), xlabel="largest share of the bound")
    axes.set_yticks(range(len(rows)), [one["statement"] for one in reversed(rows)], fontsize=6)
    axes.grid(axis="x", lw=0.3)
    return figure


def _share(claim: ClaimRecord) -> float | None:
    """The share as a number; None where the sides have different signs, or where it is above 1 and not confirmed."""
    share = float(claim["ratio"])
    return share if share > 0 and claim["confirmed"] else None


def _text(claim: ClaimRecord) -> str:
    return f"{float(claim['ratio']):.4g}"


def _why(one: WorstRecord) -> str:
    return next(iter(one["skipped"]), "no candidate").replace("|", "\\|")
