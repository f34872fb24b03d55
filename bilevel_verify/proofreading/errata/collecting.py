"""One defect, one entry: refuted rows and what the proofreader found, put together by cause and ordered by gravity."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from bilevel_verify.audit.findings.causes import GRADES, Cause, causes, grade_of, record_of
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.files import slug
from bilevel_verify.proofreading.defect import KINDS, Defect, Group
from bilevel_verify.proofreading.errata.erratum import Erratum, Spot
from bilevel_verify.proofreading.errata.places import heading_of, matters_for, place_of_row, without_ids, words_of
from bilevel_verify.proofreading.errata.repairing import repair_of
from bilevel_verify.proofreading.errata.witnesses import instance_of, witness_of
from bilevel_verify.proofreading.report import Report
from bilevel_verify.theorems.card import Algorithm, Card
from bilevel_verify.theorems.card_parts import Refuted

LINE = re.compile(r"\blines? (\d+)")
NUMBER = re.compile(r"\((\d+\w?)\)")
RELATION = re.compile(r"\\(?:le|ge|leq|geq|approx|neq)(?![a-z])|[=<>]")
RANKS = "theorem corollary proposition algorithm lemma assumption condition".split()
LONGEST = 180
SHAPES = ("units", "identity", "step-algebra", "step")


def errata(card: Card, findings: Sequence[Finding], report: Report | None = None) -> tuple[Erratum, ...]:
    """Everything that is wrong in a paper, the gravest first.

    Parameters
    ----------
    findings : of the audit, all verdicts (those of repaired forms are quoted).
    report : what the proofreader found, or None.
    """
    refuted = [f for f in findings if f.row.verdict == "refuted" and is_of_the_print(f.row)]
    found: list[tuple[Cause | None, list[Group]]] = [(cause, []) for cause in causes(card, refuted)]
    for group in report.groups if report is not None else ():
        same = next((parts for cause, parts in found if cause is not None and _is_same(card, cause, group)), None)
        if same is not None:
            same.append(group)
        else:
            found.append((None, [group]))
    entries = [_erratum(card, cause, groups, findings, report) for cause, groups in found]
    return tuple(sorted(entries, key=lambda e: _gravity(card, e)))


def is_of_the_print(row: Row) -> bool:
    """As printed, or a recorded counterexample that needed the numbers of a named reading to be run again."""
    return bool(row.as_printed or (row.reason or "").startswith("on record"))


def script_name(finding: Finding) -> str:
    """File name of the script of a refutation."""
    row = finding.row
    parts = [row.paper, row.statement, row.claim, *(["units"] if row.kind == "units" else [])]
    kinds = [mark.partition(":")[0].replace(" ", "-") for mark in row.marks]
    return slug(*parts, *dict.fromkeys(kinds)).replace("/", "-") + ".py"


def defect_script(paper: str, defect: Defect) -> str:
    """File name of the script of a finding between the formulas."""
    return slug(paper, defect.kind, defect.place).replace("/", "-") + ".py"


def _gravity(card: Card, entry: Erratum) -> tuple[int, bool, int, int, bool]:
    """Grade, then whether a statement as a whole is wrong, its kind, how much rests on it, what is on record first."""
    homes = [card.entries[n] for row in entry.rows if (n := row.partition("/")[0]) in card.entries]
    rank = min((RANKS.index(home.kind) for home in homes if home.kind in RANKS), default=len(RANKS))
    whole = any(entry.place == home.source and home.kind in RANKS for home in homes)
    return GRADES.index(entry.grade), not whole, rank, -len(entry.matters), not entry.recorded


def _is_same(card: Card, cause: Cause, group: Group) -> bool:
    return any(_same(card, finding, defect) for finding in cause.findings for defect in group.defects)


def _same(card: Card, finding: Finding, defect: Defect) -> bool:
    """Whether a refuted row and a finding of the proofreader are about one slip.

    They are in one line of one algorithm, about one printed formula, about a numbered formula that is one relation, or
    about the shapes in one numbered formula.
    """
    entry, record = card.entries.get(finding.row.statement or ""), record_of(card, finding.row)
    if isinstance(entry, Algorithm):
        said = f"{entry.source} {finding.row.reason} {record.why if record else ''}"
        home = defect.unit in (entry.id, entry.variant_of)
        return home and bool(set(LINE.findall(said)) & set(LINE.findall(words_of(card, defect.place))))
    one, other = _bare(finding.printed or ""), _bare(defect.latex)
    if min(len(one), len(other)) >= 12 and (one in other or other in one):
        return True
    number, here = NUMBER.match(finding.row.source or ""), NUMBER.match(defect.place)
    shaped = defect.kind == "shape" and finding.row.kind in SHAPES
    one_relation = bool(finding.printed) and len(RELATION.findall(defect.latex)) == 1
    return (shaped or one_relation) and number is not None and here is not None and number[1] == here[1]


def _bare(latex: str) -> str:
    """A formula without what only spaces or sizes it."""
    return re.sub(r"\\(?:left|right|[Bb]igg?[lr]?|[,;! ]|quad|displaystyle|bf|bm|mathbf)|[\s{}&~]", "", latex)


def _erratum(
    card: Card, cause: Cause | None, groups: Sequence[Group], everything: Sequence[Finding], report: Report | None
) -> Erratum:
    findings = cause.findings if cause is not None else ()
    spots = [*_spots(card, findings), *(_spot(card, d) for g in groups for d in g.defects)]
    grades = [grade_of(card, f.row) for f in findings] + [g.first.grade for g in groups]
    matters = matters_for(card, cause.used_by if cause else (), [s.place for s in spots])
    return Erratum(
        min(grades, key=GRADES.index),
        spots[0].place,
        _short(spots[0].sentence),
        tuple(spots),
        witness_of(card, findings),
        (*_stops(findings), *(line for g in groups for line in g.first.evidence)),
        repair_of(card, findings, everything) if findings else None,
        tuple(m for m in matters if m != heading_of(spots[0].place)),
        _files(card, findings, groups, report),
        next((f.row.reproduce for f in findings if f.row.reproduce), "") or f"bilevel-verify audit {card.key}",
        any(f.row.known_refuted for f in findings),
        tuple(dict.fromkeys([*(f"{f.row.statement}/{f.row.claim}" for f in findings),
                             *(f"{g.first.unit}/{g.first.kind}" for g in groups)])),
    )  # fmt: skip


def _spots(card: Card, findings: Sequence[Finding]) -> list[Spot]:
    """The places of refuted rows: each printed formula once, at its most exact place, and each place without one."""
    found: dict[str, Spot] = {}
    for finding in findings:
        row, record = finding.row, record_of(card, finding.row)
        place = place_of_row(card, row.source or row.statement or "", row.statement or "")
        sentence = without_ids(card, (record.why if record is not None else "") or _sentence(finding))
        stated = (
            "" if row.kind == "units" else row.stated or ""
        )  # the two sides of a comparison of units are no equation
        spot = Spot(place, sentence, finding.printed or "", stated, row.kind, () if row.as_printed else row.marks)
        key = _bare(spot.latex or spot.stated) or place
        old = found.get(key)
        if old is None:
            found[key] = spot
        else:
            found[key] = _joined(old, place)
    shown = {place for spot in found.values() if spot.latex or spot.stated for place in (spot.place, *spot.also)}
    return [s for s in found.values() if s.latex or s.stated or s.place not in shown]


def _joined(spot: Spot, place: str) -> Spot:
    """A spot with one more place of its formula; ``Proposition 1`` is no other place than ``(37), Proposition 1``."""
    known = (spot.place, *spot.also)
    number = NUMBER.match(place)
    if any(place in old for old in known) or (number and any(old.startswith(number[0]) for old in known)):
        return spot
    if spot.place in place:
        return replace(spot, place=place)
    return replace(spot, also=(*spot.also, place))


def _stops(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where the literal run of an algorithm stops."""
    points = [f.counterexample or {} for f in findings if f.row.kind == "executability"]
    return tuple(f"the run as printed stops at {p['line']}: {p.get('defect', '')}" for p in points if "line" in p)


