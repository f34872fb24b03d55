"""Units: every side condition of the checker by itself."""

from __future__ import annotations

import pytest
import sympy

from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.units.units import UnitCheck, read_unit, show

pytestmark = pytest.mark.fast
BASES = frozenset("FGXY")
LETTERS = {"L": "F/X**2", "rho": "F/X**3", "eps": "F/X", "H": "F/X**(2+nu)", "x": "X", "g": "G", "n": "1", "nu": "1",
           "ell": "G/X**2", "i": "1"}  # fmt: skip
FUNCTIONS = {"phi": (("X",), "F"), "pair": (("X", "F"), "G"), "grad_phi": ((), "F/X")}
RELATIONS = {"kappa": ("F/G",), "C": ("X", "F/G")}


def check(*sides: str, fixed: dict[str, int] | None = None) -> list[str]:
    units = {name: read_unit(parse(text), BASES) for name, text in LETTERS.items()}
    functions = {
        n: (tuple(read_unit(parse(a), BASES) for a in arguments), read_unit(parse(v), BASES))
        for n, (arguments, v) in FUNCTIONS.items()
    }
    relations = {n: tuple(read_unit(parse(t), BASES) for t in texts) for n, texts in RELATIONS.items()}
    table = UnitCheck(units | {"kappa": {}, "C": {}}, functions, relations,
                      {n: sympy.Integer(v) for n, v in (fixed or {}).items()})  # fmt: skip
    return [m.kind for m in table.relation(*(parse(side) for side in sides))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        # every term of a sum, every operand
        ("L + L", []),
        ("L + rho", ["hard"]),
        ("L + L + rho", ["hard"]),
        ("L + L + L + rho", ["hard"]),
        ("0 + L + rho", ["hard"]),
        ("L*0 + rho", []),
        ("0*L*x + rho", []),
        ("rho + 0/L", []),
        ("0 @ L + rho", []),
        ("(L*0)**2 + rho", []),
        ("L - rho", ["hard"]),
        ("L + 0", []),
        ("L + 1", ["hard"]),
        ("1 if L < L < rho else 2", ["hard"]),
        ("L if n > 1 else rho", ["hard"]),
        ("L if x > n else L", ["hard"]),
        ("L if n > 1 and x > n else L", ["hard"]),
        ("L if not x > n else L", ["hard"]),
        ("x % rho", ["hard"]),
        ("x % x", []),
        # what has any unit: 0, oo, a sum that has been found wrong
        ("2**0", []),
        ("2**(0*L)", []),
        ("log(0)", []),
        ("log(oo)", []),
        ("2**(L + rho)", ["hard"]),
        ("log(L + rho)", ["hard"]),
        ("exp(0*rho)", []),
        ("L + oo", []),
        # max and min
        ("max(L, rho)", ["hard"]),
        ("max(L, L, rho)", ["hard"]),
        ("min(L, rho)", ["hard"]),
        ("max(L, 0)", []),
        ("max(L, L)", []),
        # exponents, roots
        ("2**L", ["hard"]),
        ("2**(L/L)", []),
        ("L**x", ["hard"]),
        ("L**n", []),
        ("L**floor(n)", ["hard"]),
        ("n**floor(n)", []),
        ("2**(x[0])", ["hard"]),
        ("x[L]", ["hard"]),
        ("x[n]", []),
        # pure functions: every argument
        ("exp(L)", ["hard"]),
        ("sin(L)", ["hard"]),
        ("exp(L/L)", []),
        ("binomial(L, n)", ["hard"]),
        ("binomial(n, L)", ["hard"]),
        ("binomial(n, n)", []),
        ("factorial(L)", ["hard"]),
        ("floor(L)", ["hard"]),
        ("ceil(L)", ["hard"]),
        ("ceil(n)", []),
        ("log(L)", ["hard"]),
        ("n*log(L)", ["hard"]),
        ("exp(n*log(L))", ["weak"]),
        ("2**log(L)", ["weak"]),
        ("n**log(L/rho) + n", ["weak"]),
        # of several, the units may cancel
        ("log(L) - log(L)", []),
        ("log(L*x) - log(rho*x**2)", []),
        ("2*log(x) + log(rho) - log(L*x)", []),
        ("n*log(L) - i*log(L)", ["weak", "weak"]),
        ("log(L)/n - log(L)/n", []),
        ("log(L)/2 - log(L)/3", ["weak", "weak"]),
        ("log(L)/2 - log(L**2)/4", []),
        ("sqrt(log(L) - log(rho) - log(x))", []),
        ("log(L)*log(L)", ["weak", "weak"]),
        ("log(L) + log(n)", ["hard"]),
        ("-log(L) + n*log(i)", ["hard"]),
        ("log(L/L)", []),
        # ranges
        ("prod(L, (i, 1, 3))", ["hard"]),
        ("prod(n, (i, 1, 3))", []),
        ("sum(L, (i, 1, n))", []),
        ("sum(L, (i, 1, L))", ["hard"]),
        ("sum(L, (i, L, 3))", ["hard"]),
        ("max(L + rho, (i, 1, 3))", ["hard"]),
        ("argmin(L, (i, 1, 3)) + n", []),
        ("argmin(L, (i, 1, 3)) + L", ["hard"]),
        # functions with declared units: every argument
        ("phi(x)", []),
        ("phi(L)", ["hard"]),
        ("pair(x, phi(x))", []),
        ("pair(x, x)", ["hard"]),
        ("pair(L, phi(x))", ["hard"]),
    ],
)
def test_inside_of_one_side(text: str, kinds: list[str]) -> None:
    assert check(text) == kinds


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("sqrt(L**2)", "L", True),
        ("sqrt(L)", "L", False),
        ("L*x", "eps", True),
        ("L/x", "rho", True),
        ("L*x", "L/x", False),
        ("-L", "L", True),
        ("abs(L)", "L", True),
        ("norm(x)", "x", True),
        ("dot(x, eps)", "L*x**2", True),
        ("dot(x, x)", "x", False),
        ("inv(L)", "1/L", True),
        ("inv(L)", "L", False),
        ("L @ x", "eps", True),
        ("L @ x", "L", False),
        ("sign(L)", "n", True),
        ("sign(L)", "L", False),
        ("mode(rho, 1, x)", "L", True),
        ("mode(rho, 1, x)", "rho", False),
        ("coordinate(L, x, i)", "x", True),
        ("coordinate(L, x, i)", "L", False),
        ("O(L)", "L", True),
        ("phi(x)", "L*x**2", True),
        ("phi(x)", "eps", False),
        ("sum(L, (i, 1, n))", "L", True),
        ("max(L, L)", "rho", False),
        ("L", "0", True),
        ("L", "oo", True),
        # relations are in force only where their letter occurs
        ("L", "ell", False),
        ("L*kappa", "ell", True),
        ("L*kappa", "ell*x", False),
        ("L*C", "ell*x", True),
        ("x*C", "n", True),
        ("L*C", "H", True),
    ],
)
def test_between_the_sides(left: str, right: str, same: bool) -> None:
    assert (check(left, right) == []) is same


