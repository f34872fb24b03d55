"""All certificates of all cards: found, checked, read back, falsified (2,000 and more), sampled."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "certificates"))
sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from audit_known_truths import KNOWN
from audit_statements import random_statement
from certificate_pieces import damaged, mutants
from certificate_points import looked_at
from seeds import SEED

import bilevel_verify as bv
from bilevel_check import check
from bilevel_verify.audit import audit
from bilevel_verify.audit.findings.levels import COQ, WORD, levels_of
from bilevel_verify.audit.formula import claims_of
from bilevel_verify.certificates.audited import counts, with_certificates
from bilevel_verify.certificates.coq.accepting import coq_is_here
from bilevel_verify.certificates.finding import certify
from bilevel_verify.certificates.numbers.constants import certified_constant
from bilevel_verify.certificates.statement import read_back


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("certificates")
    findings, levels = with_certificates(audit(quick=True, jobs=2), folder, jobs=2, coq=folder / "coq")
    print(levels)
    found = [
        (f, json.loads((folder / name).read_text()))
        for f in findings
        if (name := f.row.details.get("certificate_file"))
    ]
    scalar = levels_of(f.row for f in findings if counts(f) and f.claim is not None)
    return {"holds": levels.rows["holds"], "refuted": scalar.rows["refuted"]}, found


def test_nine_of_ten_have_one_and_every_refutation(everything) -> None:  # type: ignore[no-untyped-def]
    levels, _ = everything
    assert levels["holds"][WORD] <= 0.1 * levels["holds"].total()
    assert levels["refuted"][WORD] == 0, "of scalar relations"


@pytest.mark.skipif(not coq_is_here(), reason="extra: needs coqtop (Debian: coq, libcoq-interval)")
def test_coq_accepts_most_of_them(everything) -> None:  # type: ignore[no-untyped-def]
    """At least 85 % of what is proved, and 90 % of the scalar relations that are refuted."""
    for verdict, levels in everything[0].items():
        assert levels[COQ] >= (0.9 if verdict == "refuted" else 0.85) * levels.total(), verdict


def test_each_statement_is_that_of_its_row(everything) -> None:  # type: ignore[no-untyped-def]
    for finding, data in everything[1]:
        read, claim = read_back(data["statement"]), finding.claim
        assert (read.left, read.op, read.right) == (claim.left, claim.op, claim.right)


def test_no_falsified_one_is_accepted(everything) -> None:  # type: ignore[no-untyped-def]
    draw, rng, tally = random.Random(SEED), np.random.default_rng(SEED), Counter[str]()
    for _, data in everything[1]:
        if "proof" not in data or "vector" in data["statement"]["letters"].values():
            continue
        for mutant in mutants(data, draw, 6):
            accepted = check(json.dumps(mutant)).accepted
            _, point = looked_at(mutant["statement"], rng, 200, 20_000 if accepted else 500)
            tally["false statements"] += point is not None
            tally["mutants"] += 1
            assert not (accepted and point), (mutant["statement"], point)
        for mutant in damaged(data, draw, 2):
            tally["damaged"] += 1
            assert not check(json.dumps(mutant)).accepted
    print(tally)
    assert tally["false statements"] + tally["damaged"] >= 2_000


def numbers_of_the_zoo() -> list[dict[str, Any]]:
    """Statements about constants of problems with two variables: boxes, branches, letters without bounds."""
    found = []
    for name in (
        "cardano",
        "cosh-lower",
        "hyperbola",
        "w-shape",
        "w-ladder",
        "single-stair",
        "trig-1-1",
        "ridge-cosines",
    ):
        table = bv.constants(bv.zoo(name))
        for letter, word in table.paper.names.items():
            if word.measure in ("norm", "strong convexity", "gradient"):
                found += [json.loads(one.text)["statement"] for one in certified_constant(table, letter).certificates]
    return found


def stated_elsewhere(number: int) -> list[dict[str, Any]]:
    """Accepted statements of no paper: those of the tests of ``check``, by hand and drawn."""
    rng = np.random.default_rng(SEED)
    drawn = [random_statement(rng) for _ in range(number)]
    texts = [(text, ranges, "") for text, ranges, _ in KNOWN if "vectors" not in ranges]
    texts += [(one.text, one.declared, "; ".join(one.where)) for one in drawn]
    found: dict[str, dict[str, Any]] = {}
    for text, ranges, where in texts:
        for claim in claims_of(text, ranges, where):
            certificate = certify(claim, effort=100_000)
            if certificate is not None:
                statement = json.loads(certificate.text)["statement"]
                found[json.dumps(statement, sort_keys=True)] = statement
    return [*found.values()]


def test_accepted_statements_hold_where_they_are_sampled(everything) -> None:  # type: ignore[no-untyped-def]
    """1,000 statements without vectors at 10,000 points of each: of papers, about numbers, and formulas of others."""
    rng, tally = np.random.default_rng(SEED), Counter[str]()
    stated = {
        "papers": [data["statement"] for _, data in everything[1] if "proof" in data],
        "numbers": numbers_of_the_zoo(),
        "elsewhere": stated_elsewhere(600),
    }
    for source, statements in stated.items():
        for statement in statements:
            if statement["letters"] and "vector" not in statement["letters"].values():
                points, violation = looked_at(statement, rng, 10_000)
                assert violation is None, (statement, violation)
                tally.update({source: 1, "with 10,000": points >= 10_000, "points": points})
    print(tally)
    assert tally["with 10,000"] >= 1_000
