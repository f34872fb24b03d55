"""The certificates of an audit: one file for each relation that has one, the level of each row, the counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.findings.levels import CHECKED, WORD, Levels
from bilevel_verify.audit.pool import shared
from bilevel_verify.certificates.coq.lemmas import PRELUDE, NotWritten, lemma
from bilevel_verify.certificates.finding import Certificate, certify
from bilevel_verify.errors import InputError
from bilevel_verify.reporting.errata import script_name

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
    coq : gets a file of each paper (``agm_bio.v``), a lemma for each certificate that has a word in Coq.
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

    found = dict(zip(places, shared(_certificate, [findings[place] for place in places], jobs, said)))
    names: Counter[str] = Counter()
    levels, result, lemmas = Levels(), list(findings), dict[str, list[str]]()
    for place in places:
        certificate, row = found[place], findings[place].row
        levels.add(row.verdict, WORD if certificate is None else CHECKED)
        details = {**row.details, "certificate": WORD if certificate is None else CHECKED}
        reason = row.reason
        if certificate is not None:
            name = script_name(findings[place]).removesuffix(".py")
            names[name] += 1
            name += f"-{names[name]}" if names[name] > 1 else ""
            if folder is not None:
                details["certificate_file"] = _write(folder, f"{name}.json", certificate.text + "\n")
            if coq is not None and (shown := _lemma(certificate, name)):
                details["coq_file"] = coq_file(row.paper or "")
                lemmas.setdefault(details["coq_file"], []).append(shown)
            reason = f"{reason}; {certificate.short}" if certificate.short else reason
        result[place] = replace(findings[place], row=replace(row, details=details, reason=reason))
    for file, texts in lemmas.items():
        assert coq is not None
        _write(coq, file, "\n".join([PRELUDE, *texts]))
    return result, levels


def coq_file(paper: str) -> str:
    """The name of a paper's Coq file: a module's name is an identifier, so ``agm-bio`` is ``agm_bio.v``."""
    name = re.sub(r"[^A-Za-z0-9]", "_", paper)
    return f"{name if name[:1].isalpha() else f'paper_{name}'}.v"


def _lemma(certificate: Certificate, name: str) -> str:
    """The certificate as a lemma; "" where Coq files have no word for it."""
    try:
        return lemma(certificate.text, "c_" + re.sub(r"\W", "_", name))
    except NotWritten:
        return ""


def _write(folder: Path, name: str, text: str) -> str:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another folder for certificates") from None
    return name


def _certificate(finding: Finding) -> Certificate | None:
    claim, row = finding.claim, finding.row
    if claim is None:
        return None
    about = {"paper": row.paper or "", "statement": row.statement or "", "claim": row.claim or ""}
    about |= {"left": row.left or "", "op": str(row.details.get("op", "")), "right": row.right or ""}
    point = None
    if row.verdict == "refuted":
        point = {name: Fraction(value) for name, value in (finding.counterexample or {}).items()}
    return certify(claim, finding.vectors, point, about)
