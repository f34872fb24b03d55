"""``certify`` finds certificates, the small checker accepts them, and their statement is that of the claim."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from certificate_pieces import CLAIMS, margin, points
from certificate_points import looked_at
from seeds import SEED

from bilevel_check import check
from bilevel_verify.audit.formula import check as judged
from bilevel_verify.audit.formula import claims_of, read_ranges
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.certificates.finding import Certificate, certify
from bilevel_verify.certificates.statement import read_back, statement_of
from bilevel_verify.language import parse


def claim_of(text: str, ranges: str, where: str) -> ScalarClaim:
    [claim] = claims_of(text, ranges, where)
    return claim


@pytest.mark.parametrize("place", range(len(CLAIMS)), ids=lambda i: CLAIMS[i][0])
def test_a_true_claim_has_a_certificate(place: int, certificates: list[Certificate | None]) -> None:
    found = certificates[place]
    assert found is not None
    assert found.shows == "proved"
    assert check(found.text).accepted


@pytest.mark.parametrize("place", range(len(CLAIMS)), ids=lambda i: CLAIMS[i][0])
def test_the_statement_reads_back_as_the_claim(place: int, certificates: list[Certificate | None]) -> None:
    claim, found = claim_of(*CLAIMS[place]), certificates[place]
    assert found is not None
    read = read_back(json.loads(found.text)["statement"])
    assert (read.left, read.op, read.right) == (claim.left, claim.op, claim.right)
    assert read.conditions == claim.conditions()
    assert set(read.letters) == set(claim.letters)


@pytest.mark.seeded
def test_accepted_statements_hold_at_random_points(certificates: list[Certificate | None]) -> None:
    draw, looked = random.Random(SEED), 0
    for found in certificates:
        assert found is not None
        statement = json.loads(found.text)["statement"]
        for at in points(statement, draw, 60):
            assert margin(statement["claim"], at) > -1e-25, (statement, at)
            looked += 1
    assert looked > 200


@pytest.mark.parametrize(
    ("text", "ranges", "where"),
    [
        ("2*sqrt(a*b) >= a + b", "a = [0, oo); b = [0, oo)", ""),
        ("1/x <= 1/x**2", "x = (0, oo)", ""),
        ("sqrt(2) + sqrt(3) < 314/100", "", ""),
        ("sum(i, (i, 1, n)) == n**2/2", "n = integers 1..", ""),
        ("kappa**nu <= kappa", "kappa = (0, oo); nu = [0, 1]", ""),
        ("x*y <= 1", "x = [0, 1]; y = [0, oo)", ""),
        ("1 <= x/x", "x = [0, oo)", ""),
    ],
)
def test_a_false_or_undefined_claim_has_none(text: str, ranges: str, where: str) -> None:
    assert certify(claim_of(text, ranges, where), effort=300_000) is None


def test_a_letter_that_may_be_zero_may_stand_below_a_power_with_letters() -> None:
    claim = claim_of("S/k <= (L/H)**(2/nu)", "k = integers 2..; S = [0, oo); L = (0, oo); H = (0, oo); nu = (0, 1]",
                     "k**(4 + nu)*H**2*S**nu <= L**2")  # fmt: skip
    assert certify(claim) is not None


def test_a_counterexample_is_checked() -> None:
    claim = claim_of("x**2 <= x", "x = (0, oo)", "")
    found = certify(claim, point={"x": Fraction(3, 2)})
    assert found is not None
    assert found.shows == "refuted"
    assert certify(claim, point={"x": Fraction(1, 2)}) is None
    assert certify(claim, point={"x": Fraction(-3)}) is None


def test_a_counterexample_with_a_root() -> None:
    claim = claim_of("y <= 1", "x = (0, oo); y = (0, oo)", "y == sqrt(x)")
    found = certify(claim, point={"x": Fraction(2)})
    assert found is not None
    assert found.shows == "refuted"


def test_a_negative_number_and_a_chain_keep_their_words() -> None:
    claim = claim_of("-2*x + 1/3 <= 1/3", "x = [0, 1]", "0 <= x <= 1")
    data = statement_of(claim)
    assert data["hypotheses"][:2] == [["<=", 0, "x"], ["<=", "x", 1]]


def test_judged_and_certified_agree() -> None:
    [finding] = judged("x/(1 + x) <= 1", "x = (0, oo)")
    assert finding.verdict == "holds"
    assert certify(claim_of("x/(1 + x) <= 1", "x = (0, oo)", "")) is not None


VECTORS = ScalarClaim(
    parse("norm(u + v)**2"), "<=", parse("norm(u)**2 + norm(v)**2 - t*dot(u, v)"), read_ranges("t = [0, oo)", {"t"})
)


def test_a_counterexample_with_vectors_is_one_with_numbers() -> None:
    found = certify(VECTORS, ("u", "v"), point={"t": Fraction(1), "u": Fraction(1), "v": Fraction(2)})
    assert found is not None
    assert found.shows == "refuted"
    assert certify(VECTORS, ("u", "v"), point={"t": Fraction(1), "u": Fraction(1), "v": Fraction(-2)}) is None
    assert certify(VECTORS, ("u", "v"), point={"t": Fraction(1), "u": Fraction(1)}) is None


@pytest.mark.parametrize("claim", [["<=", "u", 1], ["<=", ["norm", "t"], 0], ["<=", ["dot", "u", ["+", "u", 1]], 0],
    ["<=", ["norm", ["*", "u", "u"]], 0], ["<=", ["norm", ["/", 1, "u"]], 0], ["<=", ["norm", ["^", "u", 2]], 0],
    ["==", ["*", "t", "u"], 0]])  # fmt: skip
def test_a_vector_is_no_number(claim: list[object]) -> None:
    statement = {"letters": {"t": "real", "u": "vector"}, "hypotheses": [], "claim": claim}
    text = json.dumps({"statement": statement, "counterexample": {"t": 2, "u": 3}})
    assert not check(text).accepted


THIN = {"letters": {"k": "integer", "H": "real", "S": "real", "a": "real", "b": "real"}, "hypotheses": [
    [">=", "k", 2], [">", "H", 0], [">", "S", 0], ["<=", ["*", ["^", "k", 5], ["^", "H", 2], "S"], "1/1000"],
    ["==", ["+", "S", "H"], "a"], ["==", "b", ["*", 2, "a"]]]}  # fmt: skip


@pytest.mark.seeded
def test_points_walk_into_thin_hypotheses_and_find_what_fails_there() -> None:
    rng = np.random.default_rng(SEED)
    points, violation = looked_at({**THIN, "claim": ["<=", ["+", "S", "H"], "b"]}, rng, 10_000, 4_000)
    assert points >= 10_000
    assert violation is None
    _, violation = looked_at({**THIN, "claim": [">=", ["*", "S", "H"], "1/10000"]}, rng, 10_000, 4_000)
    assert violation is not None
    assert abs(violation["b"] - 2 * violation["S"] - 2 * violation["H"]) < 1e-12
