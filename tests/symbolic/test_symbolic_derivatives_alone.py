"""Derived quantities, each side condition alone: exact numbers at rational points, unequal numbers of x and y."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import sympy
from sympy import Matrix, Rational

import bilevel_verify as bv
from bilevel_verify.errors import InputError
from bilevel_verify.symbolic import derivatives
from bilevel_verify.symbolic.derivatives import Derivatives, inverse

pytestmark = pytest.mark.fast

F = "x1**2*y1*y3 + x2**3*y2 + x1*x2*y3**2 + y1*y2**2 + x2*y1"
G = "(y1 - x1**2)**2 + (y2 - x1*x2)**2 + 2*(y3 - x2)**2 + (y1 - x1**2)*(y2 - x1*x2) + (y1 - x1**2)**3"
"""y*(x) = (x1**2, x1 x2, x2) is stationary, g_yy couples y1 and y2, and third derivatives do not vanish there."""
LINES = ("x1**2", "x1*x2", "x2")
TWO = bv.bilevel(f=F, g=G, x="x1 x2", y="y1 y2 y3")
ONE = bv.single_level(f="x1**3*x2 + x2**2", x="x1 x2")
DUEL = bv.minimax(f="x1**2*x2 + x1*x2*y1 - (2 + x1**2)*y1**2", x="x1 x2", y="y1")
SIMPLE = bv.simple_bilevel(f="x1**2 + x2", g="(x1 + x2)**2", x="x1 x2")
RING = bv.bilevel(  # five lower variables, all coupled: too many to be inverted by hand
    f="x1*y1**2 + y2*y3 + x1**2*y5",
    g="3*(y1**2 + y2**2 + y3**2 + y4**2 + y5**2) + y1*y2 + y2*y3 + y3*y4 + y4*y5 + y5*y1 - x1*y1 - x1**2*y4 + x1*y2**2",
    x="x1",
    y="y1 y2 y3 y4 y5",
)


def at(problem: Any, numbers: str) -> dict[Any, Any]:
    return {s: Rational(n) for s, n in zip(problem.variables, numbers.split(), strict=True)}


def brute(expression: Any, symbols: tuple[Any, ...]) -> Any:
    for s in symbols:
        expression = sympy.diff(expression, s)
    return sympy.expand(expression)


def columns(expression: Any, *blocks: tuple[Any, ...]) -> Matrix:
    """A gradient as a column, or a block of second derivatives."""
    rows, across = blocks[0], blocks[1] if len(blocks) == 2 else None
    if across is None:
        return Matrix([sympy.diff(expression, r) for r in rows])
    return Matrix(len(rows), len(across), lambda i, j: sympy.diff(expression, rows[i], across[j]))


@pytest.mark.slow
@pytest.mark.parametrize("letters", ["".join(w) for n in (1, 2, 3) for w in product("xy", repeat=n)] + ["yxyx", "xyyy"])
def test_blocks_have_their_letters_in_the_order_named(letters: str) -> None:
    made, symbols = Derivatives(TWO), [TWO.x if b == "x" else TWO.y for b in letters]
    for function in "fg":
        found = made.block(f"{function}_{letters}")
        shape = tuple(len(s) for s in symbols)
        assert tuple(found.shape) == (shape if len(shape) > 1 else (*shape, 1))
        for place in product(*(range(n) for n in shape)):
            expected = brute(made.function(function), tuple(s[i] for s, i in zip(symbols, place)))
            assert sympy.expand(found[place if len(place) > 1 else (*place, 0)] - expected) == 0


@pytest.mark.parametrize("name", ["h_x", "f_", "f", "x", "_x", "f_z", "f_xz", "f_xxxxx", "fx_x", ""])
def test_names_of_no_derivative_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^no derivative"):
        Derivatives(TWO).block(name)


def test_joint_gradients_and_hessians_have_x_first() -> None:
    made = Derivatives(TWO)
    for name in ("f", "g"):
        expression = made.function(name)
        assert sympy.expand(made.gradient(name) - columns(expression, TWO.variables)).is_zero_matrix
        assert sympy.expand(made.hessian(name) - sympy.hessian(expression, TWO.variables)).is_zero_matrix
    assert made.gradient() == made.gradient("f")
    assert made.hessian() == made.hessian("f")
    one = Derivatives(ONE)
    assert one.gradient() == columns(ONE.f, ONE.x)
    assert one.hessian() == sympy.hessian(ONE.f, ONE.x)


@pytest.mark.parametrize("point", ["1/2 -2", "3 1/3", "-1 1"])
def test_two_levels_against_the_substituted_hyper_objective(point: str) -> None:
    """The stationary y*(x) is known: phi is f on it, and what was derived implicitly must be its derivatives."""
    made = Derivatives(TWO)
    lines = [sympy.sympify(t, {s.name: s for s in TWO.x}) for t in LINES]
    phi = TWO.f.subs(dict(zip(TWO.y, lines)), simultaneous=True)
    here = dict(zip(TWO.x, map(Rational, point.split())))
    everywhere = {**here, **{s: line.subs(here) for s, line in zip(TWO.y, lines)}}
    steps = Matrix(2, 3, lambda i, j: sympy.diff(lines[j], TWO.x[i]))
    assert made.grad_y_star.subs(everywhere) == steps.subs(here)
    assert made.hypergradient.subs(everywhere) == columns(phi, TWO.x).subs(here)
    assert made.hyper_hessian.subs(everywhere) == sympy.hessian(phi, TWO.x).subs(here)
    v = made.v_star.subs(everywhere)
    assert v.shape == (3, 1)
    assert (made.block("g_yy").subs(everywhere) * v - made.block("f_y").subs(everywhere)).is_zero_matrix


@pytest.mark.slow
def test_the_penalty_function_and_its_derivatives_transcribed() -> None:
    made, (x, y) = Derivatives(TWO), (TWO.x, TWO.y)
    assert len(made.w) == 3
    here = {**at(TWO, "1/2 -2 1/3 2 5"), made.lam: Rational(7, 3)}
    there = dict(zip(y, (Rational(2), Rational(-1), Rational(1, 5))))
    here |= dict(zip(made.w, there.values()))
    lam, moved = here[made.lam], {**here, **there}
    f, g = TWO.f, made.function("g")
    assert made.penalty.subs(here) == f.subs(here) + lam * (g.subs(here) - g.subs(moved))
    slope = columns(f, x).subs(here) + lam * (columns(g, x).subs(here) - columns(g, x).subs(moved))
    assert made.penalty_gradient.subs(here) == slope
    mixed = (columns(f, x, y) + lam * columns(g, x, y)).subs(here)
    inner = (columns(f, y, y) + lam * columns(g, y, y)).subs(here)
    mixed_w, inner_w = columns(g, x, y).subs(moved), columns(g, y, y).subs(moved)
    own = columns(f, x, x).subs(here) + lam * (columns(g, x, x).subs(here) - columns(g, x, x).subs(moved))
    expected = own - mixed * inner.inv() * mixed.T + lam * mixed_w * inner_w.inv() * mixed_w.T
    assert made.penalty_hessian.subs(here) == expected


def test_minimax_is_danskin_and_the_complement_of_schur() -> None:
    made, f = Derivatives(DUEL), DUEL.f
    here = at(DUEL, "2 -1/2 3")
    assert made.function("g") == -f
    assert made.hypergradient == columns(f, DUEL.x)
    xy = columns(f, DUEL.x, DUEL.y).subs(here)
    expected = columns(f, DUEL.x, DUEL.x).subs(here) - xy * columns(f, DUEL.y, DUEL.y).subs(here).inv() * xy.T
    assert made.hyper_hessian.subs(here) == expected
    assert made.grad_y_star.subs(here) == -xy * columns(f, DUEL.y, DUEL.y).subs(here).inv()
    one = Derivatives(ONE)
    assert (one.hypergradient, one.hyper_hessian) == (columns(ONE.f, ONE.x), sympy.hessian(ONE.f, ONE.x))


def test_what_is_too_large_to_be_inverted_stays_and_has_the_same_value() -> None:
    made, here = Derivatives(RING), at(RING, "1/2 1 -1 2 1/3 -2")
    assert isinstance(made.grad_y_star, sympy.MatMul)
    assert isinstance(made.v_star, sympy.MatMul)
    whole = made.block("g_yy").subs(here)
    v, step = whole.inv() * made.block("f_y").subs(here), -made.block("g_xy").subs(here) * whole.inv()
    assert made.v_star.subs(here).doit() == v
    assert made.hypergradient.subs(here).doit() == made.block("f_x").subs(here) + step * made.block("f_y").subs(here)
    hessian = made.hyper_hessian
    assert {s.name for s in hessian.free_symbols} >= {"S"}
    assert {s for s in hessian.free_symbols if s in made.v} == {made.v[1], made.v[3]}  # y2 and y4 alone have third ones
    turned = Matrix.hstack(sympy.eye(1), step)
    held = made.function("f") - (Matrix(v).T * columns(made.function("g"), RING.y))[0, 0]
    expected = turned * sympy.hessian(held, RING.variables).subs(here) * turned.T
    numbers = {**here, **dict(zip(made.v, v))}
    matrix = next(s for s in hessian.atoms(sympy.MatrixSymbol))
    assert matrix.shape == (1, 5)
    assert hessian.subs(matrix, step).subs(numbers).doit() == expected


@pytest.mark.parametrize("size", range(1, 7))
def test_an_inverse_is_one(size: int) -> None:
    """Of any size: written by hand up to four coupled rows, by blocks where they are not coupled."""
    matrix = Matrix(size, size, lambda i, j: Rational(1, 1 + i + 2 * j) + (i == j) * (2 + i))
    found = inverse(matrix)
    assert isinstance(found, sympy.Inverse) == (size > 4)
    assert (matrix * Matrix(found.doit()) - sympy.eye(size)).is_zero_matrix


@pytest.mark.parametrize(("operations", "by_hand"), [(8, False), (9, True)])
def test_blocks_of_three_rows_are_inverted_if_they_are_short(
    operations: int, by_hand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine entries of one operation each; two rows are inverted however long they are."""
    a = sympy.Symbol("a")
    matrix = Matrix(3, 3, lambda i, j: a + 1 + 7 * i * i + 3 * j)
    monkeypatch.setattr(derivatives, "MAXIMUM_OPERATIONS", operations)
    assert isinstance(inverse(matrix), sympy.Inverse) != by_hand
    assert not isinstance(inverse(matrix[:2, :2]), sympy.Inverse)
    monkeypatch.setattr(derivatives, "MAXIMUM_OPERATIONS", 0)
    assert not isinstance(inverse(matrix[:2, :2]), sympy.Inverse)
    assert not isinstance(inverse(sympy.diag(a + 1, a + 2, a + 3)), sympy.Inverse)


