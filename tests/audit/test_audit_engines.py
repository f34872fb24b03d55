"""Engines of the audit on statements whose truth is known; planted errors must be refuted, true ones never."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.audit.entries.steps import decide_step
from bilevel_verify.audit.formula import check
from bilevel_verify.audit.orders.growth import compare, growth_of, same_monomial
from bilevel_verify.audit.orders.monomials import NoOrder, Regime
from bilevel_verify.errors import InputError
from bilevel_verify.language import parse
from bilevel_verify.theorems.units.units import UnitCheck, read_unit

ETA = "L = (0, oo); rho = (0, oo); eps = (0, oo)"
AGD = "eta == 1/(4*L); B == sqrt(eps/rho); theta == 4*(eps*rho*eta**2)**(1/4); K == 1/theta"

TRUE = [
    ("1/32 - 1/64 - 1/(2*64**2) >= 1/100", "", ""),
    ("4*(1+k**2) <= (1+2*k)**2", "k = [3/4, oo)", ""),
    ("-M/12*s**3 + eps*s/192 + sqrt(M*eps)/96*s**2 + (r - M)/6*s**3 <= -M/24*s**3", "r = [0, oo)",
     "s >= sqrt(eps/M)/2; r <= M"),
    ("r/2*s**2*q <= M/24*s**3 + 32*r**3/(3*M**2)*q**3", "s = [0, oo); q = [0, oo); r = [0, oo)", "r <= M"),
    ("2*sqrt(2)*B/(eta*K**2) + 2*theta*B/(eta*K) + 4*rho*B**2 <= 82*eps", ETA, AGD + "; theta < 1"),
    ("k**3/12 <= sum(((i+1)/2)**2, (i, 1, k-1)) <= k**3/6", "k = integers 2..", ""),
    ("(a + b)**2 == a**2 + 2*a*b + b**2", "", ""),
    ("1/(1 + a) <= 1", "a = [0, oo)", ""),
    ("b**nu <= 1 + nu*(b - 1)", "nu = [0, 1]", ""),
    ("log(1 + t) <= t", "t = [0, oo)", ""),
    ("max(a, b) <= a + b", "", ""),
]  # fmt: skip
FALSE = [
    ("4*(1+k**2) <= (1+2*k)**2", "k = [1/2, oo)", ""),
    ("2*sqrt(2)*B/(eta*K**2) + 2*theta*B/(eta*K) + 4*rho*B**2 <= 81*eps", ETA, AGD + "; theta < 1"),
    ("k**3/12 <= sum(((i+1)/2)**2, (i, 1, k-1)) <= k**3/11", "k = integers 2..", ""),
    ("(a + b)**2 == a**2 + a*b + b**2", "", ""),
    ("1/(1 + a) < 1", "a = [0, oo)", ""),
    ("b**nu <= nu*(b - 1)", "nu = [0, 1]", ""),
    ("log(1 + t) <= t/2", "t = [0, oo)", ""),
    ("max(a, b) <= min(a, b)", "", ""),
    ("k/2 <= floor(k/2)", "k = integers 1..", ""),
]


@pytest.mark.parametrize(("text", "ranges", "where"), TRUE)
def test_true_statements_are_proved(text: str, ranges: str, where: str) -> None:
    for finding in check(text, ranges, where):
        assert finding.verdict == "holds", finding.row.reason
        assert finding.row.certainty == "proved"
        assert finding.script is None


@pytest.mark.parametrize(("text", "ranges", "where"), FALSE)
def test_false_statements_are_refuted_and_the_script_agrees(text: str, ranges: str, where: str, tmp_path: Path) -> None:
    refuted = [f for f in check(text, ranges, where) if f.verdict == "refuted"]
    assert refuted
    script = tmp_path / "counterexample.py"
    assert refuted[0].script is not None
    assert "bilevel_verify" not in refuted[0].script
    script.write_text(refuted[0].script, encoding="utf8")
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "ranges", "said"),
    [
        ("a + b", "", "relation"),
        ("a <= gama(b)", "", "unknown function"),
        ("a <= b", "k of 3", "--for"),
        ("a <= b", "a = [0; 1", "--for"),
    ],
)
def test_bad_formulas(text: str, ranges: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(text, ranges)


KAPPA_EPS = Regime(("eps", "kappa"), ({"kappa": Fraction(1)}, {"eps": Fraction(-1)}))


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        ("kappa**2/eps", "kappa**3/eps", True),
        ("kappa**3/eps", "kappa**2/eps", False),
        ("kappa**2 + 1/eps", "max(kappa**2, eps**(-1))", True),
        ("kappa/(1 + kappa)", "1", True),
        ("log(1/eps)/eps", "softO(1/eps)", True),
        ("log(1/eps)/eps", "O(1/eps)", False),
        ("sqrt(kappa)*min(kappa, 1/eps)", "kappa**(3/2)", True),
        ("kappa**3", "min(kappa**3, 1/eps)", False),
    ],
)
def test_order_algebra(left: str, right: str, holds: bool) -> None:
    one, other = growth_of(parse(left)), growth_of(parse(right))
    if right.startswith("softO"):  # as derivations do: it hides every power of logarithms
        one, other = one.without_logs(), other.without_logs()
    assert (compare(one, other, KAPPA_EPS) is None) == holds


def test_letters_in_exponents_compare_symbolically() -> None:
    letters = {"nu": (Fraction(0), Fraction(1))}
    one = growth_of(parse("eps**(-(4+3*nu)/(2+2*nu))"), letters)
    two = growth_of(parse("eps**(-1 - (2+nu)/(2+2*nu))"), letters)
    three = growth_of(parse("eps**(-(4+2*nu)/(2+2*nu))"), letters)
    assert same_monomial(one, two) is True
    assert same_monomial(one, three) is False


def test_differences_have_no_order() -> None:
    with pytest.raises(NoOrder):
        growth_of(parse("kappa - 1"))


@pytest.mark.parametrize(
    ("text", "ranges", "outcome"),
    [
        ("norm((1-t)*u + t*v)**2 <= (1-t)*norm(u)**2 + t*norm(v)**2", "t = [0, 1]", "proved"),
        ("norm((1-t)*u + t*v)**2 <= (1-t)*norm(u)**2 + t*norm(v)**2", "t = [0, 2]", "refuted"),
        ("norm(u - v)**2 == norm(u)**2 - 2*dot(u, v) + norm(v)**2", "", "proved"),
        ("norm(u - v)**2 == norm(u)**2 - dot(u, v) + norm(v)**2", "", "refuted"),
        ("2*dot(u, v) <= a*norm(u)**2 + norm(v)**2/a", "a = (0, oo)", "proved"),
        ("3*dot(u, v) <= a*norm(u)**2 + norm(v)**2/a", "a = (0, oo)", "refuted"),
        ("norm(u) <= norm(v)", "", "refuted"),
        ("norm(u + v) <= norm(u) + norm(v)", "", "undecided"),
        ("norm(u)**2*norm(v)**2 <= dot(u, v)**2", "", "refuted"),
    ],
)
def test_step_algebra(text: str, ranges: str, outcome: str) -> None:
    from bilevel_verify.audit.formula import read_ranges
    from bilevel_verify.audit.scalar.claim import ScalarClaim

    node = parse(text)
    claim = ScalarClaim(node.operands[0], node.operators[0], node.operands[1], read_ranges(ranges, set()))  # type: ignore[attr-defined]
    assert decide_step(claim, ("u", "v")).outcome == outcome


BASES = frozenset("FGX")
UNITS = {"L": "F/X**2", "rho": "F/X**3", "eps": "F/X", "Delta": "F", "H": "F/X**(2+nu)", "lam": "F/G"}


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        ("Delta*L**(1/2)*rho**(1/4)/eps**(7/4)", "1", []),
        ("Delta*L**(1/2)*rho**(1/2)/eps**(7/4)", "1", ["hard"]),
        ("Delta*sqrt(L)*H**(1/(2+2*nu))*(1/eps)**((4+3*nu)/(2+2*nu))", "1", []),
        ("Delta*sqrt(L)*H**(-1/(2+2*nu))*(1/eps)**((4+3*nu)/(2+2*nu))", "1", ["hard"]),
        ("floor(L)", "1", ["hard"]),
        ("log(eps)", "1", ["hard"]),
        ("lam*kappa", "1", []),
        ("lam", "1", ["hard"]),
        ("L*0", "0", []),
    ],
)
def test_units(left: str, right: str, kinds: list[str]) -> None:
    letters = {n: read_unit(parse(u), BASES) for n, u in UNITS.items()}
    table = UnitCheck(letters, {}, {"kappa": (read_unit(parse("F/G"), BASES),)})
    assert [m.kind for m in table.relation(parse(left), parse(right))] == kinds