def _sentence(finding: Finding) -> str:
    """What is wrong, of a row without a record."""
    row, reason = finding.row, finding.row.reason or ""
    if row.kind == "units":
        return f"the two sides have different units: {reason.removeprefix('the two sides ')}"
    if row.kind in ("derivation", "executability", "definedness", "identity", "bookkeeping"):
        return reason.partition(": ")[2] or reason
    point = ", ".join(f"{k} = {v}" for k, v in (finding.counterexample or {}).items())
    if not point:
        return reason
    sides = "" if None in (row.measured, row.bound) else f": {row.measured:.6g} against {row.bound:.6g}"
    return f"false at {point}{sides}"


def _spot(card: Card, defect: Defect) -> Spot:
    return Spot(words_of(card, defect.place), defect.title, defect.latex, "", KINDS[defect.kind])


def _short(sentence: str) -> str:
    """The first clauses of a sentence that is too long for a title."""
    if len(sentence) <= LONGEST:
        return sentence
    head = re.split(r"; |\. ", sentence, maxsplit=1)[0]
    if head.count("(") > head.count(")"):  # the cut fell into a remark in brackets
        head = head[: head.rfind("(")].rstrip(" ,:")
    if len(head) <= LONGEST:
        return head
    for mark, least in ((": ", LONGEST // 2), (", ", LONGEST // 2), (": ", 1)):
        cuts = [m.start() for m in re.finditer(mark, head[:LONGEST])]
        ends = [cut for cut in cuts if head[:cut].count("(") == head[:cut].count(")")]
        if ends and ends[-1] >= least:
            return head[: ends[-1]]
    return head[: head.rfind(" ", 0, LONGEST)] + " ..."


def _files(card: Card, findings: Sequence[Finding], groups: Sequence[Group], report: Report | None) -> dict[str, str]:
    """Scripts and instance files that stand alone: name under the page's folder -> text."""
    found = {f"counterexamples/{script_name(f)}": f.script for f in findings if f.script}
    for finding in findings:
        row, record = finding.row, record_of(card, finding.row)
        if name := row.details.get("instance_file"):
            found[f"instances/{name}"] = f"# {row.reproduce}\n{row.details['instance']}"
        elif record is not None and record.on and (text := instance_of(record.on)):
            name = f"instances/{slug(card.key, row.statement, row.claim).replace('/', '-')}.toml"
            found[name] = f"# {_command(card, row, record, name)}\n{text}"
    for group in groups:
        if report is not None and group.first in report.scripts:
            found[f"counterexamples/{defect_script(report.paper, group.first)}"] = report.scripts[group.first]
    return found


def _command(card: Card, row: Row, record: Refuted, name: str) -> str:
    """The command that repeats a recorded counterexample from its problem file; many digits need the audit."""
    if record.digits:
        return f"bilevel-verify audit {card.key} --statement {row.statement}"
    words = ["bilevel-verify", "verify", f"{card.key}/{row.statement}", "--problem", name]
    for option, numbers in (("--eps", record.eps), ("--x0", record.x0)):
        words += [f"{option}={','.join(map(repr, numbers))}"] if numbers else []
    return shlex.join([*words, *(f"--set={letter}={value}" for letter, value in record.set.items())])