def test_one_block_that_stays_lets_the_whole_inverse_stay() -> None:
    large = Matrix(5, 5, lambda i, j: 1 + 6 * (i == j))
    for parts in ((large, sympy.eye(1)), (sympy.eye(1), large)):
        assert isinstance(inverse(sympy.diag(*parts)), sympy.Inverse)


def test_rows_are_coupled_by_an_entry_on_either_side() -> None:
    for i, j in ((0, 2), (2, 0)):
        matrix = sympy.diag(2, 3, 5, 7)
        matrix[i, j] = 1
        assert derivatives._components(matrix) == [[0, 2], [1], [3]]
        assert inverse(matrix) == matrix.inv()
    chain = sympy.eye(4)
    chain[3, 1] = chain[1, 0] = chain[0, 2] = 1
    assert derivatives._components(chain) == [[0, 1, 2, 3]]


def test_new_symbols_have_names_of_their_own() -> None:
    problem = bv.bilevel(f="w1 + lam + v2_", g="y1**2 + (y2 - lam)**2 + w1*y1", x="lam w1 v2 v2_", y="y1 y2")
    made = Derivatives(problem)
    assert made.lam.name == "lam_"
    assert [s.name for s in made.w] == ["w1_", "w2"]
    assert [s.name for s in made.v] == ["v1", "v2__"]
    assert made.lam.is_positive
    assert all(s.is_real for s in (*made.w, *made.v))


