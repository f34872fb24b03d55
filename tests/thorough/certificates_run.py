"""Certificates of the five papers, measured: ``python tests/thorough/certificates_run.py [FOLDER] [PAPER ...]``.

Prints the rows of the table in reports/certificates.md, what Coq did not accept, and processor seconds of finding,
checking and of Coq (``coqtop`` with its prelude), all in one process and its children one after the other.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

from bilevel_check import check
from bilevel_verify.audit import audit
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.certificates.audited import _certificate, counts, lemma_name
from bilevel_verify.certificates.coq.accepting import accepted_by_coq, coq_is_here
from bilevel_verify.certificates.coq.lemmas import NotWritten, lemma, with_prelude


PAPERS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")


def children() -> float:
    """Processor seconds of the processes that have ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(paper: str, folder: Path) -> tuple[str, list[str]]:
    """A row of the table, and what has no lemma or one that Coq does not accept."""
    findings = [one for one in audit([paper], quick=True, jobs=1) if counts(one)]
    start, began = process_time(), children()
    found = [(one, _certificate(one)) for one in findings]
    finding = process_time() - start + children() - began
    start = process_time()
    assert all(check(one.text).accepted for _, one in found if one)
    checking = process_time() - start
    verdicts, tally = dict[str, str](), Counter[str]()
    lemmas, missing = dict[str, str](), list[str]()
    for place, (one, certificate) in enumerate(found):
        tally[one.row.verdict] += 1
        if certificate is None:
            continue
        name = lemma_name(f"{place}-{one.row.statement}")
        tally[f"{one.row.verdict} with"] += 1
        verdicts[name] = one.row.verdict
        try:
            lemmas[name] = lemma(certificate.text, name)
        except NotWritten as error:
            missing.append(f"{said(one)}: no word for {error}")
    began = children()
    accepted = accepted_by_coq(lemmas) if coq_is_here() else frozenset()
    seconds = children() - began
    missing += [f"{said(found[int(name.split('_')[1])][0])}: not accepted" for name in lemmas if name not in accepted]
    by_coq = Counter(verdicts[name] for name in accepted)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{paper}.v".replace("-", "_")).write_text(with_prelude([*lemmas.values()]), encoding="utf-8")
    cells: list[object] = [paper]
    for verdict in ("holds", "refuted"):
        cells += [tally[verdict], tally[f"{verdict} with"], by_coq[verdict]]
    cells += [f"{finding:.1f}", f"{checking:.1f}", f"{seconds:.0f}"]
    return f"| {' | '.join(map(str, cells))} |", missing


def said(finding: Finding) -> str:
    """A row in a line."""
    row = finding.row
    return f"{row.verdict} {row.statement} {row.claim}: {row.left} {row.details.get('op', '')} {row.right}"[:200]


if __name__ == "__main__":
    target, *papers = sys.argv[1:] or ["certificates"]
    for key in papers or PAPERS:
        line, left = measured(key, Path(target))
        print(line, *left, sep="\n", flush=True)
