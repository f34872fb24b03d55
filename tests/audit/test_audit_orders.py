"""Orders: one-sided bounds, letters that a paper hides, and families that satisfy every hypothesis."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.audit.auditor import findings_of
from bilevel_verify.audit.orders.derivations import decide_derivation, grows
from bilevel_verify.audit.orders.growth import compare, growth_of
from bilevel_verify.audit.orders.monomials import Bound, NoOrder, Ray, Regime
from bilevel_verify.audit.orders.regimes import regime_of, satisfied
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.errors import CardError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Derivation
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.reading.reader import read_card

PAPERS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")
HEAD = """
[paper]
key = "orders"
[letters]
kappa = { domain = "[1, oo)" }
eps = { domain = "(0, 1]" }
ell = { domain = "(0, 1]" }
Delta = { domain = "(0, oo)" }
L = { domain = "(0, oo)" }
M = { domain = "(0, oo)" }
nu = { domain = "(0, 1]" }
n = { domain = "integers 1.." }
"""


def card_of(folder: Path, derivation: str, head: str = "") -> Card:
    path = folder / "orders.toml"
    path.write_text(f'{HEAD}{head}\n[[derivation]]\nid = "d"\nregime = []\n{derivation}', encoding="utf8")
    return read_card(path)


def decided(folder: Path, derivation: str, head: str = "") -> Decision:
    card = card_of(folder, derivation, head)
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    return decide_derivation(card, entry)


def order(result: str, gives: str, more: str = "") -> str:
    return f'result = "{result}"\ngives = "{gives}"\n{more}'


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize(
    ("result", "gives", "outcome"),
    [
        ("log(6*ell)", "O(1)", "proved"),  # ell <= 1: it falls to minus infinity
        ("log(1/ell)", "O(1)", "refuted"),
        ("log(ell)**2", "O(1)", "refuted"),  # an even power does not fall
        ("log(ell)*log(ell)", "O(1)", "refuted"),
        ("log(ell)*log(eps)", "O(1)", "refuted"),  # two negative factors
        ("log(ell)*log(kappa)", "O(1)", "undecided"),  # with ell fixed its sign depends on ell alone
        ("kappa**2*log(ell)", "softO(kappa)", "undecided"),  # with ell fixed its sign depends on ell alone
        ("log(ell) + log(kappa)", "O(1)", "refuted"),
        ("log(ell) + kappa", "O(kappa)", "proved"),
        ("1/log(ell)", "O(1)", "undecided"),  # negative where it is defined, but near 0 nobody looks at its sign
        ("log(6*ell)", "Omega(log(1/ell))", "undecided"),  # negative: not above anything positive
        ("log(6*ell)", "Theta(log(1/ell))", "undecided"),
        ("log(1/ell)", "Theta(log(1/ell))", "proved"),
        ("kappa", "O(kappa*log(ell))", "undecided"),  # a bound that is negative
        ("kappa - log(ell)", "O(kappa)", "undecided"),  # what is taken away is negative, so the whole is large
        ("kappa**2 - kappa", "O(kappa**2)", "proved"),
        ("kappa**2 - kappa", "O(kappa)", "refuted"),
        ("kappa**2 - kappa**2", "O(kappa)", "undecided"),
        ("kappa - kappa**2", "O(1)", "undecided"),
    ],
)
def test_bounds_from_above_are_one_sided(tmp_path: Path, result: str, gives: str, outcome: str) -> None:
    assert decided(tmp_path, order(result, gives)).outcome == outcome


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize(
    ("result", "gives", "outcome"),
    [
        ("1/log(1 + ell)", "O(1)", "undecided"),  # ell may fall to 0
        ("1", "O(log(1 + ell))", "undecided"),
        ("1", "softO(log(1 + ell))", "undecided"),
        ("1", "Theta(log(1 + ell))", "undecided"),
        ("log(1 + ell)", "Omega(1)", "undecided"),
        ("log(2 + ell)", "O(log(1 + ell))", "undecided"),
        ("1/log(1 + 1/kappa)", "O(1)", "undecided"),
        ("kappa/log(kappa)", "O(kappa)", "undecided"),  # kappa may be 1
        ("1", "O(log(1))", "undecided"),
        ("1", "O(log(kappa/kappa))", "undecided"),
        ("1", "O(log(kappa**nu))", "undecided"),
        ("1", "O(log(1 + nu))", "undecided"),
        ("1", "O(log(1 + L))", "undecided"),  # it grows with L, and vanishes with it
        ("1", "O(kappa*log(kappa - eps))", "undecided"),  # of unknown size
        ("1", "O(log(1/eps) + log(1 + ell))", "undecided"),  # eps may be 1
        ("1/log(2 + ell)", "O(1)", "proved"),
        ("1", "O(log(1 + kappa))", "proved"),
        ("1/log(2)", "O(log(3))", "proved"),
        ("log(1 + ell)", "O(log(2 + ell))", "proved"),
        ("1", "O(1 + log(1 + ell))", "proved"),
        ("1/log(1 + ell)", "O(kappa/log(1 + ell))", "proved"),
        ("log(1/eps)/log(2/eps)", "O(1)", "proved"),
    ],
)
def test_a_logarithm_that_may_come_near_0_supports_nothing(
    tmp_path: Path, result: str, gives: str, outcome: str
) -> None:
    assert decided(tmp_path, order(result, gives)).outcome == outcome


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize(
    ("result", "gives", "hypothesis"),
    [
        ("n", "O(n*log(n))", "n >= 3"),
        ("1/eps", "O(log(1/eps)/eps)", "1/eps >= 3"),
        ("1", "O(log(kappa/eps))", "kappa/eps >= 3"),
        ("sqrt(log(1/eps))", "O(log(1/eps**2))", "1/eps >= 3"),
        ("kappa*log(kappa)", "Omega(kappa)", "kappa >= 3"),
        ("kappa", "O(kappa*log(kappa/2))", "kappa/2 >= 3"),
    ],
)
def test_a_logarithm_of_what_grows_is_at_least_1_by_a_hypothesis_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, gives: str, hypothesis: str
) -> None:
    """False where it is 0: as printed it is not judged to hold, and the row with the hypothesis is marked."""
    monkeypatch.setattr(f"{__name__}.HEAD", HEAD.replace("[letters]", 'standing = "Section 1"\n[letters]'))
    card = card_of(tmp_path, order(result, gives))
    printed, added = [f.row for f in findings_of(card, card.entries["d"]) if f.row.kind == "derivation"]
    assert (printed.verdict, printed.marks) == ("undecided", ())
    assert added.verdict == "holds"
    assert [str(m) for m in added.marks] == [f"added: {hypothesis}"]
    where = f'where = [{{ is = "{hypothesis}", from = "Theorem 1" }}]'
    card = card_of(tmp_path, order(result, gives, where))
    rows = [f.row for f in findings_of(card, card.entries["d"]) if f.row.kind == "derivation"]
    assert [(row.verdict, row.marks) for row in rows] == [("holds", ())]


@pytest.mark.fast
def test_a_letter_that_stays_below_a_number_has_no_large_logarithm(tmp_path: Path) -> None:
    for domain, outcome in (("(1, 2]", "undecided"), ("[17/16, 2]", "proved")):
        assert decided(tmp_path, order("1", "O(log(s))"), f's = {{ domain = "{domain}" }}').outcome == outcome


@pytest.mark.fast
@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ("", "refuted"),
        ('where = ["kappa*Delta <= 1"]', "proved"),  # the hypotheses of the entry count
        ('where = ["2*kappa*Delta + eps <= 3"]', "proved"),
        ('where = ["max(kappa, M)*Delta <= 1"]', "proved"),
        ('where = ["min(Delta, M) <= 1"]', "undecided"),  # not a row, and not seen to hold along the family
        ('where = ["min(Delta, M) <= Delta/2"]', "refuted"),  # the large side grows faster
        ('where = ["kappa**2 + 1 >= kappa"]', "refuted"),  # seen where the family sets out: kappa stays
        ('where = ["kappa**2 + 1 <= kappa"]', "undecided"),
    ],
)
def test_a_family_satisfies_every_hypothesis(tmp_path: Path, more: str, outcome: str) -> None:
    assert decided(tmp_path, order("kappa*Delta", "O(1)", more)).outcome == outcome


@pytest.mark.fast
def test_hypotheses_of_settings_and_premises_count(tmp_path: Path) -> None:
    head = """
