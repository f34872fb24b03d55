"""How many decided relations of the five papers have certificates, and what finding and checking them costs.

python tests/benchmarks/certificates_table.py [PAPER ...]

One process; seconds are processor seconds, those of ``coqtop`` and of the engines' process included.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from bilevel_check import check_folder
from bilevel_verify.audit import audit
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.findings.levels import CHECKED, COQ
from bilevel_verify.certificates.audited import counts, with_certificates
from bilevel_verify.theorems.library import shipped

Result = TypeVar("Result")
HEAD = """| paper | proved | with a certificate | by Coq | refuted | of them scalar | with a certificate | by Coq | finding, s | checking, s | Coq, s |
|---|---|---|---|---|---|---|---|---|---|---|"""


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """What it gives, and its processor seconds with those of the processes that it ended."""
    before = os.times()
    result = run()
    after = os.times()
    return result, sum(after[:4]) - sum(before[:4])


def numbers(findings: Sequence[Finding], verdict: str) -> Counter[str]:
    """Of the decided relations with this verdict: how many, scalar, with a certificate, accepted by Coq."""
    found = Counter[str]()
    for finding in findings:
        if counts(finding) and finding.row.verdict == verdict:
            level = finding.row.details.get("certificate")
            found.update({"all": 1, "scalar": finding.claim is not None, "own": level in (CHECKED, COQ)})
            found["coq"] += level == COQ
    return found


def row(paper: str) -> tuple[list[float], str]:
    """The numbers of a paper, and their line."""
    findings = audit([paper], quick=True, jobs=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, finding = timed(lambda: with_certificates(findings, folder))
        (found, _), both = timed(lambda: with_certificates(findings, None, coq=folder / "coq"))
        _, checking = timed(lambda: list(check_folder(folder)))
    held, refuted = numbers(found, "holds"), numbers(found, "refuted")
    values = [held["all"], held["own"], held["coq"], *(refuted[key] for key in ("all", "scalar", "own", "coq"))]
    return line(paper, [*values, finding, checking, max(both - finding, 0.0)])


def line(paper: str, values: list[float]) -> tuple[list[float], str]:
    return values, f"| {paper} | " + " | ".join(f"{value:.0f}" for value in values) + " |"


def main(papers: Sequence[str]) -> None:
    print(HEAD)
    rows = []
    for paper in papers:
        values, text = row(paper)
        rows.append(values)
        print(text, flush=True)
    print(line("all", [sum(column) for column in zip(*rows, strict=True)])[1])


if __name__ == "__main__":
    main(sys.argv[1:] or [*shipped()])
