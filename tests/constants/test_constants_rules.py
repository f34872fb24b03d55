"""The rules of the calculus, one by one, against exact small cases: sums, products, compositions, moduli, groups."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational

from bilevel_verify.atoms import abspow, huber, pluspow, psi, sgnpow
from bilevel_verify.constants.bound import bounds
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.calculus.affine_variables import affine_variables, faces
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import Domain, box_around, one_period
from bilevel_verify.constants.formula.smoothness import first_jump
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.hoelder import continuity
from bilevel_verify.constants.hoelder.continuity import Setting, Step
from bilevel_verify.constants.hoelder.hoelder_sums import Modulus, combine
from bilevel_verify.constants.hoelder.moduli import scalar_modulus
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.problems import feasible as sets

pytestmark = pytest.mark.fast

X, Y = VARIABLES = sympy.symbols("x y", real=True)
T = sympy.Symbol("t", real=True)
INF = math.inf
WHY = Reason("test", "a bound")
ENGINE = sys.modules[Analysis.__module__]


def setting(order: int, lo: float = -1.0, hi: float = 1.0, block: tuple[int, ...] = (0,)) -> Setting:
    return Setting((T,), np.array([lo]), np.array([hi]), frozenset(block), order)


def plane(order: int, block: tuple[int, ...] = (0, 1), lo: float = -1.0, hi: float = 2.0) -> Setting:
    return Setting(VARIABLES, np.full(2, lo), np.full(2, hi), frozenset(block), order)


def known(expression: sympy.Expr, where: Setting) -> continuity.Known:
    found = continuity._known(normalise(sympy.sympify(expression)), where)
    assert found is not None
    return found


# ---- sizes of derivatives --------------------------------------------------------------------------------------------


def test_set_partitions_are_counted_by_their_block_sizes() -> None:
    assert {sizes: count for count, sizes in continuity._partitions(4)} == {
        (4,): 1, (3, 1): 4, (2, 2): 3, (2, 1, 1): 6, (1, 1, 1, 1): 1,
    }  # fmt: skip
    assert [sum(count for count, _ in continuity._partitions(j)) for j in range(1, 6)] == [1, 2, 5, 15, 52]


def test_faa_di_bruno_has_bell_numbers() -> None:
    """All derivatives of exp are 1 at 0, so those of exp(exp t) / e count the partitions."""
    function = continuity._outer(sympy.exp(T), {T})[0]  # type: ignore[index]
    one = Interval(np.asarray(0.0), np.asarray(0.0))
    inner = continuity.Known(one, (0.0, 1.0, 1.0, 1.0, 1.0), ((Step(Integer(1), 1.0, INF),),) * 5)
    found = continuity._composition(function, inner)
    assert found.sizes == pytest.approx((1.0, 1.0, 2.0, 5.0, 15.0), rel=1e-12)
    assert all(size >= exact for size, exact in zip(found.sizes, (1, 1, 2, 5, 15)))


def test_leibniz_has_binomial_coefficients() -> None:
    """(e^t)(e^t) has derivatives 2^j e^(2t)."""
    part = known(sympy.exp(T), setting(4, 0.0, 0.0))
    product = continuity._product_of(part, part)
    assert product.sizes == pytest.approx((1.0, 2.0, 4.0, 8.0, 16.0), rel=1e-12)
    for j, steps in enumerate(product.moduli):
        assert steps[0].constant >= 2.0**j * 2 * (1 - 1e-12)  # the next derivative, 2^(j+1)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "expression",
    [
        sympy.sin(2 * T) * sympy.exp(T / 2),
        sympy.exp(sympy.sin(T)),
        T**3 * sympy.cos(T),
        sympy.sin(sympy.exp(T) + T),
        sympy.atan(T) ** 2 + 3 * T,
        sympy.tanh(T) * sympy.exp(-(T**2)) * sympy.cos(T),
    ],
)
def test_sizes_and_moduli_cover_the_derivatives(order: int, expression: sympy.Expr) -> None:
    found = known(expression, setting(order))
    grid = np.linspace(-1, 1, 201)
    for j in range(order + 1):
        values = np.vectorize(sympy.lambdify(T, sympy.diff(expression, T, j), "math"), otypes=[float])(grid)
        assert found.sizes[j] >= np.abs(values).max() * (1 - 1e-12)
        gap = np.abs(values[:, None] - values[None])
        distance = np.abs(grid[:, None] - grid[None])
        allowed = sum(
            np.minimum(s.constant * distance ** float(s.nu), s.oscillation) for s in found.moduli[j]
        ) + np.zeros_like(gap)
        assert (gap <= allowed * (1 + 1e-9) + 1e-13).all()
    assert float(found.value.lo) <= values_range(expression, grid)[0]
    assert float(found.value.hi) >= values_range(expression, grid)[1]


def values_range(expression: sympy.Expr, grid: np.ndarray) -> tuple[float, float]:
    values = [float(expression.subs(T, v)) for v in grid[::20]]
    return min(values), max(values)


def test_a_sum_adds_sizes_and_moduli_and_keeps_the_range() -> None:
    first, second, third = (known(f, setting(2, 0.0, 1.0)) for f in (T, -T, T / 2))
    total = continuity._sum([first, second, third])
    assert total.sizes[0] == pytest.approx(1.5)  # from the range [-1, 3/2], not 1 + 1 + 1/2
    assert total.sizes[1] == pytest.approx(2.5)
    assert [s.constant for s in total.moduli[0]] == [pytest.approx(2.5)]


@pytest.mark.parametrize("block", [(0,), (1,), (0, 1)])
def test_an_affine_form_moves_in_all_variables_and_has_slots_in_its_block(block: tuple[int, ...]) -> None:
    found = known(3 * X - 4 * Y + Rational(1, 3), plane(2, block))
    inside = math.sqrt(sum({0: 9.0, 1: 16.0}[i] for i in block))
    assert inside <= found.sizes[1] <= inside * (1 + 1e-13)
    assert 5.0 <= found.moduli[0][0].constant <= 5.0 * (1 + 1e-13)
    assert found.sizes[2] == 0.0
    assert found.moduli[1] == ()
    lo, hi = float(found.value.lo), float(found.value.hi)
    assert lo <= -11 + 1 / 3 <= lo + 1e-12
    assert hi - 1e-12 <= 10 + 1 / 3 <= hi
    assert found.moduli[0][0].oscillation >= 21.0


def test_a_constant_does_not_move() -> None:
    found = known(sympy.sqrt(2), plane(2))
    assert found.sizes[1:] == (0.0, 0.0)
    assert found.moduli == ((), (), ())
    assert found.sizes[0] >= math.sqrt(2)


def test_steps_of_one_exponent_are_added_and_empty_ones_left_out() -> None:
    half, one = Rational(1, 2), Integer(1)
    steps = [Step(half, 1.0, 2.0), Step(one, 5.0, INF), Step(half, 3.0, 4.0), Step(one, 0.0, 1.0), Step(half, 1.0, 0.0)]
    assert set(continuity._gathered(steps)) == {Step(half, 4.0, 6.0), Step(one, 5.0, INF)}
    assert continuity._bounded([Step(half, 1.0, 9.0)], 2.0) == (Step(half, 1.0, 4.0),)
    assert continuity._bounded([Step(half, 1.0, 3.0)], 2.0) == (Step(half, 1.0, 3.0),)
    assert continuity._bounded(steps[:2], 0.5) == (steps[0], steps[1])  # two parts may move together
    assert continuity._product(0.0, INF) == continuity._product(INF, 0.0) == 0.0
    assert continuity._product(2.0, INF) == INF


def test_exponents_multiply_through_a_composition() -> None:
    step = continuity._powered(Step(Rational(1, 2), 4.0, 9.0), Rational(1, 2), 3.0, 7.0)
    assert step.nu == Rational(1, 4)
    assert 6.0 <= step.constant <= 6.0 * (1 + 1e-12)
    assert step.oscillation == 7.0
    assert continuity._powered(Step(Integer(1), 4.0, 9.0), Integer(0), 3.0, 7.0).constant == 3.0
    assert continuity._powered(Step(Integer(1), 0.0, 9.0), Rational(1, 2), 3.0, 7.0).constant == 0.0


def test_the_room_for_rounding_is_added_to_what_is_handed_on() -> None:
    raw = known(sympy.sin(T) * T, setting(1)).moduli[-1]
    found = continuity.moduli_of(normalise(sympy.sin(T) * T), setting(1))
    assert found is not None
    assert [s.constant for s in found] == [s.constant * continuity.ROOM for s in raw]
    assert continuity.ROOM > 1


def test_a_node_without_a_rule_gives_nothing() -> None:
    assert continuity.moduli_of(sympy.Max(T, T**2) + T, setting(1)) is None
    assert continuity.moduli_of(sympy.floor(T) * T, setting(1)) is None
    assert continuity.moduli_of(sympy.Max(T, T**2) * sympy.sin(T), setting(1)) is None


# ---- moduli of atoms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "k", "span", "nu", "constant"),
    [
        (abspow(Rational(3, 2), T), 1, (-1, 1), Rational(1, 2), 1.5 * math.sqrt(2)),
        (abspow(Rational(3, 2), T), 1, (0, 1), Rational(1, 2), 1.5),
        (pluspow(Rational(5, 2), T), 2, (-1, 1), Rational(1, 2), 3.75),
        (sgnpow(Rational(5, 2), T), 2, (-1, 1), Rational(1, 2), 3.75 * math.sqrt(2)),
        (abspow(Rational(5, 2), T), 2, (-1, 1), Rational(1, 2), 3.75),
        (abspow(3, T), 2, (-1, 1), Integer(1), 6.0),
        (psi(Rational(1, 2), T), 3, (-INF, INF), Rational(1, 2), math.sqrt(2)),
        (sympy.sin(T), 2, (-INF, INF), Integer(1), 1.0),
        (sympy.exp(T), 2, (0, 1), Integer(1), math.e),
    ],
)
def test_the_modulus_of_an_atom(
    expression: sympy.Expr, k: int, span: tuple[float, float], nu: sympy.Expr, constant: float
) -> None:
    ridge = structure_of(normalise(expression), (T,)).ridges[0]
    weight = float(ridge.weight)
    found, size, closed, oscillation, _ = scalar_modulus(ridge.function, k, span)
    assert found == nu
    assert constant <= size * weight * (1 + 1e-12) <= constant * (1 + 1e-9)
    if closed is not None:
        assert float(closed) * weight == pytest.approx(constant, rel=1e-12)
    values = ridge.function.range(k, Interval(np.asarray(float(span[0])), np.asarray(float(span[1]))))
    assert oscillation >= float(values.hi - values.lo)


@pytest.mark.parametrize(
    ("expression", "k", "constant"),
    [
        (sympy.Abs(T), 1, 2.0),
        (sympy.Abs(T), 2, INF),
        (huber(1, T), 2, 1.0),
        (pluspow(2, T), 2, 2.0),
        (pluspow(2, T), 3, INF),
    ],
)
def test_a_derivative_that_jumps_has_exponent_zero_or_no_bound(expression: sympy.Expr, k: int, constant: float) -> None:
    ridge = structure_of(normalise(expression), (T,)).ridges[0]
    nu, size, _, _, _ = scalar_modulus(ridge.function, k, (-1.0, 1.0))
    assert nu == 0
    assert constant * (1 - 1e-12) <= size * abs(float(ridge.weight)) <= constant * (1 + 1e-9)
    away = scalar_modulus(ridge.function, k, (0.25, 0.75))
    assert math.isfinite(away[1])
    assert (away[0] == 1) == (not ridge.function.name.startswith("Huber"))


# ---- sums of moduli --------------------------------------------------------------------------------------------------


def brute(group: list[Modulus], nu: float, diameter: float) -> float:
    """The supremum over many distances."""
    distances = 10.0 ** np.linspace(-9, 9, 20001)
    distances = np.append(distances[distances <= diameter], [diameter] if math.isfinite(diameter) else [])
    total = sum(np.minimum(m.constant * distances ** float(m.nu), m.oscillation) for m in group)
    return float((total / distances**nu).max())


@pytest.mark.parametrize("nu", [Integer(0), Rational(1, 4), Rational(1, 2), Integer(1)])
@pytest.mark.parametrize("diameter", [0.05, 1.0, 3.0, INF])
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_of_moduli_at_one_exponent(nu: sympy.Expr, diameter: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    exponents = [e for e in (Rational(1, 2), Integer(1), Rational(3, 4)) if e >= nu]
    group = [
        Modulus(
            exponents[int(rng.integers(len(exponents)))], float(rng.uniform(0.1, 3)), float(rng.uniform(0.1, 3)), ""
        )
        for _ in range(3)
    ]
    found = combine(group, nu, diameter)
    truth = brute(group, float(nu), diameter)
    assert truth * (1 - 1e-12) <= found.upper
    exact = sum(m.constant for m in group if m.nu == nu)
    assert found.upper <= max(truth, exact) * 1.01
    assert found.lower == 0.0


def test_parts_without_a_constant_or_without_a_bound() -> None:
    one, half = Integer(1), Rational(1, 2)
    jumps = Modulus(one, INF, 2.0, "bounded")
    smooth = Modulus(one, 3.0, INF, "Lipschitz")
    assert combine([jumps, jumps], Integer(0), INF).upper == pytest.approx(4.0)
    assert combine([jumps, jumps], Integer(0), 1.0).upper == pytest.approx(4.0)
    assert combine([jumps, smooth], half, 1.0).upper == INF
    assert combine([jumps, smooth], Integer(0), INF).upper == INF
    assert combine([smooth, Modulus(half, 1.0, 1.0, "")], half, INF).upper == INF
    assert combine([smooth, smooth], one, INF).upper == pytest.approx(6.0)
    assert combine([smooth], half, 4.0).upper == pytest.approx(6.0)
    assert combine([smooth], half, INF).upper == INF
    assert combine([jumps], half, 4.0).upper == INF
    assert combine([], half, 1.0).upper == 0.0


def test_a_part_that_does_not_move_adds_nothing() -> None:
    moving = Modulus(Rational(1, 2), 2.0, 1.0, "")
    still = Modulus(Integer(1), 3.0, 0.0, "")
    for diameter in (0.1, 1.0, INF):
        both = combine([moving, still], Rational(1, 4), diameter).upper
        assert both == pytest.approx(combine([moving, moving], Rational(1, 4), diameter).upper / 2)


def test_a_single_modulus_at_its_own_exponent_keeps_its_closed_form() -> None:
    half = Rational(1, 2)
    exact = combine([Modulus(half, 1.5, INF, "", Rational(3, 2), True)], half, INF)
    assert (exact.upper, exact.lower, exact.route, exact.attained) == (1.5, 1.5, "exact", True)
    rough = combine([Modulus(half, 1.5, INF, "", Rational(3, 2), False)], half, INF)
    assert (rough.upper, rough.lower, rough.attained) == (1.5, 0.0, False)
    plain = combine([Modulus(half, 1.5, INF, "", None, True)], half, INF)
    assert (plain.route, plain.attained, plain.lower) == ("calculus", False, 0.0)


# ---- bounds of separate groups ---------------------------------------------------------------------------------------


def bound(upper: float, lower: float = 0.0, certified: bool = True, **more: object) -> Bound:
    return Bound(upper, lower, certified, "calculus", WHY, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200, 0.1])
def test_gradients_of_separate_groups_add_in_squares(size: float) -> None:
    found = bounds.combine([bound(3 * size, size), bound(4 * size, 0.0), bound(12 * size, 2 * size)], "z")
    exact = 13 * sympy.Rational(size)
    assert sympy.Rational(found.upper) >= sympy.sqrt(
        sum((sympy.Rational(k * size) ** 2 for k in (3, 4, 12)), Integer(0))
    )
    assert found.upper <= float(exact) * (1 + 1e-14)
    assert found.lower == pytest.approx(math.sqrt(5) * size)


def test_other_forms_of_separate_groups_are_the_largest() -> None:
    found = bounds.combine([bound(3.0, 2.5), bound(5.0, 1.0), bound(4.0, 0.0)], "zz")
    assert (found.upper, found.lower) == (5.0, 2.5)


@pytest.mark.parametrize("slots", ["z", "zz", "xyz"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_group_that_is_not_certified_is_enough(slots: str, place: int) -> None:
    parts = [bound(3.0 + k, certified=k != place) for k in range(3)]
    assert not bounds.combine(parts, slots).certified
    assert bounds.combine([bound(3.0), bound(1.0)], slots).certified


def test_a_closed_gradient_needs_all_closed_and_finite() -> None:
    closed = [bound(3.0, 3.0, exact=Integer(3), attained=True), bound(4.0, 4.0, exact=Integer(4), attained=True)]
    found = bounds.combine(closed, "z")
    assert (found.exact, found.upper, found.attained) == (5, 5.0, True)
    assert bounds.combine([*closed, bound(1.0)], "z").exact is None
    assert not bounds.combine([*closed, bound(1.0)], "z").attained
    infinite = bounds.combine([*closed, bound(INF, INF, exact=sympy.oo)], "z")
    assert (infinite.exact, infinite.upper) == (None, INF)


def test_no_group_at_all_is_zero_and_one_is_itself() -> None:
    nothing = bounds.combine([], "zz")
    assert (nothing.upper, nothing.lower, nothing.exact, nothing.attained) == (0.0, 0.0, 0, True)
    only = bound(2.0, 1.0, False)
    assert bounds.combine([only], "z") is only


@pytest.mark.parametrize("sure", [True, False])
def test_a_jump_is_an_infinite_constant_only_if_it_is_sure(sure: bool) -> None:
    found = bounds.jump_bound(smoothness.Jump(1, "a kink", {"x": 0.5}, sure), 2)
    assert (found.upper, found.certified, found.witness) == (INF, True, {"x": 0.5})
    assert (found.lower, found.exact, found.attained) == ((INF, sympy.oo, True) if sure else (0.0, None, False))
    assert "order 1" in found.why.statement


def test_strong_convexity_of_separate_groups_is_the_least_and_certified_only_if_all_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, b, c = sympy.symbols("a b c", real=True)
    structure = structure_of(a**2 + 2 * b**2 + 3 * c**2, (a, b, c))
    analysis = Analysis(structure, (False,) * 3, Domain(np.full(3, -1.0), np.full(3, 1.0), "box", False), "g")
    assert (analysis.convexity().lower, analysis.convexity().exact) == (2.0, 2)
    values = {0: bound(9.0, 1.5), 1: bound(4.0, 3.0, False), 2: bound(5.0, 2.0)}
    parts = iter([0, 1, 2] * 3)
    monkeypatch.setattr(ENGINE, "convexity", lambda part: values[next(parts)])
    found = analysis.convexity()
    assert (found.lower, found.upper, found.certified, found.exact) == (1.5, 4.0, False, None)


def test_an_eigenvalue_reached_is_never_below_the_certified_one(monkeypatch: pytest.MonkeyPatch) -> None:
    structure = structure_of(X**2 + Y**2, VARIABLES)
    analysis = Analysis(structure, (True, False), Domain(np.full(2, -1.0), np.full(2, 1.0), "box", False), "g")
    monkeypatch.setattr(ENGINE, "convexity", lambda part: bound(1.0 - 1e-16, 1.0))
    assert analysis.convexity().upper == 1.0


@pytest.mark.parametrize(
    ("value", "lower", "upper", "certified", "status"),
    [
        (2.0, 1.0, 2.0, True, "certified"),
        (2.0, 1.0, 2.0, False, "not certified"),
        (INF, 1.0, INF, True, "no bound found"),
        (INF, INF, INF, True, "certified"),
        (INF, INF, INF, False, "not certified"),
        (-INF, -INF, 1.0, True, "no bound found"),
    ],
)
def test_the_status_of_a_constant(value: float, lower: float, upper: float, certified: bool, status: str) -> None:
    side = "lower" if value == -INF else "upper"
    constant = Constant("L", value, lower, upper, side, certified, "calculus", "", "", WHY)  # type: ignore[arg-type]
    assert constant.status == status


# ---- domains ---------------------------------------------------------------------------------------------------------


WHOLE = Domain(np.full(2, -INF), np.full(2, INF), "whole space", True)


@pytest.mark.parametrize(
    ("expression", "period"),
    [
        (sympy.sin(X), 2 * math.pi),
        (sympy.sin(2 * X) + sympy.cos(3 * X), 2 * math.pi),
        (sympy.sin(X) + sympy.sin(X * Rational(3, 2) + 1), 4 * math.pi),
        (sympy.sin(sympy.pi * X) + sympy.cos(sympy.pi * X / 3), 6.0),
        (sympy.sin(X * (10**20 + 1) / 10**20) - sympy.sin(X), 2e20 * math.pi),
        (sympy.sin(X) + sympy.sin(sympy.sqrt(2) * X), None),
        (sympy.sin(X) + sympy.cos(X * sympy.exp(sympy.pi * sympy.sqrt(163)) / 262537412640768744), None),
        (sympy.sin(X) + sympy.cos(sympy.pi**4 * X * 25 * 10**12 / 2435227275850061), None),
        (sympy.sin(X) + sympy.exp(X), None),
        (sympy.sin(X) * Y - sympy.sin(X * (10**20 + 1) / 10**20) * Y, 2e20 * math.pi),
        (sympy.sin(X**2), None),
    ],
)
def test_a_period_is_exact_or_none(expression: sympy.Expr, period: float | None) -> None:
    found = one_period(structure_of(normalise(expression), VARIABLES), WHOLE, 2)
    if period is None:
        assert (found.lo[0], found.hi[0]) == (-INF, INF)
    else:
        assert found.lo[0] == 0.0
        assert period * (1 - 1e-15) <= found.hi[0] <= period * (1 + 1e-12)


def test_growth_and_finite_ends_forbid_a_period() -> None:
    structure = structure_of(sympy.sin(X) + X * Y, VARIABLES)
    assert one_period(structure, WHOLE, 1).hi[0] == INF
    assert one_period(structure, WHOLE, 2).hi[0] == pytest.approx(2 * math.pi)
    half = Domain(np.array([0.0, -INF]), np.full(2, INF), "half", False)
    assert one_period(structure, half, 2).hi[0] == INF


def test_boxes_around_feasible_sets_contain_them() -> None:
    lo, hi = box_around(sets.Ball(radius=0.1, center=(0.2, 0.3)), 2)
    assert (lo < np.array([0.2, 0.3]) - 0.1).all()
    assert (hi > np.array([0.2, 0.3]) + 0.1).all()
    lo, hi = box_around(sets.Intersection(sets=(sets.Orthant(), sets.L1Ball(radius=2.0))), 2)
    assert (lo.tolist(), hi.tolist()) == ([0.0, 0.0], [2.0, 2.0])
    lo, hi = box_around(sets.Simplex(total=3.0), 2)
    assert (lo.tolist(), hi.tolist()) == ([0.0, 0.0], [3.0, 3.0])
    lo, hi = box_around(sets.WholeSpace(), 2)
    assert (lo.tolist(), hi.tolist()) == ([-INF, -INF], [INF, INF])


def test_local_and_global_domains_are_told_apart() -> None:
    domain = Domain(np.array([-INF, 0.0, -INF]), np.array([INF, 1.0, INF]), "0 <= y <= 1", False)
    assert domain.unbounded
    assert not domain.free
    assert domain.part((0, 2)).free
    assert not domain.part((1,)).unbounded
    assert domain.part((2, 1)).lo.tolist() == [-INF, 0.0]
    assert not domain.part((0, 2)).whole_space


# ---- affine variables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "order", "numbers"),
    [
        (X * sympy.sin(Y), 2, (0,)),
        (X * sympy.sin(Y) * X, 2, ()),
        (X**2 * sympy.sin(Y), 2, ()),
        ((1 + X) * sympy.sin(Y), 2, (0,)),
        (X * (X + 1) * sympy.sin(Y), 2, ()),
        (sympy.exp(X) * sympy.sin(Y), 2, ()),
        (X * sympy.sin(X * Y), 2, ()),
        (X * sympy.exp(Y**2) + X**4, 2, ()),
        (sympy.sqrt(X) * sympy.sin(Y), 2, ()),
    ],
)
def test_which_variables_are_affine_in_a_derivative(
    expression: sympy.Expr, order: int, numbers: tuple[int, ...]
) -> None:
    structure = structure_of(expression, VARIABLES)
    if structure.ridges or structure.rest is None:  # rewriting has made ridges of the powers: they are not affine
        structure = structure_of(sympy.Mul(expression, 1, evaluate=False), VARIABLES)
    assert tuple(i for i in affine_variables(structure, order) if i == 0) == numbers


def test_a_term_without_the_variable_does_not_spoil_it() -> None:
    names = a, b, c = sympy.symbols("a b c", real=True)
    assert affine_variables(structure_of(a * sympy.sin(b * c) + b * sympy.exp(b * c), names), 2) == (0,)
    assert affine_variables(structure_of(a * sympy.sin(b * c) + b * sympy.exp(a * c), names), 2) == ()


def test_affine_variables_are_put_at_both_ends_if_both_are_finite() -> None:
    structure = structure_of(X * sympy.sin(Y**2), VARIABLES)
    lo, hi = faces(Domain(np.array([1.0, 0.0]), np.array([2.0, 5.0]), "", False), structure, 2)
    assert (lo.tolist(), hi.tolist()) == ([[1.0, 0.0], [2.0, 0.0]], [[1.0, 5.0], [2.0, 5.0]])
    lo, hi = faces(Domain(np.array([1.0, 0.0]), np.array([INF, 5.0]), "", False), structure, 2)
    assert (lo.tolist(), hi.tolist()) == ([[1.0, 0.0]], [[INF, 5.0]])
    lo, hi = faces(Domain(np.array([-INF, 0.0]), np.array([1.0, 5.0]), "", False), structure, 2)
    assert (lo.tolist(), hi.tolist()) == ([[-INF, 0.0]], [[1.0, 5.0]])


# ---- kinks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "order"),
    [
        (sympy.Abs(X), 1),
        (X * sympy.Abs(X * Y), 1),
        (sympy.Max(X, Y), 1),
        (sympy.Max(X * Y, Y), 1),
        (abspow(Rational(5, 2), X * Y), 3),
        (pluspow(3, X + Y), 3),
        (sympy.floor(X * Y), 0),
        (sympy.Piecewise((X**2, X < 0), (X**3, True)), 2),
        (sympy.Piecewise((X**2 * Y, X < 0), (X**3, True)), 0),
        (sympy.sin(X * Y), None),
    ],
)
def test_the_first_derivative_that_is_lost(expression: sympy.Expr, order: int | None) -> None:
    structure = structure_of(normalise(expression), VARIABLES)
    box = Domain(np.full(2, -1.0), np.full(2, 1.0), "", False)
    found = first_jump(structure, box)
    assert (None if found is None else found.order) == order


def test_a_kink_outside_or_at_the_edge_does_not_count_and_one_inside_does() -> None:
    structure = structure_of(normalise(sympy.Abs(X - 1)), VARIABLES)

    def lost(lo: float, hi: float) -> bool:
        return first_jump(structure, Domain(np.array([lo, 0.0]), np.array([hi, 1.0]), "", False)) is not None

    assert lost(0.0, 2.0)
    assert lost(0.0, 1.0 + 1e-12)
    assert not lost(1.0 + 1e-12, 3.0)
    assert not lost(2.0, 3.0)
    kinks = [
        smoothness.kinks(structure.ridges[0].function, *span)[0] for span in ((0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0))
    ]
    assert kinks == [INF, INF, 0]


def test_a_joint_of_pieces_counts_inside_of_the_domain_only() -> None:
    pieces = sympy.Piecewise((X**2, X < 0), (X**3, True))

    def lost(lo: float, hi: float, expression: sympy.Expr = pieces) -> int | None:
        box = Domain(np.array([lo, -1.0]), np.array([hi, 1.0]), "", False)
        found = first_jump(structure_of(expression * sympy.exp(X * Y), VARIABLES), box)
        return None if found is None else found.order

    assert [lost(-1, 1), lost(-1, 1e-9), lost(-1, 0), lost(0, 1), lost(1, 2), lost(-2, -1)] == [
        2,
        2,
        None,
        None,
        None,
        None,
    ]
    assert lost(1, 2, sympy.Piecewise((X, sympy.sin(X) > 0), (X**3, True))) == 0  # joints that are not simple
    assert lost(1, 2, sympy.Piecewise((X, X < Y), (X**3, True))) == 0


def test_several_kinks_are_not_surely_a_kink() -> None:
    box = Domain(np.full(2, -1.0), np.full(2, 1.0), "", False)
    one = first_jump(structure_of(normalise(sympy.Abs(X)), VARIABLES), box)
    two = first_jump(structure_of(normalise(sympy.Abs(X) - sympy.Abs(2 * X) / 2), VARIABLES), box)
    assert one is not None
    assert one.sure
    assert two is None or not two.sure


def test_a_kink_counts_only_for_the_blocks_that_see_it() -> None:
    structure = structure_of(normalise(sympy.Abs(X) + Y**2), VARIABLES)
    box = Domain(np.full(2, -1.0), np.full(2, 1.0), "", False)
    assert first_jump(structure, box, ((0,), (0,))) is not None
    assert first_jump(structure, box, ((1,), (1,))) is None
    assert first_jump(structure, box, ((0,), (1,))) is None
