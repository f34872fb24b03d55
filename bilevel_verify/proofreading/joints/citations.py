"""Citations inside a paper: of numbers that it does not have, and proofs that lean on each other in a circle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage

KINDS = "Theorem|Lemma|Proposition|Corollary|Assumption|Algorithm|Condition|Definition"
NAMED = re.compile(rf"\b(?P<kind>{KINDS})s?\s+(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)(?=(?P<after>[^.;]{{0,40}}))")
NUMBERED = re.compile(
    r"(?:\b[Ee]q(?:uation|\.)?s?\.?\s*\(?|(?<![\w)\]])\()(?P<number>[A-Z]?\.?\d+(?:\.\d+)*[a-z]?)\)?(?=(?P<after>[^.;]{0,24}))"
)
IN_BRACKETS = re.compile(r"(?<![\w)\]])\((?P<number>\d+(?:\.\d+)*[a-z]?)\)(?=(?P<after>[^.;]{0,24}))")
UNKNOWN = re.compile(
    r"\b(?:Theorem|Lemma|Proposition|Corollary|Assumption|Algorithm|Equation|Section)s?\s+(?P<label>[a-z]+:[\w:-]+)|\((?P<equation>eq:[\w:-]+)\)"
)
REFERRED = re.compile(r"\\(?:eq|auto|[cC]|name|v)?ref\*?\s*\{([^{}#]+)\}")
SET = re.compile(r"\\label\s*\{([^{}]*)\}|\blabel\s*=\s*\{?([\w:.-]+)")
ELSEWHERE = re.compile(
    r"\s*(?:\([ivx\d]+\))?\s*(?:,\s*)?(?:\(|\[|(?:of|in|from|by)(?:\s+(?:in|of|the))*)\s*"
    r"(?:\(?[A-Z][a-z]+|\[|\\cite|paper|book|\x01?\s*\[)"
)
"""After a number: it is of another paper."""
TWICE = re.compile(rf"\b(?:{KINDS})s?\s+(?=(?:{KINDS})\s)")
"""``Lemma~\\ref{...}`` with the whole name in the place of the label."""
LEANS = re.compile(r"\b(?:by|from|using|with|via|apply(?:ing)?|invok(?:e|ing)|due to|combining|and)\s*\Z", re.I)
RESTS = re.compile(
    r"\b(?:by|from|using|with|via|due to|combining|and|sum(?:ming)?|sum of|adding|into|recall)\s*\Z", re.I
)
"""Words before the number of a relation on which a step rests."""


def citation_defects(paper: Paper) -> Iterator[Defect]:
    """Citations of what is not there, and circles of proofs; only where the words of the paper are known."""
    if not paper.passages:
        return
    passages = tuple(replace(p, words=TWICE.sub("", p.words)) for p in paper.passages)
    yield from _missing(paper, passages)
    yield from _circles(passages, _stated_in(paper))


def _missing(paper: Paper, passages: tuple[Passage, ...]) -> Iterator[Defect]:
    known = {passage.name for passage in paper.passages if passage.name}
    kinds = {name.partition(" ")[0] for name in known}
    prefixes = {number.rpartition(".")[0] for number in paper.numbers}
    nowhere = _without_place(paper.text)
    for label in nowhere:
        home = next((p for p in passages if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", p.words)), passages[0])
        yield _defect(home, f"the label {label} is referred to and stands nowhere")
    for passage in passages:
        for found in UNKNOWN.finditer(passage.words):
            label = found["label"] or found["equation"]
            if label not in paper.labels and not SET.search(paper.text):  # a macro of a LaTeX source may set it
                yield _defect(passage, f"the label {label} is referred to and stands nowhere")
        for found in NAMED.finditer(passage.words):
            name = f"{found['kind']} {found['number']}"
            before = passage.words[max(found.start() - 40, 0) : found.start()]
            if before.rfind("[") > before.rfind("]"):
                continue  # inside the citation of another paper
            if name not in known and found["kind"] in kinds and not ELSEWHERE.match(found["after"]):
                yield _defect(passage, f"{name} is cited, and the paper has no {name}")
        for found in NUMBERED.finditer(passage.words):
            number = found["number"]
            if number in paper.numbers or not paper.numbers or ELSEWHERE.match(found["after"]):
                continue
            if _could_be(number, paper.numbers, prefixes) and found[0].lower().startswith("eq"):
                yield _defect(passage, f"equation ({number}) is cited, and the paper has no ({number})")


def _without_place(source: str) -> list[str]:
    """Labels of a LaTeX source that are referred to and never set; one in braces elsewhere may be set by a macro."""
    if not SET.search(source) or re.search(r"\\externaldocument|\\(?:input|include)\b", source):
        return []
    referred = dict.fromkeys(part.strip() for found in REFERRED.findall(source) for part in found.split(","))
    rest = REFERRED.sub("", source)
    known = {name.strip() for found in SET.findall(rest) for name in found}
    made = {part.strip() for found in re.findall(r"\{([^{}]*)\}", rest) for part in found.split(",")}
    return [label for label in referred if label and not {label, label.rpartition(":")[2]} & (known | made)]


def _could_be(number: str, numbers: frozenset[str], prefixes: set[str]) -> bool:
    """Whether a number is of the form that the equations of this paper have."""
    return number.rpartition(".")[0] in prefixes and not any(n.startswith(number) for n in numbers)


def _circles(passages: tuple[Passage, ...], stated: dict[str, str]) -> Iterator[Defect]:
    """Proofs of which each cites the statement that the other one proves."""
    count = Counter(p.name for p in passages if p.kind in PROMISES)
    names = {name for name, times in count.items() if times == 1}
    cites: dict[str, set[str]] = {}
    where: dict[str, Passage] = {}
    for passage in passages:
        if passage.kind == "proof" and passage.of in names:
            where.setdefault(passage.of, passage)
            cites.setdefault(passage.of, set()).update(_leaned_on(passage, names, stated) - {passage.of})
    for name, passage in where.items():
        path = _back(name, cites)
        if path and path[0] == min(path):
            circle = " -> ".join([*path, path[0]])
            yield Defect("citation", _place(passage), f"proofs lean on each other in a circle: {circle}",
                         "breaks the statement", evidence=tuple(f"the proof of {n} cites {m}" for n, m in
                         zip(path, [*path[1:], path[0]], strict=True)), cause=circle, unit=passage.id)  # fmt: skip


def _stated_in(paper: Paper) -> dict[str, str]:
    """Number of a relation -> the statement that states it."""
    names = {p.id: p.name for p in paper.passages if p.kind in PROMISES and paper.stated.get(p.name) is p}
    return {number: names[s.unit] for number, s in paper.numbered.items() if s.unit in names}


def _leaned_on(passage: Passage, names: set[str], stated: dict[str, str]) -> set[str]:
    """Statements that a proof uses: after "by", "from", "using"; not "similar to the proof of"."""
    found = set()
    for cited in NAMED.finditer(passage.words):
        name = f"{cited['kind']} {cited['number']}"
        if name in names and LEANS.search(passage.words[: cited.start()]) and not ELSEWHERE.match(cited["after"]):
            found.add(name)
    for cited in IN_BRACKETS.finditer(passage.words):
        name = stated.get(cited["number"], "")
        if name in names and RESTS.search(passage.words[: cited.start()]) and not ELSEWHERE.match(cited["after"]):
            found.add(name)
    return found


def _back(start: str, cites: dict[str, set[str]]) -> list[str]:
    """A shortest way from a statement back to itself; empty if there is none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for other in sorted(cites.get(path[-1], ())):
            if other == start:
                return path
            if other not in seen:
                seen.add(other)
                paths.append([*path, other])
    return []


def _place(passage: Passage) -> str:
    return f"proof of {passage.of}" if passage.kind == "proof" and passage.of else passage.name or "text"


def _defect(passage: Passage, title: str) -> Defect:
    return Defect("citation", _place(passage), title, "wording", cause=title, unit=passage.id)