def test_sums_and_products_of_matrices() -> None:
    a, b, zero = Matrix([[1, 2], [3, 5]]), Matrix([[0, 1], [7, 1]]), sympy.zeros(2, 2)
    letter = sympy.MatrixSymbol("A", 2, 2)
    assert derivatives._product(a, b, a) == a * b * a
    assert derivatives._sum(a, b, a) == 2 * a + b
    assert derivatives._product(a, letter, b) == sympy.MatMul(a, letter, b)
    partly = Matrix([[0, 0], [0, 1]])
    assert derivatives._sum(letter, zero, partly) == sympy.MatAdd(letter, partly)


HELD = bv.bilevel(f="x1*y1", g="(y1 - x1)**2", x="x1", y="y1", feasible=bv.Box(lo=(0,), hi=(1,)))
LEVELS = ("grad_y_star", "v_star", "hypergradient", "hyper_hessian")
QUANTITIES = (*LEVELS, "penalty", "penalty_gradient", "penalty_hessian")


@pytest.mark.parametrize(
    ("problem", "has"),
    [
        (TWO, QUANTITIES),
        (DUEL, LEVELS),
        (ONE, ("hypergradient", "hyper_hessian")),
        (SIMPLE, ()),
        (HELD, ()),
    ],
    ids=["bilevel", "minimax", "single level", "simple", "constrained"],
)
def test_each_kind_has_its_quantities(problem: Any, has: tuple[str, ...]) -> None:
    made = Derivatives(problem)
    for name in QUANTITIES:
        if name in has:
            assert made.quantity(name) == getattr(made, name)
        else:
            with pytest.raises(InputError):
                getattr(made, name)
    for name in made.names:
        assert made.quantity(name) is not None


