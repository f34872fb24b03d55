"""The front door of the constants: letters, exponents, sharing, ratios, parts, each condition alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
from sympy import Integer, Rational

import bilevel_verify as bv
from bilevel_verify.constants import constants as constants_of
from bilevel_verify.constants.api import Constants, FamilyConstants, _largest
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.formula.rewriting import normalise
from bilevel_verify.constants.formula.structure import structure_of
from bilevel_verify.constants.papers import letters_of, read_letters
from bilevel_verify.errors import InputError

pytestmark = pytest.mark.fast

INF = math.inf
HALF, ONE = Rational(1, 2), Integer(1)
X, Y, Z = NAMES = sympy.symbols("x y z", real=True)
WHY = Reason("test", "known")
API = sys.modules[Constants.__module__]


PROBLEM = bv.bilevel(f="x1*y1 + y2", g="y1**2 + 3*y2**2 + x1*y1", x="x1", y="y1 y2")


def table(**more: Any) -> Constants:
    found = constants_of(PROBLEM, **more)
    assert isinstance(found, Constants)
    return found


@pytest.mark.parametrize("nu", [0, 1, 0.5, {"nu_g": 0}, {"nu_f": 1, "nu_g": 0.25}, None])
def test_exponents_asked_for(nu: Any) -> None:
    expected = {} if nu is None else dict(nu) if isinstance(nu, Mapping) else {"nu_g": nu, "nu_f": nu}
    assert table(nu=nu).exponents == expected


@pytest.mark.parametrize(
    ("nu", "shown"),
    [(-1e-9, "nu = -1e-09"), (1.5, "nu = 1.5"), ({"nu_f": 1.5}, "nu_f = 1.5"), ({"nu_g": 1, "nu_f": -1}, "nu_f = -1")],
)
def test_an_exponent_that_is_none_is_named(nu: Any, shown: str) -> None:
    with pytest.raises(InputError, match=f"^{shown}: a Hoelder exponent"):
        constants_of(PROBLEM, nu=nu)


@pytest.mark.parametrize(
    ("measure", "part", "asked"),
    [("strong convexity", p, p == "f:xx") for p in ("g:yy", "f:yy", "g:xx", "f:xx")]
    + [("Polyak-Lojasiewicz", p, p == "f:x") for p in ("g:y", "f:y", "g:x", "f:x")],
)
def test_of_one_level_only_f_along_x_is_asked(measure: str, part: str, asked: bool) -> None:
    letters = {"letters": {"m": {"measure": measure, "of": [part]}}}
    found = constants_of(bv.single_level(f="x1**2", x="x1"), paper=read_letters("mine", letters, ""))
    if asked:
        assert found["m"].value == 2
    else:
        with pytest.raises(InputError, match="one level only"):
            _ = found["m"]


def test_letters_are_chosen_in_the_order_of_the_paper() -> None:
    every = table()
    assert list(every) == [letter.name for letter in letters_of(None, "bilevel").letters]
    assert len(every) == len(list(every))
    assert list(table(only="L_g")) == ["L_g"]
    assert list(table(only=("rho_g", "L_g"))) == ["L_g", "rho_g"]
    assert list(table(only=[])) == []
    assert "mu" in every
    assert "D" not in every
    with pytest.raises(KeyError):
        every["D"]
    with pytest.raises(InputError, match="ragd-gs has no constant 'LL'; it has mu, "):
        constants_of(PROBLEM, only=["L_g", "LL"])
    assert (every.effort, constants_of(PROBLEM, effort=0.5).effort) == (1.0, 0.5)  # type: ignore[union-attr]


def test_a_family_gets_one_set_for_each_member() -> None:
    family = bv.zoo("ramp", s="2*eps", drop=1)
    found = constants_of(family, only=["L"])  # type: ignore[call-overload]
    assert isinstance(found, FamilyConstants)
    assert (found.effort, found.nu, found.letters) == (1.0, None, ("L",))
    assert list(found.at(eps=0.25)) == ["L"]
    assert FamilyConstants(family, letters_of(None, "single_level"), ("L",)).effort == 1.0


def test_a_constant_is_found_once_and_shared() -> None:
    first, second = table(), table()
    first._known.clear()
    assert first["L_g"] is first["L_g"] is second["L_g"]
    analysis = first.analysis("g")
    assert first.analysis("g") is analysis
    assert first.analysis("f") is not analysis
    assert analysis.is_x == (True, False, False)
    assert (analysis.name, analysis.effort) == ("g", 1.0)
    assert analysis.structure == structure_of(normalise(sympy.sympify(PROBLEM.g)), PROBLEM.variables)
    assert first.analysis("f").structure.linear != {}


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("certified", [True, False])
def test_a_bound_becomes_a_constant_field_by_field(side: Any, certified: bool) -> None:
    letter = letters_of(None, "bilevel").letters[1]
    bound = Bound(5.0, 2.0, certified, "branch and bound", WHY, Integer(5), True, {"x1": 1.0})
    box = bv.bilevel(f="x1*y1", g="y1**2", x="x1", y="y1", domain={"x1": (0, 1)})
    found = constants_of(box)._constant(letter, bound, side)  # type: ignore[union-attr]
    value = 5.0 if side == "upper" else 2.0
    box_text = "0 <= x1 <= 1"
    expected = Constant(letter.name, value, 2.0, 5.0, side, certified, "branch and bound", letter.norm, box_text, WHY)
    more = {
        "exact": Integer(5),
        "whole_space": False,
        "attained": True,
        "witness": {"x1": 1.0},
        "meaning": letter.meaning,
    }
    assert found == replace(expected, **more)  # type: ignore[arg-type]
    if side == "upper":
        assert constants_of(box)._constant(letter, bound) == found  # type: ignore[union-attr]


def test_curvature_is_a_lower_side() -> None:
    mu = table()["mu"]
    assert (mu.side, mu.value, mu.certified) == ("lower", 2.0, True)


def ratio(top: dict[str, Any], bottom: dict[str, Any]) -> Constant:
    def made(name: str, side: Any, lower: float, upper: float, **more: Any) -> Constant:
        fields = {"certified": True, "exact": None, "attained": False} | more
        value = upper if side == "upper" else lower
        return Constant(name, value, lower, upper, side, route="exact", norm="", domain="", why=WHY, **fields)  # type: ignore[arg-type]

    found = constants_of(PROBLEM, paper="rahgd")
    letter = next(a for a in letters_of("rahgd", "bilevel").letters if a.measure == "ratio")
    known = dict(zip(letter.partner, (made("ell", side="upper", **top), made("mu", side="lower", **bottom))))
    found._get = known.__getitem__  # type: ignore[union-attr, method-assign]
    return found._ratio(letter)  # type: ignore[union-attr]


@pytest.mark.parametrize("top", [(-1.0, 6.0), (5.0, 6.0), (0.5, 0.6), (7.0, 6.0)])
@pytest.mark.parametrize(
    "bottom", [(2.0, 4.0), (2.0, 2.0), (0.5, 0.75), (-1.0, 4.0), (-1.0, 0.0), (0.0, 0.0), (0.0, 2.0), (-2.0, -1.0)]
)
def test_the_ends_of_a_ratio(top: tuple[float, float], bottom: tuple[float, float]) -> None:
    found = ratio({"lower": top[0], "upper": top[1]}, {"lower": bottom[0], "upper": bottom[1]})
    upper = INF if bottom[0] <= 0 else math.nextafter(top[1] / bottom[0], INF)
    lower = INF if bottom[1] <= 0 else max(top[0], 0.0) / bottom[1]
    assert (found.upper, found.lower, found.exact) == (upper, min(lower, upper), None)
    assert (found.side, found.certified, found.attained) == ("upper", True, False)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_ratio_is_as_certain_and_as_tight_as_both(first: bool, second: bool) -> None:
    ends = {"lower": 3.0, "upper": 3.0}, {"lower": 7.0, "upper": 7.0}
    found = ratio(
        ends[0] | {"certified": first, "exact": Integer(3)}, ends[1] | {"certified": second, "exact": Integer(7)}
    )
    assert found.certified == (first and second)
    assert found.exact == Rational(3, 7)
    assert Fraction(math.nextafter(found.value, 0)) < Fraction(3, 7) < Fraction(found.value)
    tight = ratio(ends[0] | {"attained": first}, ends[1] | {"attained": second})
    assert tight.attained == (first and second)
    closed = ratio(
        ends[0] | {"exact": Integer(3) if first else None}, ends[1] | {"exact": Integer(7) if second else None}
    )
    assert closed.exact == (Rational(3, 7) if first and second else None)
    assert ratio(ends[0] | {"exact": Integer(3)}, {"lower": 0.0, "upper": 0.0, "exact": Integer(0)}).exact is None


@pytest.mark.parametrize("letter", ["nu_g", "M_g", "nu_f", "H_f"])
@pytest.mark.parametrize("nu", [None, {"nu_g": 0.5, "nu_f": 0.25}])
def test_a_hoelder_pair_is_asked_with_its_own_exponent(letter: str, nu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, Any]] = []
    bounds = {name: Bound(value, value, True, "exact", WHY) for name, value in (("exponent", 0.5), ("constant", 7.0))}
    pair = SimpleNamespace(exponent_bound=lambda: bounds["exponent"], constant_bound=lambda: bounds["constant"])
    monkeypatch.setattr(
        API, "hoelder_pair", lambda analysis, form, wanted: asked.append((analysis.name, form, wanted)) or pair
    )
    found = table(nu=nu)
    value = found._compute(found.paper.names[letter]).value
    level = letter[-1]
    form = {"g": "zzz", "f": "xx"}[level]
    assert asked == [(level, form, None if nu is None else nu[f"nu_{level}"])]
    assert value == (0.5 if letter.startswith("nu") else 7.0)


def test_the_largest_part_field_by_field() -> None:
    letter = next(a for a in letters_of("ragd-gs", "bilevel").letters if a.name == "rho_f")
    parts = [
        Bound(3.0, 2.5, True, "calculus", WHY, Integer(3), True, {"x": 1.0}),
        Bound(5.0, 1.0, True, "exact", WHY, Integer(5), True, {"x": 2.0}),
    ]
    found = _largest(letter, parts)
    assert found == Bound(5.0, 2.5, True, "exact", found.why, Integer(5), True, {"x": 2.0})
    assert found.why.statement == "rho_f <= 5"
    weak = _largest(letter, [Bound(3.0, 2.5, False, "calculus", WHY), parts[1]])
    assert not weak.certified
    unknown = _largest(letter, [Bound(INF, 1.0, True, "calculus", WHY), parts[0]])
    assert unknown.why.statement == "rho_f <= inf"
    surely = _largest(letter, [parts[0], Bound(INF, INF, True, "calculus", WHY)])
    assert (surely.why.statement, surely.upper) == ("rho_f = oo", INF)
