"""Orders with logarithms against their truth on grids: random statements, and those that were once called true."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from audit_orders_truth import Signed, evaluated, statements, truth
from mpmath import mp
from seeds import SEED

from bilevel_verify.audit.orders import rays
from bilevel_verify.audit.orders.derivations import decide_derivation
from bilevel_verify.audit.orders.growth import Growth
from bilevel_verify.audit.orders.monomials import Monomial
from bilevel_verify.audit.orders.vanishing import Logarithms
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Derivation
from bilevel_verify.theorems.reading.reader import read_card

UP, DOWN, ANY = "[1, oo)", "(0, 1]", "(0, oo)"
FALSE = [
    ("abs(log(a))", "O(1)", (DOWN, UP)),
    ("sqrt(abs(log(a)))", "O(1)", (DOWN, UP)),
    ("sqrt(log(a)**2)", "O(1)", (DOWN, UP)),
    ("sqrt(log(a)**2 + 1)", "O(1)", (DOWN, UP)),
    ("abs(log(a)*b)", "O(b)", (DOWN, ANY)),
    ("abs(log(a)) + a", "O(a)", (DOWN, UP)),
    ("abs(min(log(a), 1))", "O(1)", (DOWN, UP)),
    ("min(log(a), 1)**2", "O(1)", (DOWN, UP)),
    ("min(log(a), 1)*log(b)", "O(1)", (DOWN, DOWN)),
    ("log(a)*log(b)", "O(1/b)", (DOWN, DOWN)),
    ("sqrt(log(a)*log(b))", "O(1)", (DOWN, DOWN)),
    ("log(a)**4*log(b)**4", "O(log(a)**10 + log(b)**6)", ("[2, oo)", "[2, oo)")),
    ("b*log(a)", "O(log(a)*b**2)", (ANY, UP)),
    ("b*log(a/3)", "O(log(a/3)*b**2)", (UP, UP)),
    ("log(b)**2", "O((log(a) + log(b))**2)", (ANY, ANY)),
    ("1", "O(abs(log(a) + log(1/a)))", ("[2, oo)", UP)),
    ("1", "O(log(a))", (UP, UP)),
    ("1 + log(a)", "O(log(a))", (UP, UP)),
    ("log(1 + a)", "O(log(a))", (UP, UP)),
    ("max(log(a), 1)", "O(log(a))", (UP, UP)),
    ("sqrt(log(1/a))", "O(log(1/a))", (DOWN, UP)),
    ("a*log(a)", "Omega(a)", (UP, UP)),
    ("log(a)", "Omega(1)", (UP, UP)),
    ("b - log(a/3)", "O(b)", (UP, DOWN)),
]
TRUE = [
    ("sqrt(log(a)**2 + 1)", "O(log(1/a))", ("(0, 1/3]", UP)),
    ("abs(log(a))*a", "O(1)", (DOWN, UP)),
    ("log(a**2*b**3)", "O(log(a) + log(b))", (UP, UP)),
    ("log(a**2/b**3)", "O(log(a) + log(1/b))", (UP, DOWN)),
    ("log(a**2)*b", "O(log(a)*b)", (ANY, ANY)),
    ("log(a)**2*log(b)", "O(log(a)**3 + log(b)**3)", ("[2, oo)", "[2, oo)")),
    ("log(a)**2*b", "O(log(a)**2*b**2)", (DOWN, UP)),
    ("max(log(a), 1)", "O(log(a))", ("[2, oo)", UP)),
    ("a*log(a)", "Omega(a)", ("[2, oo)", UP)),
]


def decided(folder: Path, result: str, gives: str, domains: tuple[str, str], where: str = "") -> Decision:
    path = folder / "orders.toml"
    letters = "\n".join(f'{name} = {{ domain = "{domain}" }}' for name, domain in zip("ab", domains))
    order = f'regime = []\nwhere = {json.dumps([where] if where else [])}\nresult = "{result}"\ngives = "{gives}"'
    path.write_text(f'[paper]\nkey = "orders"\n[letters]\n{letters}\n[[derivation]]\nid = "d"\n{order}\n', "utf8")
    card = read_card(path)
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    return decide_derivation(card, entry)


@pytest.mark.parametrize(("result", "gives", "domains"), FALSE)
def test_false_orders_are_not_proved(tmp_path: Path, result: str, gives: str, domains: tuple[str, str]) -> None:
    assert truth(result, gives, domains) is False
    assert decided(tmp_path, result, gives, domains).outcome in ("undecided", "refuted")


@pytest.mark.parametrize(("result", "gives", "domains"), TRUE)
def test_true_orders_are_proved(tmp_path: Path, result: str, gives: str, domains: tuple[str, str]) -> None:
    assert truth(result, gives, domains) is True
    assert decided(tmp_path, result, gives, domains).outcome == "proved"


@pytest.mark.seeded
def test_random_orders_are_judged_as_the_grids_say(tmp_path: Path) -> None:
    for result, gives, domains, where in statements(Random(SEED), 30):
        true = truth(result, gives, domains, where)
        outcome = decided(tmp_path, result, gives, domains, where).outcome
        assert not (outcome == "proved" and true is False), (result, gives, domains, where)
        assert not (outcome == "refuted" and true is True), (result, gives, domains, where)


def _signs_lost(self: Monomial, exponent: object) -> Monomial:
    kept = Monomial(self.exponents, self.logs, (), self.taken)
    found = POWER(kept, exponent)  # type: ignore[arg-type]
    signs = tuple((clauses, power * exponent) for clauses, power in self.signs)
    return Monomial(found.exponents, found.logs, signs, found.taken)


POWER = Monomial.power
PLANTED = {
    "abs(log(a))": (Growth, "size", lambda self, spans=None: self),
    "sqrt(log(a)*log(b))": (Monomial, "power", _signs_lost),
    "log(a)**4*log(b)**4": (rays, "_one_speed", lambda *_: None),
    "1 + log(a)": (Logarithms, "above", lambda *_: True),
    "b*log(a/3)": (Logarithms, "nonnegative", lambda *_: None),
    "min(log(a), 1)*log(b)": (Growth, "signed", False),
}


@pytest.mark.parametrize("result", PLANTED)
def test_the_grids_object_to_planted_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str) -> None:
    monkeypatch.setattr(*PLANTED[result])
    statement = next(s for s in FALSE if s[0] == result)
    assert decided(tmp_path, *statement).outcome == "proved"
    assert truth(*statement) is False


@pytest.mark.parametrize("text", ["sqrt(log(a)**2 + 1)*b", "abs(log(a/b) - 3)", "min(log(a), 1)**3 + a**(-1/2)"])
def test_the_numbers_of_the_grids_are_those_of_many_digits(text: str) -> None:
    import numpy as np

    called = {"log": mp.log, "sqrt": mp.sqrt, "abs": abs, "min": min}
    with mp.workdps(400):
        for x, y in ((-690.0, 3.0), (690.0, -690.0), (1e-30, 0.5), (-0.25, 600.0)):
            letters = {n: Signed(np.ones(1), np.array([u])) for n, u in (("a", x), ("b", y))}
            found = evaluated(parse(text), letters)
            exact = eval(text.replace("1/2", "mp.mpf(1)/2"), {"mp": mp, "a": mp.exp(x), "b": mp.exp(y), **called})
            assert int(found.sign[0]) == mp.sign(exact)
            assert float(mp.log(abs(exact))) == pytest.approx(float(found.size[0]), rel=1e-9)