@pytest.mark.parametrize("name", ["phi", "hypergradient", "hyper_hessian"])
def test_without_a_hyper_objective_the_refusal_says_so(name: str) -> None:
    with pytest.raises(InputError, match="has no hyper-objective"):
        getattr(Derivatives(SIMPLE), name)
    with pytest.raises(InputError, match="the hyper-objective's derivative has no one formula"):
        getattr(Derivatives(HELD), name)
    with pytest.raises(InputError, match="grad_y_star has no one formula"):
        _ = Derivatives(HELD).grad_y_star
    assert Derivatives(HELD).y_star is None  # clipped: what g alone says of y* is not true


def test_a_numerator_is_no_quantity_but_a_block() -> None:
    made = Derivatives(TWO)
    assert made.quantity("g_xy") == made.block("g_xy")
    assert made.quantity("f_yxy") == made.block("f_yxy")
    with pytest.raises(InputError, match="no derivative 'taken'"):
        made.quantity("taken")
    with pytest.raises(InputError, match="has no g"):
        Derivatives(ONE).function("g")


def test_closed_forms_of_the_lower_level_are_put_in() -> None:
    linear = bv.bilevel(f="x1*y1 + y2**2", g="(y1 - 2*x1)**2 + (y2 - y1)**2", x="x1", y="y1 y2")
    made = Derivatives(linear)
    (x,) = linear.x
    assert made.y_star == (2 * x, 2 * x)
    assert sympy.expand(made.phi - 6 * x**2) == 0
    assert made.at_y_star(Matrix([linear.y[0] + linear.y[1]])) == Matrix([4 * x])
    assert Derivatives(ONE).y_star == ()
    assert Derivatives(ONE).at_y_star(ONE.f) == ONE.f
    open_ = Derivatives(bv.bilevel(f="y1", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1"))
    assert open_.y_star is None
    assert open_.phi is None
    assert open_.at_y_star(open_.problem.f) == open_.problem.f
