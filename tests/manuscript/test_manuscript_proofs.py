"""Lines of proofs: every ingredient of a derivation against numbers at random points, and what must not be derived."""

from __future__ import annotations

import random
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.errors import InputError
from bilevel_verify.language import parse, tree
from bilevel_verify.manuscript import load_print
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.formulas import read_print
from bilevel_verify.manuscript.judging import judge
from bilevel_verify.manuscript.proofs import deriving
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, NONNEGATIVE, POSITIVE, Unreadable
from bilevel_verify.manuscript.proofs.deriving import _Places, derive
from bilevel_verify.manuscript.proofs.facts import Fact, atoms_of, facts_about
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.lines import grounded
from bilevel_verify.manuscript.proofs.said import tidy
from bilevel_verify.manuscript.relations import Printed, relations_of
from tests.seeds import SEED

VECTORS, MATRICES = "uvw", "AB"


def kind(node: tree.Node) -> str:
    """Kinds for the tests: u, v, w are vectors, A and B matrices."""
    match node:
        case tree.Letter(name=name):
            return "vector" if name in VECTORS else "matrix" if name in MATRICES else "scalar"
        case tree.MatrixMultiply(left=left, right=right):
            row = isinstance(left, tree.Call) and left.function == "T" and kind(left.arguments[0]) == "vector"
            return "scalar" if row and kind(right) == "vector" else kind(right)
        case tree.Call(function="inv" | "T", arguments=(inner,)):
            return "matrix" if kind(inner) == "matrix" else "covector"
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            return next((k for k in map(kind, parts) if k != "scalar"), "scalar")
        case tree.Negate(operand=inner) | tree.Divide(numerator=inner):
            return kind(inner)
    return "scalar"