[settings.small]
where = ["kappa <= 3"]
[settings.small.parameters]
[[theorem]]
id = "t"
settings = ["small"]
  [[theorem.claim]]
  id = "c"
  over = "parameters"
  where = ["Delta <= 7"]
  left = "kappa"
  right = "3"
"""
    assert decided(tmp_path, order("kappa", "O(1)"), head).outcome == "refuted"
    assert decided(tmp_path, order("kappa", "O(1)", 'settings = ["small"]'), head).outcome == "proved"
    assert decided(tmp_path, order("kappa", "O(1)", 'premise = ["t"]'), head).outcome == "proved"
    assert decided(tmp_path, order("Delta", "O(1)", 'premise = ["t"]'), head).outcome == "refuted"
    assert decided(tmp_path, order("Delta", "O(1)", 'premise = ["t/c"]'), head).outcome == "proved"


@pytest.mark.fast
def test_equalities_bind_from_both_sides(tmp_path: Path) -> None:
    assert decided(tmp_path, order("1/M", "O(1)", 'where = ["M == 1"]')).outcome == "proved"
    assert decided(tmp_path, order("M", "O(1)", 'where = ["M == 1"]')).outcome == "proved"


@pytest.mark.fast
def test_ranges_of_substituted_letters_count(tmp_path: Path) -> None:
    """eps <= 1 binds L and M through eps = L/M."""
    assert decided(tmp_path, order("1/L", "O(1/M)", 'substitute = { eps = "L/M" }')).outcome == "refuted"
    assert decided(tmp_path, order("1/M", "O(1/L)", 'substitute = { eps = "L/M" }')).outcome == "proved"
    text = order("eps*kappa", "O(kappa)", 'substitute = { eps = "L/M" }')
    assert decided(tmp_path, text).outcome == "proved"


@pytest.mark.fast
def test_exponents_take_values_that_their_range_admits(tmp_path: Path) -> None:
    decision = decided(tmp_path, order("Delta**(1 - nu)*eps**nu", "O(1)"))
    assert decision.outcome == "refuted"
    assert decision.ray is not None
    assert 0 < decision.ray.at["nu"] <= 1  # nu = 0 is outside
    assert decided(tmp_path, order("Delta**(1 - nu)", "O(1)", 'where = ["nu == 1"]')).outcome == "undecided"


@pytest.mark.fast
def test_the_family_starts_where_the_hypotheses_hold(tmp_path: Path) -> None:
    decision = decided(tmp_path, order("kappa*Delta", "O(kappa)", 'where = ["M >= 5", "Delta >= 3*M", "L < M/4"]'))
    assert decision.ray is not None
    family = {name: decision.ray.start.get(name, 0) for name in ("M", "Delta", "L")}
    assert 2 ** family["M"] >= 5
    assert 2 ** family["Delta"] >= 3 * 2 ** family["M"]
    assert 4 * 2 ** family["L"] < 2 ** family["M"]
    assert set(decision.ray.family()) >= {"M", "Delta", "L", "kappa"}


@pytest.mark.fast
def test_contradictory_hypotheses_refute_nothing(tmp_path: Path) -> None:
    text = order("kappa*Delta", "O(kappa)", 'where = ["M >= 5", "M <= 2"]')
    assert decided(tmp_path, text).outcome == "undecided"


HIDES = '[hides]\nletters = ["Delta", "M"]\nsource = "Notation"\n'


@pytest.mark.fast
@pytest.mark.parametrize(
    ("result", "gives", "outcome"),
    [
        ("kappa*Delta", "O(kappa)", "proved"),
        ("kappa*Delta", "O(1)", "refuted"),
        ("kappa*Delta**2", "O(kappa*Delta)", "refuted"),  # named in the bound, so it moves
        ("kappa*L", "O(kappa)", "refuted"),
        ("Delta*kappa", "Omega(kappa)", "proved"),
    ],
)
def test_letters_that_the_paper_hides_stay_fixed(tmp_path: Path, result: str, gives: str, outcome: str) -> None:
    decision = decided(tmp_path, order(result, gives), HIDES)
    assert decision.outcome == outcome
    if outcome == "proved":
        assert "with Delta fixed" in decision.certificate


def test_the_finding_names_premise_fixed_letters_and_family(tmp_path: Path) -> None:
    theorem = '[[theorem]]\nid = "t"\nwhere = ["kappa >= 2"]\nnothing_to_decide = "x"\n'
    card = card_of(tmp_path, order("kappa**2*Delta", "O(kappa)", 'premise = ["t"]'), HIDES + theorem)
    *_, finding = [f for f in findings_of(card, card.entries["d"]) if f.row.kind == "derivation"]
    assert finding.verdict == "refuted"
    assert finding.row.details["premise"] == ["t"]
    assert finding.row.details["fixed"] == ["Delta"]
    assert finding.counterexample is not None
    assert finding.counterexample["Delta"] == "1"
    assert finding.counterexample["kappa"].endswith("t")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("head", "more", "said"),
    [
        ('[hides]\nletters = ["Delto"]\nsource = "x"', "", "Delta"),
        ('[hides]\nletters = ["Delta"]', "", "source"),
        ('[hides]\nletter = ["Delta"]\nsource = "x"', "", "letters"),
        ("", 'premise = ["nowhere"]', "nowhere"),
        ("", 'premise = ["d/claim"]', "claim"),
    ],
)
def test_errors_of_the_declarations_name_the_fix(tmp_path: Path, head: str, more: str, said: str) -> None:
    with pytest.raises(CardError, match=said):
        card_of(tmp_path, order("kappa", "O(kappa)", more), head)


def _derivations() -> Iterator[tuple[Card, Derivation]]:
    for paper in PAPERS:
        card = load_card(paper)
        yield from ((card, entry) for entry in card.entries.values() if isinstance(entry, Derivation))


def test_papers_say_once_what_their_orders_hide() -> None:
    """No sentence has a way of its own to fix a letter, and refuted orders name their premise or are about a lemma."""
    for card, entry in _derivations():
        assert card.hides is not None
        assert card.hides.source
        texts = {condition.text.replace(" ", "") for condition in entry.regime}
        assert not [t for t in texts if t.endswith("==1")], entry.id
        assert not [t for t in texts if t.endswith("<=1") and t.replace("<=", ">=") in texts], entry.id
        assert "fixed" not in entry.note, entry.id


@pytest.mark.fast
def test_removable_logarithms_are_removed_from_the_premise() -> None:
    """The paper's own remark takes the logarithms out of its rates: its orders are judged against that."""
    card = load_card("agm-bio")
    for entry in card.entries.values():
        if isinstance(entry, Derivation):
            assert entry.refuted is None
            assert decide_derivation(card, entry).outcome == "proved"


