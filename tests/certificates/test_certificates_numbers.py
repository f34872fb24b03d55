"""Certificates of constants and truths: what they claim holds at sampled points, false bounds and damaged files fail."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from seeds import SEED

import bilevel_verify as bv
from bilevel_check import check
from bilevel_verify.certificates.numbers.boxes import certificate_on_box
from bilevel_verify.certificates.numbers.branches import cells
from bilevel_verify.certificates.numbers.constants import certified_constant
from bilevel_verify.certificates.numbers.relations import NoTree, Relation
from bilevel_verify.certificates.numbers.truth import certified_ball, certified_minimum, closed_phi
from bilevel_verify.cli import main

x, y = sympy.symbols("x1 y1", real=True)
MEANING = {
    "+": lambda *v: mpmath.fsum(v),
    "*": lambda *v: mpmath.fprod(v),
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "neg": lambda a: -a,
    "abs": abs,
    "max": max,
    "sign": mpmath.sign,
} | {name: getattr(mpmath, name) for name in "sqrt exp log sin cos tan sinh cosh tanh".split()}
ENTRIES = {("L_g", "cardano"): 6, ("L_f", "cosh-lower"): 6, ("L", "hyperbola"): 6, ("mu", "factor-gap"): 3}


def value_of(data: Any, at: dict[str, Any]) -> Any:
    """A formula of a certificate in 30 digits."""
    if isinstance(data, int):
        return mpmath.mpf(data)
    if isinstance(data, str):
        return at[data] if data in at else mpmath.mpf(Fraction(data).numerator) / Fraction(data).denominator
    return MEANING[data[0]](*(value_of(part, at) for part in data[1:]))


def drawn(low: Fraction | None, high: Fraction | None, chance: random.Random) -> mpmath.mpf:
    """A point of a range, its ends more often than others; far away where it has none."""
    if low is not None and high is not None:
        return mpmath.mpf(chance.choice((chance.random(), 0, 1)) * float(high - low) + float(low))
    far = 10 ** chance.uniform(-3, 3)
    if low is None and high is None:
        return mpmath.mpf(chance.choice((0, far, -far)))
    return mpmath.mpf(float(low) + far if low is not None else float(high or 0) - far)


def holds_at_points(text: str, chance: random.Random, count: int = 20) -> bool:
    """Whether the claim of a certificate holds at random points of its ranges."""
    statement = json.loads(text)["statement"]
    op, left, right = statement["claim"]
    ends: dict[str, dict[str, Fraction]] = {name: {} for name in statement["letters"]}
    for side, name, bound in statement["hypotheses"]:
        ends[name][side] = Fraction(bound)
    with mpmath.workdps(30):
        for _ in range(count):
            at = {n: drawn(found.get(">="), found.get("<="), chance) for n, found in ends.items()}
            room = value_of(right, at) - value_of(left, at)
            if room < -1e-12 or (op == "<" and room <= 0):
                return False
    return True


@pytest.mark.parametrize(("letter", "name"), ENTRIES)
def test_constants_of_the_zoo_have_certificates_that_hold_at_points(letter: str, name: str) -> None:
    shown = certified_constant(bv.constants(bv.zoo(name)), letter)
    assert len(shown.certificates) == ENTRIES[letter, name]
    assert shown.bound is not None
    assert abs(float(shown.bound) - shown.value) <= 1e-6 * abs(shown.value)
    chance = random.Random(SEED)
    assert all(check(one.text).accepted for one in shown.certificates)
    assert all(holds_at_points(one.text, chance) for one in shown.certificates)


def test_the_bound_lies_beyond_the_largest_curvature_that_is_sampled() -> None:
    """The Hessian by central differences of f in 40 digits: no derivative of ours is used."""
    p, chance = bv.zoo("hyperbola"), random.Random(SEED)
    bounds = {k: certified_constant(bv.constants(p), k).bound for k in ("L", "mu")}
    f = sympy.lambdify(p.x, p.f, "mpmath")
    h, eigenvalues = mpmath.mpf(10) ** -10, []
    with mpmath.workdps(40):
        for _ in range(200):
            share = lambda: chance.choice((0.001, 0.999, chance.random()))  # the largest are near corners
            at = [mpmath.mpf(float(a)) + share() * float(b - a) for a, b in map(p.range_of, p.x)]
            moved = lambda i, j, at=at: f(at[0] + i * h, at[1] + j * h)
            a = (moved(1, 0) - 2 * moved(0, 0) + moved(-1, 0)) / h**2
            c = (moved(0, 1) - 2 * moved(0, 0) + moved(0, -1)) / h**2
            b = (moved(1, 1) - moved(1, -1) - moved(-1, 1) + moved(-1, -1)) / (4 * h**2)
            eigenvalues += np.linalg.eigvalsh(np.array([[a, b], [b, c]], dtype=float)).tolist()
    assert bounds["L"] is not None
    assert bounds["mu"] is not None
    assert max(map(abs, eigenvalues)) <= float(bounds["L"]) * (1 + 1e-9)
    assert min(eigenvalues) >= float(bounds["mu"]) - 1e-9
    assert max(map(abs, eigenvalues)) >= 0.8 * float(bounds["L"]), "the sample would not see a bound that is too small"


EVERYWHERE = {
    # formula of one variable without bounds, the largest value of its second derivative and the least by hand
    "cos(x1)/2 + x1**2": (sympy.Rational(5, 2), sympy.Rational(3, 2)),
    "log(1 + x1**2)": (2, -sympy.Rational(1, 4)),
    "sqrt(4 + x1**2)": (sympy.Rational(1, 2), 0),
    "log(cosh(x1))": (1, 0),
    "softplus(2*x1) + x1**2/2": (2, 1),
    "Piecewise((x1**2, x1 <= 0), (3*x1**2, True))": (6, 2),
    "huber(1, x1) + x1**2/2": (2, 1),
    "(1 + x1**2)**(-1/4)": (sympy.Rational(2, 7), -sympy.Rational(1, 2)),
}


@pytest.mark.parametrize("f", EVERYWHERE)
def test_constants_without_bounds_and_with_branches(f: str) -> None:
    """The bounds lie beyond the second derivative by hand, by a tenth at most, and hold at points far away."""
    most, least = EVERYWHERE[f]
    table = bv.constants(bv.single_level(f=f, x="x1"))
    chance = random.Random(SEED)
    for letter, true in (("L", max(most, -least)), ("mu", least)):
        shown = certified_constant(table, letter)
        assert shown.bound is not None, shown.reason
        room = float(shown.bound) - float(true)
        assert (-room if letter == "mu" else room) >= -1e-12
        assert abs(room) <= 0.1 * max(1.0, abs(float(true)))
        assert all(check(one.text).accepted for one in shown.certificates)
        assert all(holds_at_points(one.text, chance) for one in shown.certificates)


def test_an_infinite_letter_without_a_derivative_is_no_error() -> None:
    """The third derivative of huber is no function: rho is infinite, and the other letters have certificates."""
    table = bv.constants(bv.single_level(f="huber(1/4, x1)", x="x1"))
    shown = {letter: certified_constant(table, letter) for letter in table.paper.names}
    assert shown["rho"].reason == "not certified, or infinite"
    assert shown["L"].bound == 1


def test_a_false_bound_of_values_has_no_certificate_and_a_damaged_one_is_refused() -> None:
    free: Any = {"x1": (None, None)}
    for formula, most in ((2 * sympy.sin(x) * sympy.tanh(x), 2), (3 / (3 + x**2), 1), (sympy.cos(x) ** 2, 1)):
        data = json.loads(certificate_on_box(Relation(formula, "<=", sympy.Integer(most), free), {}, 200).text)
        with pytest.raises(NoTree):
            certificate_on_box(Relation(formula, "<=", sympy.Rational(9 * most, 10), free), {}, 200)
        assert data["statement"]["hypotheses"] == []
        boxes = next(place for place, line in enumerate(data["proof"]) if line[0] == "boxes")
        for name, (value, low, high) in data["proof"][boxes][2].items():
            for other in ([value, low, "1/2"], ["x1", low, high], [["*", 2, value], low, high]):
                changed = json.loads(json.dumps(data))
                changed["proof"][boxes][2][name] = other
                assert not check(json.dumps(changed)).accepted, other
        changed = json.loads(json.dumps(data))
        changed["statement"]["claim"][2] = ["*", "9/10", changed["statement"]["claim"][2]]
        assert not check(json.dumps(changed)).accepted
    with pytest.raises(NoTree, match="no tree"):
        certificate_on_box(Relation(x**2, "<=", sympy.Integer(1), free), {}, 200)
    with pytest.raises(NoTree, match="x1 without bounds"):
        certificate_on_box(Relation(x, "<=", 1 + x**2, free), {}, 200)


def test_cells_meet_at_the_joints_and_take_the_branch_that_holds_there() -> None:
    free: Any = {"x1": (Fraction(-3), None), "y1": (Fraction(0), Fraction(2))}
    formula = sympy.Abs(x + 1) + sympy.Max(x, 2) + sympy.sign(y - 1)
    found = cells(Relation(sympy.Integer(0), "<=", formula, free))
    ends = {(one.ranges["x1"], one.ranges["y1"]): one.large for one in found}
    assert ends == {
        ((low, high), unit): sign * (x + 1) + other + (1 if unit[0] else -1)
        for low, high, sign, other in ((-3, -1, -1, 2), (-1, 2, 1, 2), (2, None, 1, x))
        for unit in ((0, 1), (1, 2))
    }
    root = sympy.Piecewise((x, x**2 <= 2), (0, True))
    with pytest.raises(NoTree, match="no linear equation"):
        cells(Relation(sympy.Integer(0), "<=", root, free))
    with pytest.raises(NoTree, match="several letters"):
        cells(Relation(sympy.Integer(0), "<=", sympy.Abs(x - y), free))
    [below, above] = cells(Relation(sympy.Integer(0), "<=", sympy.Abs(x - sympy.sqrt(2)), {"x1": (Fraction(0), None)}))
    assert below.ranges["x1"][1] > above.ranges["x1"][0]  # type: ignore[operator]
    assert above.ranges["x1"][0] ** 2 < 2 < below.ranges["x1"][1] ** 2  # type: ignore[operator]


RELATIONS = [
    (x**2, "<=", 4, {"x1": (-2, 2)}),
    (sympy.cosh(x), "<=", sympy.Rational(377, 100), {"x1": (-2, 2)}),
    (x * y, "<", sympy.Rational(201, 100), {"x1": (0, 1), "y1": (0, 2)}),
    (sympy.sin(x) * y, "<=", sympy.Rational(101, 100), {"x1": (0, 3), "y1": (-1, 1)}),
    (sympy.exp(x) - x, "<=", sympy.Rational(172, 100), {"x1": (0, 1)}),
    (sympy.log(1 + x**2), "<=", sympy.Rational(161, 100), {"x1": (-2, 2)}),
]


def relation(small: Any, op: str, large: Any, ranges: Any) -> Relation:
    ends = {name: (Fraction(a), Fraction(b)) for name, (a, b) in ranges.items()}
    return Relation(sympy.sympify(small), op, sympy.sympify(large), ends)


@pytest.mark.parametrize(("small", "op", "large", "ranges"), RELATIONS)
def test_false_bounds_have_no_tree_and_damaged_files_are_refused(small: Any, op: str, large: Any, ranges: Any) -> None:
    text = certificate_on_box(relation(small, op, large, ranges), {}, 800).text
    assert check(text).accepted
    for least in (sympy.Rational(9, 10), sympy.Rational(1, 2), 0, -1):
        with pytest.raises(NoTree):
            certificate_on_box(relation(small, op, large * least if least != 0 else -1, ranges), {}, 800)
    for damaged in damages(json.loads(text)):
        assert not check(json.dumps(damaged)).accepted, damaged


def damages(data: dict[str, Any]) -> list[dict[str, Any]]:
    """A claim that is too strong, a box or a range that is too wide, a tree without its splits, a hypothesis less."""
    found = []
    again = lambda: json.loads(json.dumps(data))
    for op in ("claim only", "goal only", "both"):
        one = again()
        goal = [data["statement"]["claim"][0], data["statement"]["claim"][1], -1]
        if op != "goal only":
            one["statement"]["claim"] = goal
        if op != "claim only":
            one["proof"][-1][1] = goal
        found.append(one)
    name, (value, low, high) = next(iter(data["proof"][-1][2].items()))
    one = again()
    one["proof"][-1][2][name] = [value, low, str(Fraction(high) + 1)]
    found.append(one)
    one = again()
    one["proof"][-1][2][name] = [value, str((Fraction(low) + Fraction(high)) / 2), high]
    found.append(one)  # half of the box alone: the claim is about all of it
    one = again()
    del one["statement"]["hypotheses"][0]
    found.append(one)
    if data["proof"][-1][3] is not None:
        one = again()
        one["proof"][-1][3] = None
        found.append(one)
    return found


def test_the_least_value_of_a_polynomial_lies_between_the_certificates() -> None:
    """x^4/4 - x^2/2 + x/5 on [-2, 2]: the least value by the roots of the cubic."""
    p = bv.single_level(f="x1**4/4 - x1**2/2 + x1/5", x="x1", domain={"x": (-2, 2)})
    least = min(r**4 / 4 - r**2 / 2 + r / 5 for r in np.roots([1, 0, -1, 0.2]).real)
    low, high = certified_minimum(bv.truth(p))
    assert low.bound is not None
    assert high.bound is not None
    assert float(low.bound) <= least <= float(high.bound) + 1e-15
    assert float(high.bound) - float(low.bound) <= 1e-3
    assert all(check(one.text).accepted for one in (*low.certificates, *high.certificates))


def test_the_least_value_over_a_whole_line_has_certificates_of_both_ends() -> None:
    """x^2/2 + 1/3, for all x: boxes do not reach, a square does."""
    low, high = certified_minimum(bv.truth(bv.single_level(f="x1**2/2 + 1/3", x="x1")))
    assert low.bound is not None, low.reason
    assert high.bound is not None, high.reason
    assert (
        Fraction(1, 3) - Fraction(1, 10**9)
        <= low.bound
        <= Fraction(1, 3)
        <= high.bound
        <= low.bound + Fraction(1, 10**8)
    )
    [one] = low.certificates
    assert check(one.text).accepted
    assert json.loads(one.text)["statement"]["hypotheses"] == []


@pytest.mark.parametrize("at", [Fraction(1, 3), Fraction(-7, 5), Fraction(0)])
def test_the_ball_holds_the_minimiser(at: Fraction) -> None:
    """cosh-lower: y*(x) = asinh(x/2) by its closed form in 30 digits."""
    t = bv.truth(bv.zoo("cosh-lower"))
    shown = certified_ball(t, {"x1": at})
    assert shown.bound is not None, shown.reason
    centre = json.loads(shown.certificates[-1].text)["about"]["y"]
    with mpmath.workdps(30):
        error = abs(
            mpmath.mpf(Fraction(centre).numerator) / Fraction(centre).denominator
            - mpmath.asinh(mpmath.mpf(at.numerator) / at.denominator / 2)
        )
    assert error <= float(shown.bound) <= 1e-9
    assert all(check(one.text).accepted for one in shown.certificates)


def test_without_a_word_or_a_bound_the_reason_is_said() -> None:
    assert certified_constant(bv.constants(bv.zoo("bilevel-cubic")), "L_g").reason == "x1, y1 without bounds"
    assert certified_constant(bv.constants(bv.zoo("log-tail")), "L").reason == "no tree of 1500 boxes"
    assert certified_constant(bv.constants(bv.zoo("cardano")), "rho_g").reason == "a tensor"
    assert closed_phi(bv.zoo("cardano")) is not None
    shen = certified_minimum(bv.truth(bv.zoo("shen-chen")))
    assert {one.reason for one in shen} == {"phi has no closed formula"}


def test_the_commands_write_what_the_small_checker_accepts(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["constants", "zoo:cardano", "--only", "mu,L_g,rho_g", "--certificates", str(tmp_path / "c")]) == 0
    said = capsys.readouterr().out
    assert "L_g <= 7.87695265: 6 files" in said
    assert "rho_g <= 9.00000001: no certificate (a tensor)" in said or "rho_g <= 9.0000000" in said
    files = sorted((tmp_path / "c").glob("*.json"))
    assert len(files) == 7
    assert all(check(file.read_text()).accepted for file in files)
    command = ["solve", "gradient-descent", "--problem", "zoo:double-well", "--eps", "0.1", "--json"]
    assert main([*command, "--truth", "--certificates", str(tmp_path / "t")]) == 0
    record = json.loads(capsys.readouterr().out)["certificates"]
    assert record["inf phi >="]["shown"] <= -0.0025 <= record["inf phi <="]["shown"] + 1e-12
    assert math.isfinite(record["inf phi >="]["value"])
    assert main([*command, "--certificates", str(tmp_path / "t")]) == 2
    assert "add --truth" in capsys.readouterr().err