class At:
    """Numbers for letters, and the values of atoms and polynomials there."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.arrays = {n: rng.normal(size=3) for n in VECTORS}
        self.arrays |= {n: rng.normal(size=(3, 3)) + 3 * np.eye(3) for n in MATRICES}
        self.numbers = {n: float(rng.uniform(0.2, 2)) for n in "abcst"}

    def symbol(self, name: str) -> np.ndarray:
        if name.endswith("^T"):
            return self.symbol(name[:-2]).T
        return np.linalg.inv(self.symbol(name[4:-1])) if name.startswith("inv(") else self.arrays[name]

    def word(self, word: tuple[str, ...]) -> np.ndarray:
        found = np.eye(3)
        for name in word:
            found = found @ self.symbol(name)
        return found

    def atom(self, name: str, forms: Forms) -> float:
        if name.startswith("#"):
            return float(name[1:])
        if name in forms.sizes:
            return float(np.linalg.norm(sum(self.of(c, forms) * self.word(w) for w, c in forms.sizes[name].items()), 2))
        if name in forms.products:
            left, right = forms.products[name]
            return float(self.word(left) @ self.word(right))
        if name in forms.parts:
            what, held = forms.parts[name]
            values = [self.of(h, forms) for h in held]
            return {"sum": values[0], "abs": abs(values[0]), "max": max(values), "min": min(values)}[what]
        return self.numbers[name]

    def of(self, one: p.Polynomial, forms: Forms) -> float:
        total = 0.0
        for monomial, value in one.items():
            term = float(value)
            for name, exponent in monomial:
                term *= self.atom(name, forms) ** float(exponent)
            total += term
        return total

    def tree(self, node: tree.Node) -> np.ndarray | float:
        match node:
            case tree.Number(value=value):
                return float(value)
            case tree.Letter(name=name):
                return self.arrays[name] if name in self.arrays else self.numbers[name]
            case tree.Add(terms=terms):
                return sum(self.tree(t) for t in terms[1:]) + self.tree(terms[0])
            case tree.Negate(operand=inner):
                return -self.tree(inner)
            case tree.Multiply(factors=factors):
                return np.prod(np.array([self.tree(f) for f in factors if kind(f) == "scalar"])) * (
                    next((self.tree(f) for f in factors if kind(f) != "scalar"), 1.0)
                )
            case tree.Divide(numerator=top, denominator=bottom):
                return self.tree(top) / self.tree(bottom)
            case tree.Power(base=base, exponent=exponent):
                return self.tree(base) ** self.tree(exponent)
            case tree.MatrixMultiply(left=left, right=right):
                return self.tree(left) @ self.tree(right)
            case tree.Call(function=name, arguments=arguments):
                held = [self.tree(a) for a in arguments]
                known = {
                    "norm": lambda: float(np.linalg.norm(held[0], 2)),
                    "dot": lambda: float(np.dot(*held)),
                    "inv": lambda: np.linalg.inv(held[0]),
                    "T": lambda: np.transpose(held[0]),
                    "abs": lambda: abs(held[0]),
                    "sqrt": lambda: held[0] ** 0.5,
                    "max": lambda: max(held),
                    "min": lambda: min(held),
                }
                return known[name]()
        raise AssertionError(node)


def forms_of() -> Forms:
    card_domain = bv.card("ragd-gs").letters["mu"].domain
    return Forms(kind, dict.fromkeys("abcst", card_domain))


EXPRESSIONS = [
    "norm(a*u - b*v)**2 + 2*dot(u, v - w)/a",
    "dot(A @ u, B @ v) - T(u) @ T(A) @ B @ v",
    "norm(A @ inv(A) @ u) - norm(u)",
    "sqrt(4*a*b) - 2*a**(1/2)*sqrt(b)",
    "norm(inv(A) - inv(B))/(a + b) + norm(-(3*u))*c/(a + b)",
    "(a*s + a*t)**(-2)*abs(a - b)**2 + max(a, b - c)*min(a, 2)",
    "dot(u, u) - norm(u)**2 + norm(2*a*u)/sqrt(12)",
    "dot(T(A) @ u, v) - dot(u, A @ v)",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("expand", [True, False])
def test_forms_have_the_values_of_the_trees(text: str, expand: bool) -> None:
    node, forms = parse(text), forms_of()
    forms.expand = expand
    form = forms.scalar(node)
    for seed in range(4):
        at = At(seed)
        assert at.of(form, forms) == pytest.approx(float(at.tree(node)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("text", ["u", "A @ u", "a*u", "1/(a - a)", "inv(A)", "dot(a*b, u)"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        forms_of().scalar(parse(text))


def test_signs_follow_from_ranges() -> None:
    forms = forms_of()
    for text, sign in (("a + b", POSITIVE), ("a*norm(u)", NONNEGATIVE), ("a - b", ANY), ("norm(u) - 1", ANY)):
        assert forms.polynomial_sign(forms.scalar(parse(text))) == sign
    assert not forms.needs
    forms.scalar(parse("1/norm(u) + a/b"))
    assert [sign for _, sign in forms.needs.values()].count(POSITIVE) == 2


def test_a_power_with_a_letter_needs_a_base_that_is_not_negative() -> None:
    one = bv.card("ragd-gs").letters["kappa"].domain
    for text, fine in (("(1 - 1/sqrt(a))**(b/2)", True), ("(2 - a)**(b/2)", False), ("a**(b - 1)", True)):
        forms = Forms(kind, {"a": one, "b": bv.card("ragd-gs").letters["D_0"].domain})
        forms.scalar(parse(text))
        wanted = {sign: forms.polynomial_sign(value) for value, sign in forms.needs.values()}
        assert all(own in (sign, POSITIVE) for sign, own in wanted.items()) == fine


@pytest.mark.seeded
@pytest.mark.parametrize("seed", [SEED + n for n in range(4)])
def test_facts_are_true(seed: int) -> None:
    forms = forms_of()
    texts = ["norm(a*u - b*v)", "norm(u)", "norm(v - w)", "norm(v)*norm(w)*dot(u, v)", "norm(u - w)**2",
             "dot(u - w, v)",
             "norm(A)*norm(B - A)*norm(B)", "norm(inv(A) - inv(B))", "norm(inv(A))*norm(B - A)*norm(inv(B))",
             "norm(A @ u)", "norm(A)*norm(u)", "max(a, b)", "abs(a - b)"]  # fmt: skip
    shown = [forms.scalar(parse(t)) for t in texts]
    names, monomials = atoms_of(*shown), tuple(m for q in shown for m in q)
    found = list(facts_about(forms, names, monomials))
    assert len(found) > 20
    for place in range(5):
        at = At(1000 * (seed % 1000) + place)
        for fact in found:
            value = at.of(fact.value, forms)
            assert value >= -1e-8
            assert not fact.equal or abs(value) <= 1e-7


def names_with_signs(signs: dict[str, str]) -> Forms:
    forms = Forms(lambda node: "scalar")
    forms.signs |= signs
    return forms


def of(text: str, forms: Forms) -> p.Polynomial:
    return forms.scalar(parse(text))


def test_a_derivation_is_a_combination() -> None:
    forms = names_with_signs({"a": POSITIVE, "x": ANY, "y": ANY, "z": ANY})
    facts = [Fact(of("y - x", forms), "one"), Fact(of("z - y", forms), "two"), Fact(of("a - 2", forms), "three")]
    found = derive(of("a*z - a*x", forms), facts, forms)
    assert found is not None
    assert set(found.sources) == {"one", "two"}
    total: p.Polynomial = {}
    for fact, factor, weight in found.used:
        total = p.plus(total, p.times(fact.value, {factor: weight}))
    assert total == of("a*z - a*x", forms)
    assert derive(of("x - z", forms), facts, forms) is None
    assert derive(of("a - 1", forms), facts, forms) is not None
    assert derive(of("a - 3", forms), facts, forms) is None


def test_columns_come_in_the_order_of_the_print_whatever_the_seed_of_hashes() -> None:
    """Of a limited number of columns the first ones count: a set of names had them in another order in each process."""
    names = [f"a{n}" for n in range(9)]
    facts = [Fact({((name, 1),): 1}, name) for name in names]
    target = tuple((name, 1) for name in names)
    places = _Places(facts, Forms(lambda _: "scalar"))
    assert [facts[place].source for place, _ in places.meeting(target, True)] == names


def test_an_inequality_is_multiplied_by_what_is_not_negative_only() -> None:
    fact = [Fact({(("x", 1),): Fraction(1)}, "x >= 0")]
    for sign, holds in ((POSITIVE, True), (NONNEGATIVE, True), (ANY, False)):
        forms = names_with_signs({"x": ANY, "y": sign})
        assert (derive(of("x*y", forms), fact, forms) is not None) == holds
    forms = names_with_signs({"x": ANY, "y": NONNEGATIVE})
    equal = [Fact(of("x - 1", forms), "x == 1", equal=True)]
    assert derive({(("x", 1), ("y", -1)): Fraction(1), (("y", -1),): Fraction(-1)}, equal, forms) is None


def test_a_combination_with_a_negative_factor_is_none_but_for_equalities() -> None:
    """What solves the equations in rational numbers need not have the signs that the programme asked for."""
    forms = names_with_signs({"x": ANY, "y": ANY})
    goal = of("x - y", forms)

    def columns(*free: bool) -> list[deriving._Column]:
        values = [of("x", forms), of("y", forms)]
        return [deriving._Column(Fact(v, "given", equal=e), p.UNIT, v, e) for v, e in zip(values, free)]

    assert deriving._exact(goal, columns(False, False)) is None
    assert deriving._exact(goal, columns(True, False)) is None
    for free in ((False, True), (True, True)):
        found = deriving._exact(goal, columns(*free))
        assert found is not None
        assert [weight for _, _, weight in found.used] == [1, -1]


def test_strict_needs_something_strict() -> None:
    forms = names_with_signs({"x": ANY, "a": POSITIVE, "n": NONNEGATIVE})
    weak, strong = [Fact(of("x", forms), "x >= 0")], [Fact(of("x", forms), "x > 0", strict=True)]
    assert derive(of("x", forms), weak, forms) is not None
    assert derive(of("x", forms), weak, forms, strict=True) is None
    assert derive(of("x", forms), strong, forms, strict=True) is not None
    assert derive(of("x + a", forms), weak, forms, strict=True) is not None
    assert derive(of("x + n", forms), weak, forms, strict=True) is None
    assert derive({}, weak, forms, strict=True) is None
    assert derive({}, weak, forms) is not None


@pytest.mark.seeded
def test_signs_that_leave_no_combination_are_those_of_programmes_without_a_solution() -> None:
    """What is seen without a programme has none; where there is a combination, nothing of the kind is said."""
    draw = random.Random(SEED)
    forms = names_with_signs({"a": POSITIVE, "b": NONNEGATIVE, "x": ANY, "y": ANY})
    hopeless = solved = 0
    for _ in range(150):
        facts = [Fact(_random(draw), f"fact {n}", equal=draw.random() < 0.3) for n in range(3)]
        goal = _random(draw) if draw.random() < 0.4 else {(("b", 1),): Fraction(draw.randrange(3))}
        for fact in draw.sample(facts, 2):
            goal = p.plus(goal, p.times(fact.value, {(("a", 1),): Fraction(draw.randrange(3))}))
        columns = deriving._columns(goal, facts, forms, 3, 300)
        found = deriving._solved(goal, columns, forms)
        seen = deriving._signs_forbid(goal, columns, forms)
        assert not seen or found is None, (goal, facts)
        hopeless, solved = hopeless + seen, solved + (found is not None)
    assert hopeless >= 15
    assert solved >= 15


@pytest.mark.seeded
@pytest.mark.parametrize("seed", [SEED + n for n in range(4)])
def test_nothing_false_is_derived(seed: int) -> None:
    """Facts that are true at a point, a goal that is false there: there is no derivation."""
    draw = random.Random(seed)
    forms = names_with_signs({"a": POSITIVE, "b": POSITIVE, "x": ANY, "y": ANY})
    tried = 0
    while tried < 25:
        at = {"a": Fraction(draw.randint(1, 9), 4), "b": Fraction(draw.randint(1, 9), 3)}
        at |= {n: Fraction(draw.randint(-9, 9), 2) for n in "xy"}
        facts = [_true(draw, at) for _ in range(5)]
        goal = _random(draw)
        if _value(goal, at) < 0:
            tried += 1
            assert derive(goal, facts, forms) is None


def _random(draw: random.Random) -> p.Polynomial:
    total: p.Polynomial = {}
    for _ in range(draw.randint(1, 4)):
        monomial = p.merged((draw.choice("abxy"), 1) for _ in range(draw.randint(0, 2)))[1]
        total = p.plus(total, {monomial: Fraction(draw.randint(-4, 4))})
    return total


def _true(draw: random.Random, at: dict[str, Fraction]) -> Fact:
    one = _random(draw)
    value = _value(one, at)
    equal = draw.random() < 0.3
    return Fact(p.plus(one, p.number(-value)) if equal or value < 0 else one, "drawn", equal)


def _value(one: p.Polynomial, at: dict[str, Fraction]) -> Fraction:
    total = Fraction(0)
    for monomial, value in one.items():
        for name, exponent in monomial:
            value *= at[name] ** int(exponent)
        total += value
    return total


def test_lines_in_a_circle_do_not_hold() -> None:
    uses = {"1.1": ("2.1",), "2.1": ("1.1",), "3.1": ("4.1",), "5.1": ("3.1", "1.1"), "6.1": ("3.1", "4.1")}
    assert grounded(uses, {"4.1"}) == {"4.1", "3.1", "6.1"}
    assert grounded({"1.1": ("1.1",)}, ()) == set()


CARD = r"""
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
X = "lengths"
[letters]
L = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "L" }
b = { unit = "1", domain = "[0, oo)", domain_from = "Section 1", meaning = "b" }
c = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "c" }
[functions]
f = { arguments = ["X"], value = "F" }
[notation]
letters = 'L b c'
indices = 'k i'
vectors = 'u v'
sequences = 'a'
vector_sequences = 'x y'
functions = 'f'
[[lemma]]
id = "lemma-1"
source = "Lemma 1"
"""
PRINT = r"""
paper = "mine"
[[formula]]
n = 1
within = "lemma-1"
latex = 'f(x_{k+1})\le f(x_k)'
[[formula]]
n = 2
within = "proof of lemma-1"
latex = 'f(x_{k+1})\le f(x_k)+\langle\nabla f(x_k),x_{k+1}-x_k\rangle+\frac L2\|x_{k+1}-x_k\|^2'
[[formula]]
n = 3
within = "proof of lemma-1"
latex = 'f(x_{k+1})\le f(x_k)-\frac1{2L}\|\nabla f(x_k)\|^2'
[[formula]]
n = 4
within = "proof of lemma-1"
latex = 'f(x_k)\le b'
[[formula]]
n = 5
within = "proof of lemma-1"
latex = 'f(x_{k+1})\le b'
[[formula]]
n = 6
within = "proof of lemma-1"
latex = 'a_k=c^k'
[[formula]]
n = 7
within = "proof of lemma-1"
latex = 'a_k=k'
[[formula]]
n = 8
within = "proof of lemma-1"
latex = 'f(y_{k-1})\le b'
[[formula]]
n = 9
within = "proof of lemma-2"
latex = '\frac{1}{b}\ge\frac{1}{b+c}'
[[formula]]
n = 10
within = "proof of lemma-1"
latex = 'x_{k+1}-y_k=x_k-y_k-\frac1L\nabla f(x_k)'
[[formula]]
n = 11
within = "proof of lemma-1"
latex = 'f(x_k)\le f(x_0)'
[[formula]]
n = 12
within = "proof of lemma-3"
latex = 'f(y_k)\le c\quad\text{for all }k\le 5'
[[formula]]
n = 13
within = "proof of lemma-3"
latex = 'f(y_k)\le 2c\quad\text{for all }k\le 5'
[[formula]]
n = 14
within = "proof of lemma-3"
latex = 'f(y_k)\le 2c'
[[formula]]
n = 15
within = "proof of lemma-1"
latex = 'a_k=k\quad\text{for all }k\ge 1'
[[said]]
source = "f is smooth"
latex = 'f(u)\le f(v)+\langle\nabla f(v),u-v\rangle+\frac L2\|u-v\|^2'
any = 'u v'
[[said]]
source = "Algorithm 1"
latex = 'x_{k+1}=x_k-\frac1L\nabla f(x_k)'
any = 'k'
[[said]]
source = "Algorithm 1"
latex = 'a_{k+1}=a_k+1,\quad a_0=0'
any = 'k'
[[said]]
source = "from the first step on"
latex = 'f(y_{k-1})\le b'
any = 'k'
from = 1
"""


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    (tmp_path / "mine.toml").write_text(CARD, encoding="utf8")
    (tmp_path / "print.toml").write_text(PRINT, encoding="utf8")
    return Paper(bv.card(tmp_path / "mine.toml"), load_print(tmp_path / "print.toml"))


def line(paper: Paper, name: str) -> Printed:
    return next(r for one in paper.read for r in relations_of(one) if r.name == name)


def test_lines_follow_from_what_is_said_and_from_lines_before(paper: Paper) -> None:
    found = {n: judge(paper, line(paper, f"{n}.1"), effort=0.1) for n in (1, 2, 3, 4, 5, 7, 8, 10, 11)}
    assert found[2].verdict == "holds"
    assert "f is smooth" in found[2].reason
    assert found[3].verdict == "holds"
    assert "f is smooth" in found[3].reason
    assert (found[4].verdict, found[4].uses) == ("undecided", ())
    assert (found[5].verdict, set(found[5].uses)) == ("undecided", {"3.1", "4.1"})
    assert (found[1].verdict, found[1].uses) == ("undecided", ("3.1",))  # which coverage finds to hold
    assert found[7].verdict == "holds"
    assert "induction on k" in found[7].reason
    assert found[8].verdict == "undecided"  # k - 1 may be -1, where nothing is said
    assert found[10].verdict == "holds"
    assert "induction on k" in found[11].reason


def test_indices_are_put_in_one_form() -> None:
    for text in ("norm(x[k + 1 - 2] - y[-1])", "norm(x[-1 + k] - y[1 - 2])", "norm(x[k - 1] - y[-1])"):
        once = tidy(parse(text))
        assert once == tidy(once) == tidy(parse("norm(x[k - 1] - y[-1])"))


def test_a_line_with_a_condition_is_used_under_that_condition_only(paper: Paper) -> None:
    assert line(paper, "12.1").conditions
    assert judge(paper, line(paper, "13.1"), effort=0.1).uses == ("12.1",)
    assert judge(paper, line(paper, "14.1"), effort=0.1).uses == ()


def test_a_denominator_that_may_vanish_is_no_derivation(paper: Paper) -> None:
    assert judge(paper, line(paper, "9.1"), effort=0.1).verdict == "undecided"


def test_an_induction_needs_its_start(paper: Paper) -> None:
    assert judge(paper, line(paper, "6.1"), effort=0.1).verdict == "undecided"


def test_no_induction_where_a_condition_may_leave_out_a_step(paper: Paper) -> None:
    found = judge(paper, line(paper, "15.1"), effort=0.1)
    assert "induction" not in found.reason


def test_an_equation_of_vectors_that_does_not_follow_has_a_reason(paper: Paper) -> None:
    wrong = PRINT.replace(
        "-\\frac1L\\nabla f(x_k)'\n[[formula]]\nn = 11", "+\\frac1L\\nabla f(x_k)'\n[[formula]]\nn = 11"
    )

    other = Paper(paper.card, read_print(tomllib.loads(wrong)))
    found = judge(other, line(other, "10.1"), effort=0.1)
    assert found.verdict == "undecided"
    assert found.reason.startswith("no identity by itself, and nothing that is said closes it")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"latex": "a"}, "said 1: the field 'source' is missing"),
        ({"source": "s"}, "said 1: give either 'latex' or 'use'"),
        ({"source": "s", "latex": "a", "use": 1}, "said 1: give either"),
        ({"source": "s", "use": 9}, "said 1, use: there is no formula 9"),
        ({"source": "s", "use": 1, "cites": 9}, "said 1, cites: there is no formula 9"),
        ({"source": "s", "use": True}, "said 1, use: expected int"),
        ({"source": "s", "words": ""}, "said 1: unknown field 'words'"),
        ("text", "said 1: expected a table"),
    ],
)
def test_ill_formed_sayings(table: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_print({"paper": "x", "formula": [{"n": 1, "latex": "a"}], "said": [table]})


def test_every_saying_of_the_shipped_papers_is_read() -> None:
    from bilevel_verify.manuscript.proofs.said import rules_of

    for key in ("agm-bio", "ragd-gs"):
        paper = Paper(bv.card(key), load_print(key))
        statements = {name for said in paper.source.said for name in said.within} | {""}
        assert statements - {""} <= {f.statement for f in paper.source}
        read = {rule.source for name in statements for rule in rules_of(paper, name)}
        assert read == {said.source for said in paper.source.said}
