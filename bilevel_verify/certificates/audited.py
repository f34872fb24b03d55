"""The certificates of an audit: one file for each relation that has one, the level of each row, the counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.findings.levels import CHECKED, COQ, WORD, Levels, levels_of
from bilevel_verify.audit.pool import shared
from bilevel_verify.certificates.coq.accepting import accepted_by_coq, coq_is_here
from bilevel_verify.certificates.coq.lemmas import NotWritten, lemma, with_prelude
from bilevel_verify.certificates.finding import Certificate, certify, write
from bilevel_verify.proofreading.errata.collecting import script_name

KINDS = ("inequality", "step-algebra", "identity")
Done = Callable[[str, int, int], None]


def counts(finding: Finding) -> bool:
    """Whether a row is one that a certificate is asked for: a scalar relation that was proved or refuted."""
    row = finding.row
    return row.kind in KINDS and row.verdict in ("holds", "refuted") and row.claim != "on record"


def with_certificates(
    findings: Sequence[Finding], folder: Path | None, jobs: int = 1, done: Done | None = None, coq: Path | None = None
) -> tuple[list[Finding], Levels]:
    """Find certificates for the decided scalar relations, write them, and say on each row what it stands on.

    Parameters
    ----------
    findings : of an audit; verdicts are not changed.
    folder : gets ``PAPER-STATEMENT-CLAIM.json``, one for each accepted certificate; None writes none.
    coq : gets a file of each paper (``agm_bio.v``), a lemma for each certificate that has a word in Coq; where Coq is
        installed it is asked, and rows say what it accepted.
    jobs : processes.
    done : called with (statement, done, total).

    Raises
    ------
    InputError : a folder cannot be written.
    """
    places = [place for place, finding in enumerate(findings) if counts(finding)]

    def said(number: int, count: int) -> None:
        if done is not None:
            done(findings[places[number]].statement, count, len(places))

    found = dict(zip(places, shared(found_for, [findings[place] for place in places], jobs, said)))
    names: Counter[str] = Counter()
    result, lemmas = list(findings), dict[str, dict[str, str]]()
    for place in places:
        certificate, row = found[place], findings[place].row
        details = {**row.details, "certificate": WORD if certificate is None else CHECKED}
        reason = row.reason
        if certificate is not None:
            name = script_name(findings[place]).removesuffix(".py")
            names[name] += 1
            name += f"-{names[name]}" if names[name] > 1 else ""
            if folder is not None:
                details["certificate_file"] = write(folder, f"{name}.json", certificate.text + "\n")
            if coq is not None and (shown := _lemma(certificate, name)):
                details["coq_file"], details["coq_lemma"] = coq_file(row.paper or ""), lemma_name(name)
                lemmas.setdefault(details["coq_file"], {})[lemma_name(name)] = shown
            reason = f"{reason}; {certificate.short}" if certificate.short else reason
        result[place] = replace(findings[place], row=replace(row, details=details, reason=reason))
    for file, texts in lemmas.items():
        assert coq is not None
        write(coq, file, with_prelude([*texts.values()]))
    result = _with_coq(result, lemmas, jobs)
    return result, levels_of(result[place].row for place in places)


def _with_coq(findings: list[Finding], lemmas: Mapping[str, Mapping[str, str]], jobs: int) -> list[Finding]:
    """Rows whose lemma the Coq of this machine accepts say so; without one nothing is said."""
    if not lemmas or not coq_is_here():
        return findings
    known = {(file, name) for file, texts in lemmas.items() for name in accepted_by_coq(texts, jobs)}
    result = []
    for finding in findings:
        details = finding.row.details
        if (details.get("coq_file"), details.get("coq_lemma")) in known:
            finding = replace(finding, row=replace(finding.row, details={**details, "certificate": COQ}))
        result.append(finding)
    return result


def coq_file(paper: str) -> str:
    """The name of a paper's Coq file: a module's name is an identifier, so ``agm-bio`` is ``agm_bio.v``."""
    name = re.sub(r"[^A-Za-z0-9]", "_", paper)
    return f"{name if name[:1].isalpha() else f'paper_{name}'}.v"


def _lemma(certificate: Certificate, name: str) -> str:
    """The certificate as a lemma; "" where Coq files have no word for it."""
    try:
        return lemma(certificate.text, lemma_name(name))
    except NotWritten:
        return ""


def lemma_name(name: str) -> str:
    """The name of a certificate as Coq takes it."""
    return "c_" + re.sub(r"\W", "_", name)


def found_for(finding: Finding) -> Certificate | None:
    """The certificate of a decided row; None without a scalar claim, or where none was found."""
    claim, row = finding.claim, finding.row
    if claim is None:
        return None
    about = {"paper": row.paper or "", "statement": row.statement or "", "claim": row.claim or ""}
    about |= {"left": row.left or "", "op": str(row.details.get("op", "")), "right": row.right or ""}
    point = None
    if row.verdict == "refuted":
        point = {name: Fraction(value) for name, value in (finding.counterexample or {}).items()}
    return certify(claim, finding.vectors, point, about)
