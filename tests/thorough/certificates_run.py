"""All certificates of five papers and of other sources: found, checked, read back, falsified, sampled, asked of Coq.

``python tests/thorough/certificates_run.py [--out reports/thorough/certificates.txt] [--coq DIR] [PART ...]`` runs part
after part (a paper, constants of the zoo, formulas known by hand, blocks of drawn ones). Every part appends one line to
the output, and what was not accepted or is wrong below it; parts that are there for the same seed and the same code are
skipped, so a run that was interrupted goes on. Seconds are those of the processor. Exit status 1 if something false was
accepted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "certificates"), str(TESTS / "audit")]

import numpy as np  # noqa: E402
from audit_known_truths import KNOWN  # noqa: E402
from audit_statements import random_statement  # noqa: E402
from certificate_pieces import damaged, mutants  # noqa: E402
from certificate_points import looked_at  # noqa: E402
from seeds import SEED  # noqa: E402

import bilevel_check  # noqa: E402
import bilevel_verify as bv  # noqa: E402
from bilevel_check import check  # noqa: E402
from bilevel_verify.audit import audit  # noqa: E402
from bilevel_verify.audit.findings.finding import Finding  # noqa: E402
from bilevel_verify.audit.formula import claims_of  # noqa: E402
from bilevel_verify.certificates.audited import coq_file, counts, found_for, lemma_name  # noqa: E402
from bilevel_verify.certificates.coq.accepting import accepted_by_coq, coq_is_here  # noqa: E402
from bilevel_verify.certificates.coq.lemmas import NotWritten, lemma, with_prelude  # noqa: E402
from bilevel_verify.certificates.finding import Certificate, certify  # noqa: E402
from bilevel_verify.certificates.numbers.constants import certified_constant  # noqa: E402
from bilevel_verify.certificates.statement import read_back  # noqa: E402

PAPERS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")
PROBLEMS = ("cardano", "cosh-lower", "hyperbola", "w-shape", "w-ladder", "single-stair", "trig-1-1", "ridge-cosines")
"""Of two variables: boxes, branches, letters without bounds."""
BLOCKS, BLOCK, POINTS = 12, 100, 10_000
"""Blocks of drawn statements, how many in one; points at which a statement is wanted."""
OUT = Path("reports/thorough/certificates.txt")
WRONG = ("accepted and false", "violated", "read back otherwise")


@dataclass
class Part:
    """What one part counted, and lines about what was not accepted or is wrong."""

    tally: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Processor milliseconds of this process and of its children that have ended."""
        began = _used()
        yield
        self.tally[f"{what} ms"] += round(1000 * (_used() - began))

    def wrong(self, what: str, statement: object, point: object = "") -> None:
        """Something that must not be."""
        self.tally[what] += 1
        self.notes.append(f"{what}: {statement} {point}")