def test_symbolic_exponents_are_exact() -> None:
    assert check("H*x**(2+nu)", "phi(x)") == []
    assert check("H*x**(1+nu)", "phi(x)") == ["hard"]
    assert check("H", "L", fixed={"nu": 0}) == []
    assert check("H", "L", fixed={"nu": 1}) == ["hard"]
    assert check("H", "rho", fixed={"nu": 1}) == []


def test_three_sides() -> None:
    assert check("L", "L", "rho") == ["hard"]
    assert check("L", "L", "L") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [("1", "1"), ("F/X**2", "F/X^2"), ("F*X", "F*X"), ("1/X", "1/X"), ("F**(1/2)", "F^(1/2)"), ("X/X", "1"),
     ("(F/X)**2/F", "F/X^2"), ("F/X**(3+nu)", "F/X^(nu + 3)"), ("F**(nu**2)", "F^(nu**2)"), ("F**(nu/2)", "F^(nu/2)"),
     ("F**(2*nu)/F**(nu + nu)", "1"), ("1/F**(-2)", "F^2"), ("1/F/X**2", "1/F/X^2"), ("(F*X)**0", "1")],
)  # fmt: skip
def test_reading_and_showing(text: str, shown: str) -> None:
    assert show(read_unit(parse(text), BASES)) == shown


@pytest.mark.parametrize("text", ["Z", "F + X", "2*F", "F>=2", "-F", "F**max(1, 2)", "0", "F(1)", "1/2"])
def test_what_is_no_unit(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|exponent"):
        read_unit(parse(text), BASES)


def test_zero_has_any_unit() -> None:
    assert show(None) == "any unit"
    assert UnitCheck({}).unit(parse("0")) is None
    assert UnitCheck({}).fits(None, {"F": sympy.S.One})
    assert UnitCheck({}).fits({"F": sympy.S.One}, None)
    assert not UnitCheck({}).fits({"F": sympy.S.One}, {})


def test_a_function_of_nothing_is_a_number() -> None:
    assert UnitCheck({}).unit(tree.Call("norm", ())) == {}


def test_letters_of_the_surroundings_bring_their_relations() -> None:
    letters = {"a": read_unit(parse("F"), BASES), "b": read_unit(parse("G"), BASES)}
    table = UnitCheck(letters, relations={"kappa": (read_unit(parse("F/G"), BASES),)})
    one, two = parse("a"), parse("b")
    assert [m.kind for m in table.relation(one, two)] == ["hard"]
    assert table.relation(one, two, among=parse("kappa <= 2")) == []
    assert table.relation(one, two, among=parse("norm(kappa[1]) <= 2")) == []
    assert [m.kind for m in table.relation(one, two, among=parse("other <= 2"))] == ["hard"]


def test_relations_with_letters_in_their_exponents() -> None:
    letters = {n: read_unit(parse(t), BASES) for n, t in {"a": "F*X**(nu+1)", "b": "F**2*X**(nu+2)", "c": "X"}.items()}
    table = UnitCheck(letters, relations={"k": (read_unit(parse("F**(nu+1)*X**(nu**2+2*nu+1)"), BASES),)})
    assert table.relation(parse("a"), parse("k")) == []
    assert [m.kind for m in table.relation(parse("b"), parse("k"))] == ["hard"]
    assert [m.kind for m in table.relation(parse("c"), parse("k"))] == ["hard"]


def test_findings_stand_in_the_order_of_the_text() -> None:
    units = {name: read_unit(parse(text), BASES) for name, text in LETTERS.items()}
    found = UnitCheck(units).relation(parse("sum(n, (i, L, x))"))
    assert [m.message for m in found] == ["the end of a range has the unit F/X^2", "the end of a range has the unit X"]


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        ("log(L)", "log(L) + 3", []),
        ("log(L)", "log(rho) + log(x)", []),
        ("log(L)", "3", ["hard"]),
        ("log(L)", "log(rho)", ["weak", "weak"]),
        ("log(L)", "-log(1/L)", []),
        ("log(L)*n", "-100", ["hard"]),
    ],
)
def test_logarithms_on_two_sides(left: str, right: str, kinds: list[str]) -> None:
    assert check(left, right) == kinds