@pytest.mark.fast
@pytest.mark.parametrize(
    "name",
    [
        "theorem-e-5-products",
        "theorem-e-5-products-log",
        "theorem-e-5-final-solver",
        "lemma-e-4-chebyshev-order-of-kappa",
    ],
)
def test_families_of_appendix_e_stay_in_its_regime(name: str) -> None:
    """eps <= L**2/M at the start and for every t."""
    card = load_card("fsba")
    entry = card.entries[name]
    assert isinstance(entry, Derivation)
    ray = decide_derivation(card, entry).ray
    if ray is None:
        assert name == "theorem-e-5-products"
        return
    powers = {"ellbar": (1, 1), "kappa": (1, 1), "eps": (-1, -1)}  # L**2/(M*eps) = ellbar*kappa/eps
    assert sum(e * ray.direction.get(n, 0) for n, (e, _) in powers.items()) >= 0
    assert sum(e * ray.start.get(n, 0) for n, (_, e) in powers.items()) >= 0


@pytest.mark.fast
def test_numbers_confirm_a_ray() -> None:
    up = Ray({"x": Fraction(1)}, Fraction(1), letters=("x",))
    assert grows(parse("x**2"), parse("x"), up)
    assert not grows(parse("x"), parse("x"), up)
    assert not grows(parse("x"), parse("x**2"), up)
    assert not grows(parse("-x**2"), parse("x"), up)  # a negative left side is below
    assert not grows(parse("x**2"), parse("-x"), up)
    logs = Ray({"x": Fraction(1)}, Fraction(0), Fraction(1), letters=("x",))
    assert grows(parse("x*log(x)"), parse("x"), logs)
    assert not grows(parse("x*log(x)"), parse("x*log(x)"), logs)
    assert not grows(parse("log(1/x)"), parse("1"), logs)
    assert not grows(parse("log(y)"), parse("1"), logs)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("x**2 >= x", True),
        ("x >= x**2", False),
        ("x >= 2*x", False),  # a tie in the powers says nothing of the factors
        ("x < x**2 + 1", True),
        ("x == x", False),
        ("x - y >= 0", False),
        ("x >= 0", True),
        ("log(x) >= 1", False),
        ("x > 1/x and x > 0", False),  # only single relations
    ],
)
def test_conditions_along_a_family(condition: str, holds: bool) -> None:
    assert satisfied(parse(condition), Ray({"x": Fraction(1)}, Fraction(1))) is holds


