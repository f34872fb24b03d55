"""One defect, one entry: refuted rows with the same cause together, graded, and titled by the paper's own place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.theorems.card import Algorithm, Card, Derivation, Entry, Statement
from bilevel_verify.theorems.card_parts import Refuted

GRADES = ("breaks the statement", "changes a constant or a rate", "local slip", "wording")
"""From the gravest down; the list is closed."""
PROMISED = ("theorem", "proposition", "lemma", "corollary")
ORDERS = frozenset("derivation order table".split())
COUNT = r"(?:calls\([^()]*\)|iterations|epochs|restarts|k_end)"
COUNTS = re.compile(rf"{COUNT}(?:\s*[-+]\s*(?:{COUNT}|\d+))*\Z")
"""Left sides that count what a run costs, and nothing else."""
PROOF = re.compile(r"\bproof\b", re.I)
AS_IN = re.compile(
    r"\b(?:as|same \w+(?: as)?|again) (?:for|in|as in) ([A-Za-z0-9().-]+)"
    r"|\bas (\(\d+\w?\)) from\b|\bsee ([a-z][a-z0-9-]+)"
)
FROM = re.compile(r"\bfrom \((\w+)\)")


@dataclass(frozen=True, slots=True)
class Cause:
    """Refuted rows of one cause, the one that speaks for them first.

    ``used_by`` are the ids of the statements and derivations that build on what is refuted.
    """

    findings: tuple[Finding, ...]
    grade: str
    used_by: tuple[str, ...] = ()

    @property
    def first(self) -> Finding:
        """The row that speaks for the others."""
        return self.findings[0]


def record_of(card: Card, row: Row) -> Refuted | None:
    """What the card records about a row: of the claim if it has a record, else of the entry."""
    entry = card.entries.get(row.statement or "")
    if isinstance(entry, Statement):
        for claim in entry.claims:
            if claim.id == (row.claim or "").partition("/")[0] and claim.refuted is not None:
                return claim.refuted
    return entry.refuted if entry is not None else None


def causes(card: Card, findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Refuted findings of one card by cause, the gravest first, what is on record before what is not.

    Two rows have one cause if they judge the same printed formula of one entry, if their records give the same reason,
    or if the record of one refers to the other ("as in (37)").
    """
    groups = _Groups(len(findings))
    seen: dict[tuple[str, ...], int] = {}
    for number, finding in enumerate(findings):
        for key in _keys(card, finding):
            groups.join(number, seen.setdefault(key, number))
        for other in _referred(card, finding, findings):
            groups.join(number, other)
    found = [_cause(card, [findings[n] for n in members]) for members in groups.all()]
    return tuple(sorted(found, key=lambda c: (GRADES.index(c.grade), not c.first.row.known_refuted)))


def grade_of(card: Card, row: Row) -> str:
    """How grave a refuted row is by what it judges and where that stands.

    A bound on a count and an order change a constant or a rate; what a statement promises breaks it; what stands in a
    proof is a local slip, until somebody shows that the statement falls with it.
    """
    entry = card.entries.get(row.statement or "")
    if row.kind == "bookkeeping":
        return GRADES[3]
    if row.kind in ORDERS or isinstance(entry, Derivation):
        return GRADES[1]
    if isinstance(entry, Statement | Algorithm) and not PROOF.search(row.source or ""):
        counted = row.kind == "units" or COUNTS.match(row.left or "")
        return GRADES[1] if counted else GRADES[0]
    if isinstance(entry, Statement) and COUNTS.match(row.left or ""):
        return GRADES[1]
    return GRADES[0] if entry is not None and _is_drafted_promise(card, entry) else GRADES[2]


def _is_drafted_promise(card: Card, entry: Entry) -> bool:
    """Whether a formula of a drafted paper stands in a theorem or lemma itself (``lemma-1-eq-1``), not in its proof."""
    if not entry.drafted and entry.kind != "inequality":
        return False
    homes = [e for e in card.entries.values() if e.kind in PROMISED and entry.id.startswith(f"{e.id}-")]
    home = max(homes, key=lambda e: len(e.id), default=None)
    return home is not None and re.fullmatch(r"(?:eq|inline)-\d+(?:-\d+)?", entry.id[len(home.id) + 1 :]) is not None


def _cause(card: Card, findings: list[Finding]) -> Cause:
    ordered = sorted(findings, key=lambda f: (GRADES.index(grade_of(card, f.row)), f.script is None))
    first, ids = ordered[0].row, {f.row.statement or "" for f in findings}
    return Cause(tuple(ordered), grade_of(card, first), tuple(users_of(card, ids)))


def _keys(card: Card, finding: Finding) -> list[tuple[str, ...]]:
    row, record = finding.row, record_of(card, finding.row)
    statement = row.statement or ""
    number = re.match(r"\((\w+)\)", row.source or "")
    keys: list[tuple[str, ...]] = [("entry", statement, (row.claim or "").partition(":")[0])]
    if record is not None and record.why:
        keys.append(("why", re.split(r"[:;,]", record.why)[0].strip().lower()))
    if finding.printed:
        keys.append(("printed", statement, finding.printed))
    if finding.printed and number is not None:
        keys.append(("number", number[1], re.sub(r"[\s\\,]", "", finding.printed)))
    if record is not None and not isinstance(card.entries.get(row.statement or ""), Statement):
        keys.append(("record", statement))
    return keys


def _referred(card: Card, finding: Finding, findings: Sequence[Finding]) -> list[int]:
    """Rows to which the record of one refers by a number or an id."""
    record = record_of(card, finding.row)
    if record is None:
        return []
    named = [name for found in AS_IN.findall(record.why) for name in found if name]
    named += [n for n in FROM.findall(finding.row.source or "") if f"({n})" in record.why]
    names = {name.strip("().,;:").lower() for name in named}
    found = []
    for number, other in enumerate(findings):
        ids = {other.row.statement, other.row.claim or ""}
        if any(name in ids or f"equation-{name}" in ids for name in names):
            found.append(number)
    return found


def users_of(card: Card, ids: set[str]) -> list[str]:
    """Statements and derivations that name one of the ids as what they use."""
    return [
        name
        for name, entry in card.entries.items()
        if name not in ids and {u.partition("/")[0] for u in _uses(entry)} & ids
    ]


def _uses(entry: Entry) -> tuple[str, ...]:
    if isinstance(entry, Statement):
        return entry.uses
    return entry.premise if isinstance(entry, Derivation) else ()


class _Groups:
    """Disjoint sets of numbers."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def root(self, number: int) -> int:
        while self.parent[number] != number:
            number = self.parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        a, b = sorted((self.root(one), self.root(other)))
        self.parent[b] = a

    def all(self) -> list[list[int]]:
        table: dict[int, list[int]] = {}
        for number in range(len(self.parent)):
            table.setdefault(self.root(number), []).append(number)
        return list(table.values())
