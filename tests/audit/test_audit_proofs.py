"""Engines for sums, integer letters, letters in exponents, logarithms; what once was unsound stays refuted."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.audit.entries.links import link_findings
from bilevel_verify.audit.entries.steps import decide_step
from bilevel_verify.audit.formula import check, read_ranges
from bilevel_verify.audit.orders.growth import compare, growth_of, same_monomial
from bilevel_verify.audit.orders.monomials import NoOrder, Regime
from bilevel_verify.audit.scalar.claim import ScalarClaim, prepared
from bilevel_verify.audit.scalar.prove import DEPTH, QUICK, settle
from bilevel_verify.audit.scalar.shrink import shrink, weight
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.library import load_card

RESTART = "(k+1)**(4+n)*H**2*S**n > L**2"
TRUE = [
    ("sum((1-t)**i, (i, 0, k-1)) <= 1/t", "k = integers 1..; t = (0, 1)", ""),
    ("sum(i**(5/2+nu/2), (i, 1, k-1)) <= k**(7/2+nu/2)/2", "k = integers 1..; nu = [0, 1]", ""),
    ("sum(i**2, (i, 1, k)) == k*(k+1)*(2*k+1)/6", "k = integers 0..", ""),
    ("floor(k/2) >= (k-1)/2", "k = integers 0..", ""),
    ("k**2 - 3*k + 2 >= 0", "k = integers 1..", ""),
    ("2**k >= k**2 - 1", "k = integers 1..", ""),
    ("S > (L**2/(k+1)**(4+n)/H**2)**(1/n)", "k = integers 1..; n = (0, 1]; S = [0, oo)", RESTART),
    ("x - x**2/2 <= log(1+x)", "x = [0, oo)", ""),
    ("log(a*b) <= a + b - 2", "", ""),
    ("exp(x) >= 1 + x + x**2/2", "x = [0, oo)", ""),
    ("a*c + d <= b*c + d", "", "a <= b"),
]  # fmt: skip
FALSE = [
    ("sum(i, (i, 1, k)) == k*(k+1)/2", "k = integers -5..", ""),
    ("b**nu > 0", "b = [0, oo); nu = [0, 1]", ""),
    ("k + 1 == k", "k = [0, oo)", ""),
    ("(1/x if x > 0 else 0) >= 1", "x = [0, 1]", ""),
    ("k <= 3", "k = integers 1..", "k == 2*m; m <= 2"),
    ("S > (L**2/k**(4+n)/H**2)**(1/n)", "k = integers 1..; n = (0, 1]; S = [0, oo)", RESTART),
    ("sum((1-t)**i, (i, 0, k)) <= 1/t - 1", "k = integers 1..; t = (0, 1)", ""),
    ("floor(k/3) >= (k-1)/3", "k = integers 0..", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ranges", "where"), TRUE)
def test_true_statements_are_proved(text: str, ranges: str, where: str) -> None:
    (finding,) = check(text, ranges, where)
    assert finding.verdict == "holds", finding.row.reason


@pytest.mark.parametrize(("text", "ranges", "where"), FALSE)
def test_false_statements_are_refuted(text: str, ranges: str, where: str) -> None:
    (finding,) = check(text, ranges, where)
    assert finding.verdict == "refuted", finding.row.reason
    assert finding.script is not None


NEVER_PROVED = [
    ("1/(x-1) <= 5", "x = [0, 3]", ""),
    ("x >= 1", "nu = [0, 1]", "x**nu >= 1"),
    ("sum(i, (i, 1, k)) <= k*(k+1)/2 - 1", "k = integers 0..", ""),
    ("log(x) <= log(y)", "", "x <= 2*y"),
]


@pytest.mark.parametrize(("text", "ranges", "where"), NEVER_PROVED)
def test_engines_alone_do_not_prove_what_is_false(text: str, ranges: str, where: str) -> None:
    """Without the attack in front of them."""
    node = parse(text)
    assert isinstance(node, tree.Compare)
    conditions = tuple(parse(c) for c in where.split(";") if c)
    domains = read_ranges(ranges, {"x", "y", "k", "nu"})
    claim = prepared(ScalarClaim(node.operands[0], node.operators[0], node.operands[1], domains, conditions))
    assert settle(claim, DEPTH, QUICK).outcome != "proved"


def test_contradictory_hypotheses_claim_nothing() -> None:
    (finding,) = check("a <= b", "", "a + b <= -1")
    assert finding.verdict == "not applicable"
    assert "vacuous" in (finding.row.reason or "")


def test_tightness_is_reported() -> None:
    (finding,) = check("2*a*b <= a**2 + b**2")
    assert finding.row.details["tightness"] == pytest.approx(1.0, abs=1e-3)


def test_counterexamples_are_simple() -> None:
    (finding,) = check("x**3*y <= x**2 + y**4 + 1")
    assert finding.counterexample == {"x": "2", "y": "1"}
    assert weight(Fraction(2)) < weight(Fraction(7, 3)) < weight(Fraction(31415, 10007))
    assert shrink({"a": Fraction(31415, 10007)}, lambda p: p["a"] > 3)["a"] == 4


@pytest.mark.parametrize(("op", "outcome"), [("<=", "proved"), ("<", "refuted")])
def test_strict_steps_fail_where_all_vectors_vanish(op: str, outcome: str) -> None:
    node = parse(f"2*dot(u, v) {op} norm(u)**2 + norm(v)**2")
    assert isinstance(node, tree.Compare)
    claim = ScalarClaim(node.operands[0], op, node.operands[1], read_ranges("", set()))
    assert decide_step(claim, ("u", "v")).outcome == outcome


EPS = Regime(("eps", "kappa"), ({"kappa": Fraction(1)}, {"eps": Fraction(-1)}))


@pytest.mark.parametrize(
    ("left", "right", "ray"),
    [
        ("ceil(eps)", "eps", {"eps": Fraction(-1)}),
        ("kappa**3", "kappa**2", {"kappa": Fraction(1)}),
        ("kappa*log(1/eps)", "kappa", {"eps": Fraction(-1)}),
        ("kappa*log(kappa)", "kappa", {"kappa": Fraction(1)}),
    ],
)
def test_rays_are_short_and_move_the_letter_of_the_logarithm(left: str, right: str, ray: dict[str, Fraction]) -> None:
    found = compare(growth_of(parse(left)), growth_of(parse(right)), EPS)
    assert found is not None
    assert dict(found.direction) == ray


@pytest.mark.parametrize(
    ("left", "right", "fails"),
    [
        ("log(kappa)", "log(1/eps)", True),  # the letters inside count, not the number of logarithms
        ("log(1/eps)", "log(kappa/eps)", False),
        ("log(kappa)", "log(kappa/eps)", False),
        ("log(kappa) + log(1/eps)", "log(1/eps)", True),
        ("log(kappa/eps)", "log(kappa) + log(1/eps)", False),
        ("log(kappa**2)", "log(1/kappa)", False),
        ("log(kappa)*log(1/eps)", "log(kappa/eps)**2", False),
        ("log(kappa/eps)**2", "log(kappa)*log(1/eps)", True),
        ("kappa*log(1/eps)", "kappa*log(1 + 1/eps)", False),
        ("log(1/eps)", "log(1 + eps)", True),  # which stays bounded
        ("log(1 + kappa*eps)", "1", True),
        ("log(max(kappa, 1/eps))", "log(kappa) + log(1/eps)", False),
        ("log(1/eps)", "log(min(kappa, 1/eps))", True),
    ],
)
def test_logarithms_of_different_letters_are_different(left: str, right: str, fails: bool) -> None:
    one, two = growth_of(parse(left)), growth_of(parse(right))
    assert not (fails and same_monomial(one, two))
    assert (compare(one, two, EPS) is not None) is fails


@pytest.mark.parametrize(
    ("left", "right"), [("log(1 - eps)", "1"), ("softO(kappa)", "kappa"), ("log(1/eps)", "log(2 - eps)")]
)
def test_logarithms_of_unknown_size_decide_nothing(left: str, right: str) -> None:
    with pytest.raises(NoOrder, match="size is not known"):
        compare(growth_of(parse(left)), growth_of(parse(right)), EPS)


def test_letters_in_exponents_are_decided_for_the_whole_range() -> None:
    letters = {"nu": (Fraction(0), Fraction(1))}
    regime = Regime(("eps",), ({"eps": Fraction(-1)},), {"nu": (Fraction(0), Fraction(1))})
    one, two = growth_of(parse("eps**(-2/(1+nu))"), letters), growth_of(parse("eps**(-2)"), letters)
    assert compare(one, two, regime) is None
    assert compare(two, one, regime) is not None


def test_a_rounding_down_may_be_zero() -> None:
    with pytest.raises(NoOrder):
        growth_of(parse("floor(eps)"))


CARD = """
[paper]
key = "orders"
standing = "Section 1"
title = "Orders and steps"
[letters]
kappa = { domain = "[1, oo)" }
eps = { domain = "(0, 1]" }
a = { domain = "(0, oo)" }
b = { domain = "[1/2, oo)" }
[regime]
default = ["kappa >= 1", "eps <= 1"]
default_from = "Section 2"
[[derivation]]
id = "too-small"
substitute = { K = "Theta(kappa/eps)" }
result = "K*log(1/eps)"
gives = "O(kappa/eps)"
for = { K = "(0, oo)" }
for_from = "Theorem 1"
[[derivation]]
id = "other-letter"
result = "log(kappa)"
gives = "O(log(1/eps))"
[[derivation]]
id = "range-of-a-letter"
result = "1"
gives = "O(b)"
regime = ["kappa >= 1"]
regime_from = "Theorem 1"
[[derivation]]
id = "beyond-the-range"
result = "b"
gives = "O(1)"
regime = ["kappa >= 1"]
regime_from = "Theorem 1"
[[step]]
id = "young"
vectors = ["u", "v"]
chain = ["3*dot(u, v)", "<= a*norm(u)**2 + norm(v)**2/a"]
"""


@pytest.mark.parametrize("name", ["too-small", "other-letter", "young"])
def test_scripts_of_derivations_and_steps_stand_by_themselves(name: str, tmp_path: Path) -> None:
    path = tmp_path / "orders.toml"
    path.write_text(CARD, encoding="utf-8")
    card = load_card(path)
    finding = next(iter(link_findings(card, card.entries[name], 5.0, 0)))
    assert finding.verdict == "refuted"
    assert finding.script is not None
    assert "bilevel_verify" not in finding.script
    script = tmp_path / "script.py"
    script.write_text(finding.script, encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "verdict"), [("other-letter", "refuted"), ("range-of-a-letter", "holds"), ("beyond-the-range", "refuted")]
)
def test_orders_keep_to_the_ranges_of_their_letters(name: str, verdict: str, tmp_path: Path) -> None:
    path = tmp_path / "orders.toml"
    path.write_text(CARD, encoding="utf-8")
    card = load_card(path)
    assert next(iter(link_findings(card, card.entries[name], 5.0, 0))).verdict == verdict