@pytest.mark.fast
def test_conditions_on_letters_that_stay_are_seen_at_the_start() -> None:
    ray = Ray({"x": Fraction(1)}, Fraction(1), at={"nu": Fraction(1, 2)}, start={"y": 3})
    assert satisfied(parse("y**2 + 1 == 65"), ray)
    assert satisfied(parse("y + nu - z > 7"), ray)  # z = 1
    assert not satisfied(parse("y + nu - z > 15/2"), ray)
    assert not satisfied(parse("y - x > -10"), ray)


@pytest.mark.fast
def test_rows_of_a_regime(tmp_path: Path) -> None:
    card = card_of(tmp_path, order("kappa*M*n", "O(kappa)", 'where = ["3*M <= kappa/5", "L > 0", "n < 4*M*kappa"]'))
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    regime = regime_of(card, entry, (entry.result.tree, entry.gives.tree), frozenset())
    assert Bound({"kappa": Fraction(1), "M": Fraction(-1)}, Fraction(-5)) in regime.bounds  # 15 <= 2**5, each rounded
    assert Bound({"M": Fraction(1), "kappa": Fraction(1), "n": Fraction(-1)}, Fraction(2), True) in regime.bounds
    assert Bound({"kappa": Fraction(1)}) in regime.bounds
    assert Bound({"n": Fraction(1)}) in regime.bounds
    assert regime.unread == ()


@pytest.mark.fast
def test_a_sign_is_not_forgotten_among_equal_sizes() -> None:
    regime = Regime(("x",), ({"x": Fraction(-1)},))
    falls, rises, one = growth_of(parse("log(x)")), growth_of(parse("log(1/x)")), growth_of(parse("1"))
    assert compare(falls, one, regime) is not None
    assert compare(falls, one, regime, signed=True) is None
    assert compare(rises, one, regime, signed=True) is not None
    assert compare(falls.largest(rises), one, regime, signed=True) is not None
    assert compare(growth_of(parse("sqrt(log(x))")), one, regime, signed=True) is None  # not defined there
    assert compare(growth_of(parse("log(x)**2")), one, regime, signed=True) is not None
    assert compare(falls.times(rises), one, regime, signed=True) is None
    assert compare(falls.without_logs().times(growth_of(parse("1/x"))), one, regime, signed=True) is None


@pytest.mark.fast
def test_no_starting_point_no_ray() -> None:
    regime = Regime(("x",), (), bounds=(Bound({}, Fraction(-1)),))
    with pytest.raises(NoOrder, match="starting point"):
        compare(growth_of(parse("x")), growth_of(parse("1")), regime)