def _used() -> float:
    return sum(one.ru_utime + one.ru_stime for one in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def of_paper(paper: str, coq: Path | None) -> Part:
    """All decided scalar relations of a paper."""
    part = Part()
    findings = [one for one in audit([paper], quick=True, jobs=1) if counts(one)]
    with part.timed("finding"):
        found = [(one, found_for(one)) for one in findings]
    with part.timed("checking"):
        assert all(check(one.text).accepted for _, one in found if one)
    for finding, certificate in found:
        scalar = "" if finding.claim is not None else " without a claim"
        part.tally[f"{finding.row.verdict}{scalar}"] += 1
        part.tally[f"{finding.row.verdict} with"] += certificate is not None
        if certificate is None and finding.claim is not None:
            part.notes.append(f"no certificate: {said(finding)}")
    having = [(finding, one) for finding, one in found if one is not None]
    for finding, one in having:
        read, claim = read_back(json.loads(one.text)["statement"]), finding.claim
        if claim is None or (read.left, read.op, read.right) != (claim.left, claim.op, claim.right):
            part.wrong("read back otherwise", said(finding))
    proofs = [json.loads(one.text) for _, one in having if one.shows == "proved"]
    with part.timed("falsifying"):
        falsify(part, proofs)
    sample(part, [data["statement"] for data in proofs])
    ask_coq(part, having, coq)
    return part


def said(finding: Finding) -> str:
    """A row in a line."""
    row = finding.row
    return f"{row.verdict} {row.statement} {row.claim}: {row.left} {row.details.get('op', '')} {row.right}"[:200]


def ask_coq(part: Part, having: list[tuple[Finding, Certificate]], coq: Path | None) -> None:
    """Every certificate as a lemma; which of them Coq accepts, where it is installed."""
    lemmas, rows = dict[str, str](), dict[str, Finding]()
    for place, (finding, certificate) in enumerate(having):
        name = lemma_name(f"{place}-{finding.row.statement}")
        try:
            lemmas[name], rows[name] = lemma(certificate.text, name), finding
        except NotWritten as error:
            part.notes.append(f"no word for Coq, {error}: {said(finding)}")
    if coq is not None:
        coq.mkdir(parents=True, exist_ok=True)
        file = coq / coq_file(having[0][0].row.paper or "")
        file.write_text(with_prelude([*lemmas.values()]), encoding="utf-8")
    if coq_is_here():
        with part.timed("coq"):
            accepted = accepted_by_coq(lemmas)
        part.tally.update(f"{finding.row.verdict} coq" for name, finding in rows.items() if name in accepted)
        part.notes += [f"not by Coq: {said(finding)}" for name, finding in rows.items() if name not in accepted]


def falsify(part: Part, proofs: Iterable[dict[str, Any]]) -> None:
    """Statements that were changed, with their proofs, and damaged identities: nothing false is accepted."""
    draw, rng = random.Random(SEED), np.random.default_rng(SEED)
    for data in proofs:
        if "vector" in data["statement"]["letters"].values():
            continue
        for mutant in mutants(data, draw, 6):
            accepted = check(json.dumps(mutant)).accepted
            _, point = looked_at(mutant["statement"], rng, 200, 20_000 if accepted else 500)
            part.tally.update({"mutants": 1, "false statements": point is not None})
            if accepted and point is not None:
                part.wrong("accepted and false", mutant["statement"], point)
        for mutant in damaged(data, draw, 2):
            part.tally["damaged"] += 1
            if check(json.dumps(mutant)).accepted:
                part.wrong("accepted and false", mutant)


def sample(part: Part, statements: Iterable[dict[str, Any]]) -> None:
    """Accepted statements with letters and without vectors, at many points that meet their hypotheses."""
    rng = np.random.default_rng(SEED)
    with part.timed("sampling"):
        for statement in statements:
            if statement["letters"] and "vector" not in statement["letters"].values():
                points, violation = looked_at(statement, rng, POINTS)
                part.tally.update({"sampled": 1, "at all points": points >= POINTS, "points": points})
                if violation is not None:
                    part.wrong("violated", statement, violation)


def of_numbers() -> Part:
    """Statements about constants of problems with two variables."""
    part, found = Part(), list[Any]()
    with part.timed("finding"):
        for name in PROBLEMS:
            table = bv.constants(bv.zoo(name))
            for letter, word in table.paper.names.items():
                if word.measure in ("norm", "strong convexity", "gradient"):
                    found += [
                        json.loads(one.text)["statement"] for one in certified_constant(table, letter).certificates
                    ]
    sample(part, found)
    return part


def of_texts(texts: Callable[[], Iterable[tuple[str, str, str]]]) -> Part:
    """Accepted statements of no paper; false ones among them are asked as well, and none may be accepted."""
    part, found = Part(), dict[str, dict[str, Any]]()
    with part.timed("finding"):
        for text, ranges, where in texts():
            for claim in claims_of(text, ranges, where):
                part.tally["asked"] += 1
                certificate = certify(claim, effort=100_000)
                if certificate is not None:
                    statement = json.loads(certificate.text)["statement"]
                    found[json.dumps(statement, sort_keys=True)] = statement
    sample(part, found.values())
    return part


def by_hand() -> list[tuple[str, str, str]]:
    """Formulas of the tests of ``check`` that are known."""
    return [(text, ranges, "") for text, ranges, _ in KNOWN if "vectors" not in ranges]


def drawn(block: int) -> list[tuple[str, str, str]]:
    """Formulas that nobody has looked at, many of them false."""
    rng = np.random.default_rng([SEED, block])
    found = [random_statement(rng) for _ in range(BLOCK)]
    return [(one.text, one.declared, "; ".join(one.where)) for one in found]


def parts(coq: Path | None = None) -> dict[str, Callable[[], Part]]:
    """Every part by its name."""
    found: dict[str, Callable[[], Part]] = {paper: partial(of_paper, paper, coq) for paper in PAPERS}
    found |= {"numbers": of_numbers, "by-hand": partial(of_texts, by_hand)}
    return found | {f"drawn-{block}": partial(of_texts, partial(drawn, block)) for block in range(BLOCKS)}


def code() -> str:
    """A mark of the checker and of the search: a line of another code says nothing about this one."""
    rooms = (Path(bilevel_check.__file__).parent, Path(bv.__file__).parent / "certificates")
    files = sorted(path for room in rooms for path in room.rglob("*") if path.suffix in (".py", ".v"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def recorded(out: Path) -> dict[str, Counter[str]]:
    """Part -> what was counted, of this code and seed."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    rows = re.findall(rf"^code {code()} seed {SEED} part (\S+): (.*)$", text, re.MULTILINE)
    return {name: Counter(json.loads(tally)) for name, tally in rows}


def counted(name: str, out: Path = OUT, coq: Path | None = None) -> Counter[str]:
    """What a part counts; run, and written down, where it was not yet."""
    if name not in recorded(out):
        part = parts(coq)[name]()
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a", encoding="utf-8") as stream:
            stream.write(f"code {code()} seed {SEED} part {name}: {json.dumps(part.tally)}\n")
            stream.writelines(f"  {note}\n" for note in part.notes)
    return recorded(out)[name]


def main() -> int:
    """Run the parts that are missing and print the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts())}; all without one")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--coq", type=Path, help="gets the files of Coq")
    options = parser.parse_args()
    total = Counter[str]()
    for name in options.parts or parts():
        tally = counted(name, options.out, options.coq)
        total.update(tally)
        print(name, dict(tally), flush=True)
    print("all", dict(total))
    return int(any(total[what] for what in WRONG))


if __name__ == "__main__":
    sys.exit(main())
