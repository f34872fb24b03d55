"""What a report found, as sentences: what is refuted, what is open and why, what is wrong with one theorem."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from bilevel_verify.checks.verdicts.verdict import RowRecord
from bilevel_verify.reporting.document import StatementRecord
from bilevel_verify.reporting.page import Line, OpenReason, RefutedLine, Wrong
from bilevel_verify.reporting.words import SUMMARY_ORDER, number

BROKEN = ("refuted", "inconsistent")
PROMISED = {"<=": "at most ", "<": "less than ", ">=": "at least ", ">": "more than ", "==": "exactly "}
"""How the sign of a relation is said of the measured side."""
MOST_REASONS = 12
MOST_NAMED = 3


def refuted(lines: Sequence[Line], records: Mapping[str, StatementRecord]) -> list[RefutedLine]:
    """One entry a refuted claim: new ones first, then by paper; each with the line that shows it worst.

    Parameters
    ----------
    lines : lines of the page (a claim on a problem), worst first within a statement.
    records : statement -> its card's record, for the name that the paper gives it.
    """
    groups: dict[tuple[str, str | None, tuple[str, ...]], list[Line]] = {}
    for line in lines:
        if line["verdict"] in BROKEN:
            groups.setdefault((line["name"], line["row"]["claim"], tuple(line["marks"])), []).append(line)
    found = []
    for (name, claim, marks), members in groups.items():
        worst = members[0]
        known = any(m["row"]["known_refuted"] for m in members)
        one: RefutedLine = {
            "name": name,
            "claim": claim,
            "marks": list(dict.fromkeys(m.partition(":")[0] for m in marks)),
            "line": worst,
            "known": known,
            "where": [m["row"]["problem"] or "the formula itself" for m in members],
            "verdict": worst["verdict"],
            "title": title_of(name, records.get(name)),
            "sentence": sentence(worst["row"]),
        }
        found.append(one)
    return sorted(found, key=lambda one: (one["known"], one["name"], one["claim"] or ""))


def title_of(name: str, record: StatementRecord | None) -> str:
    """``Theorem 4.1 of rahgd`` where the card says what the paper calls it, else ``rahgd/theorem-4-1``."""
    paper = name.partition("/")[0]
    return f"{record['source']} of {paper}" if record and record.get("source") else name


def sentence(row: RowRecord) -> str:
    """What broke, in one sentence: how much was measured, how much was promised, where."""
    where = f", {row['where']}" if row["where"] else ""
    if row["kind"] == "order":
        return f"grows with exponent {number(row['measured'])}, promised was {number(row['bound'])}{where}"
    if row["measured"] is None or row["bound"] is None or row["kind"] == "probability":
        return (row["reason"] or "a counterexample") + where
    how = PROMISED.get((row.get("details") or {}).get("op", ""), "")
    return f"measured {number(row['measured'])}, promised {how}{number(row['bound'])}{where}"


def open_reasons(lines: Iterable[Line]) -> list[OpenReason]:
    """Undecided lines by the first words of their reason: how many, and the first few; the most frequent first."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        if line["verdict"] == "undecided" and line["relation"]:
            groups.setdefault(head_of(line["row"]["reason"]), []).append(line)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    found: list[OpenReason] = []
    for why, members in ordered[:MOST_REASONS]:
        once = {(line["name"], line["row"]["claim"], line["row"]["problem"]): line for line in reversed(members)}
        named = list(reversed(once.values()))
        shown = named[:MOST_NAMED]
        found.append({"why": why, "count": len(members), "lines": shown, "more": len(named) > len(shown)})
    return found


HEADS = {
    "local": "broken, but constants, infima or y* are known on a box only",
    "fails at": "fails at a point that the text may exclude",
    "smt": "no engine decides it",
}
"""Words in the place of first words that say nothing by themselves."""


def head_of(reason: str | None) -> str:
    """The first words of a reason, without numbers; the closed set of the checks."""
    head = re.split(r"[:;,(]", reason or "no reason given", maxsplit=1)[0].strip()
    return next((words for start, words in HEADS.items() if head.startswith(start)), re.sub(r"\d+ ", "", head)[:60])


def wrong(lines: Sequence[Line]) -> Wrong:
    """The sentence on top of a theorem's page: its worst verdict, and what shows it.

    ``verdict`` is None where nothing was judged.
    """
    judged = [line for line in lines if line["relation"]]
    verdict = next((v for v in SUMMARY_ORDER if any(line["verdict"] == v for line in judged)), None)
    members = [line for line in judged if line["verdict"] == verdict]
    if verdict is None:
        return {"verdict": None, "text": "Nothing of this statement was judged here.", "line": None, "more": 0}
    first = members[0]
    row = first["row"]
    claim = f"claim {row['claim']}" if row["claim"] else "the statement"
    where = f" on {row['problem']}" if row["problem"] else ""
    text = {
        "refuted": f"Refuted: {claim}{where}: {sentence(row)}.",
        "inconsistent": f"Inconsistent: {claim}{where} {sentence(row)}.",
        "undecided": f"Nothing is refuted here; open is {claim}{where}: {row['reason'] or 'no reason given'}",
        "holds": f"Nothing is wrong here: {len(members)} of {len(judged)} relations hold.",
        "consistent": f"Nothing is wrong here: {claim}{where} is consistent with its order.",
        "uninformative": "No instance here can show the rate.",
        "not applicable": f"Nothing applies here: {row['reason'] or 'a hypothesis is false'}",
    }[verdict]
    return {"verdict": verdict, "text": text, "line": first, "more": len(members) - 1}
