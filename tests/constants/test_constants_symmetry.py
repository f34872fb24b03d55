"""Variables that may change places: which they are, and that what is left of the box still carries the supremum."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants import constants
from bilevel_verify.constants.calculus.symmetry import interchangeable, positive
from bilevel_verify.constants.formula.domain import domain_of
from bilevel_verify.constants.formula.structure import structure_of
from bilevel_verify.constants.search.branch import Alike, Cuts, Known, _Search, supremum

pytestmark = pytest.mark.fast
NAMES = ("x1", "x2", "x3", "x4")


def classes(f: str, blocks: Any = ((0, 1, 2, 3),), **domain: tuple[float, float]) -> Any:
    whole = dict.fromkeys(NAMES, (-1.0, 1.0)) | domain
    problem = bv.single_level(f=f, x=list(NAMES), domain=whole)
    return interchangeable(structure_of(problem.f, problem.x), domain_of(problem), blocks)


PRODUCT = "log(2 + sin(x1*x2*x3*x4))"


@pytest.mark.parametrize(
    ("f", "more", "found"),
    [
        (PRODUCT, {}, ((0, 1, 2, 3),)),
        (f"{PRODUCT} + x1*x2 + x1*x3 + x1*x4 + x2*x3 + x2*x4 + x3*x4", {}, ((0, 1, 2, 3),)),
        (f"{PRODUCT} + x2**2", {}, ((0, 2, 3),)),
        (f"{PRODUCT} + x2", {}, ((0, 2, 3),)),
        (f"{PRODUCT} + x1*x2", {}, ((0, 1), (2, 3))),
        (f"{PRODUCT} + x1*x2 + 2*x3*x4", {}, ((0, 1), (2, 3))),
        (f"{PRODUCT} + sin(x1 + x2)", {}, ((2, 3),)),  # x1 and x2 stand in a ridge
        ("log(2 + sin(x1*x2*x3*x4**2))", {}, ((0, 1, 2),)),
        ("log(2 + sin(x1*x2 + 2*x3*x4))", {}, ((0, 1), (2, 3))),
        ("log(2 + sin(x1 - x2*x3*x4))", {}, ((1, 2, 3),)),
        ("exp(x1*x2)*cos(x3*x4)", {}, ((0, 1), (2, 3))),
        (PRODUCT, {"x3": (-1.0, 2.0)}, ((0, 1, 3),)),
        (PRODUCT, {"x3": (-2.0, 1.0)}, ((0, 1, 3),)),
        (PRODUCT, {"blocks": ((0, 1), (2, 3))}, ((0, 1), (2, 3))),
        (PRODUCT, {"blocks": ((0, 1, 2, 3), (3,))}, ((0, 1, 2),)),
        ("x1*x2 + x3*x4", {}, ()),  # no rest: nothing is searched
    ],
)
def test_which_variables_may_change_places(f: str, more: dict[str, Any], found: Any) -> None:
    assert tuple(one.members for one in classes(f, **more)) == found


@pytest.mark.parametrize(
    ("f", "more", "signs"),
    [
        (PRODUCT, {}, [2]),
        (f"{PRODUCT} + x1**2 + x2**2 + x3**2 + x4**2", {}, [2]),
        (f"{PRODUCT} + x1*x2*x3 + x1*x2*x4 + x1*x3*x4 + x2*x3*x4", {}, [0]),
        (f"{PRODUCT} + x1 + x2 + x3 + x4", {}, [0]),
        (f"{PRODUCT} + x1*x2", {}, [2, 2]),
        (f"{PRODUCT} + x1*x2 + x1*x3 + x1*x4 + x2*x3 + x2*x4 + x3*x4", {}, [0]),
        (f"{PRODUCT} + x1*x3 + x1*x4 + x2*x3 + x2*x4", {}, [0, 0]),
        ("log(2 + cos(x1*x2*x3*x4))", {}, [1]),
        ("log(2 + sin(x1**2*x2**2*x3*x4))", {}, [1, 2]),
        (PRODUCT, dict.fromkeys(NAMES, (-1.0, 2.0)), [0]),
    ],
)
def test_which_signs_may_change(f: str, more: dict[str, Any], signs: list[int]) -> None:
    assert [one.signs for one in classes(f, **more)] == signs


def symmetric(seed: int) -> tuple[Any, Any, int]:
    """A function of (a, b, c) and d alone, the same in a, b and c, with its largest value anywhere; its values."""
    rng = np.random.default_rng(seed)
    p, q, r, s = rng.uniform(-1, 1, 4)

    def value(z: Any) -> Any:
        a, d = z[..., :3], z[..., 3]
        return p * a.sum(-1) + q * (a**3).sum(-1) + r * a.prod(-1) * d + s * (np.abs(a) ** 0.5).sum(-1) - (d - r) ** 2

    lipschitz_enough = 8.0

    def bound(lo: Any, hi: Any) -> Any:
        middle, wide = (lo + hi) / 2, (hi - lo).sum(axis=1)
        return value(middle) + lipschitz_enough * wide + 2 * np.sqrt(wide)

    return value, bound, 4


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_carries_the_supremum(seed: int) -> None:
    """Against the largest value on a grid of the whole box, whichever order it is attained in."""
    value, bound, n = symmetric(seed)
    grid = np.array(list(itertools.product(np.linspace(-1, 1, 13), repeat=n)))
    best = float(value(grid).max())
    lo, hi = -np.ones(n), np.ones(n)
    options = (lo, hi, 1e-3, 6000, Known(-np.inf))
    kept = supremum(bound, value, *options, Cuts(alike=(Alike((0, 1, 2)),)))
    every = supremum(bound, value, *options)
    assert kept.upper >= best
    assert kept.lower <= best + 1.0
    assert kept.upper <= every.upper + 1e-9  # six times as many boxes for the part that counts


@pytest.mark.slow
@pytest.mark.parametrize(("members", "signs"), [((0, 1, 2), 1), ((0, 1, 2), 2), ((1, 3), 2), ((0, 1, 2, 3), 1)])
def test_every_point_has_its_like_in_a_box_that_is_kept(members: tuple[int, ...], signs: int) -> None:
    """All points with whole coordinates and all that permutations and changes of signs make of them, one by one."""
    points = np.array(list(itertools.product(range(-2, 3), repeat=4)), dtype=float)
    search = _Search(
        lambda lo, hi: np.ones(len(lo)), lambda z: np.ones(len(z)), np.full(4, -2.0), np.full(4, 2.0), 0, 0, None
    )
    search.alike = (Alike(members, signs),)
    _, _, kept = search._in_order(points, points, np.arange(len(points)))
    left = {tuple(points[k]) for k in kept}
    changes = [s for s in itertools.product((1, -1), repeat=len(members)) if signs == 1 or np.prod(s) == 1]
    for point in points:
        likes = set()
        for order, change in itertools.product(itertools.permutations(members), changes):
            like = point.copy()
            like[list(members)] = point[list(order)] * change
            likes.add(tuple(like))
        assert likes & left
    assert len(left) < len(points) / 2


def test_boxes_that_only_touch_the_order_are_kept() -> None:
    """The largest value where all are equal, at a corner of every cut."""
    value = lambda z: -np.abs(z).sum(-1)
    bound = lambda lo, hi: -np.maximum(0.0, np.maximum(lo, -hi)).sum(-1)
    lo, hi = -np.ones(4), np.ones(4)
    found = supremum(bound, value, lo, hi, 1e-3, 500, Known(-np.inf), Cuts(alike=(Alike((0, 1, 2, 3)),)))
    assert found.upper == 0.0


@pytest.mark.parametrize("classes", [((0, 1, 2),), ((1, 3),), ((0, 2), (1, 3)), ((0, 1, 2, 3),), ()])
def test_a_box_is_kept_where_it_has_an_ascending_point(classes: Any) -> None:
    """Against every choice of whole numbers in boxes with such corners, sides of no length among them."""
    rng = np.random.default_rng(3)
    ends = np.sort(rng.integers(0, 4, (300, 4, 2)), axis=2).astype(float)
    search = _Search(
        lambda lo, hi: np.ones(len(lo)), lambda z: np.ones(len(z)), *np.array([[0.0] * 4, [3.0] * 4]), 0, 0, None
    )
    search.alike = tuple(Alike(members) for members in classes)
    numbers = np.arange(300)
    _, _, kept = search._in_order(ends[..., 0], ends[..., 1], numbers)

    def ascends(box: Any) -> bool:
        points = itertools.product(*(range(int(a), int(b) + 1) for a, b in box))
        return any(all([p[i] for i in c] == sorted(p[i] for i in c) for c in classes) for p in points)

    assert kept.tolist() == [k for k in numbers if ascends(ends[k])]
    assert classes == () or 0 < len(kept) < 300


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 5])
def test_constants_of_symmetric_compositions(n: int) -> None:
    """L, mu and rho of both kinds of formula contain what 2,000 points reach, and L is tight now."""
    names = [f"x{i}" for i in range(1, n + 1)]
    squares = " + ".join(f"{v}**2" for v in names)
    p = bv.single_level(f=f"log(2 + sin({'*'.join(names)}) + {squares})", x=names, domain=dict.fromkeys(names, (-1, 1)))
    found = constants(p, effort=4.0)
    hessian = sympy.lambdify([p.x], sympy.hessian(p.f, p.x), "numpy", cse=True)
    rng = np.random.default_rng(0)
    reached = 0.0
    for _ in range(2000):
        point = np.where(rng.random(n) < 0.4, rng.choice([-1.0, 0.0, 1.0], n), rng.uniform(-1, 1, n))
        reached = max(reached, float(np.abs(np.linalg.eigvalsh(np.array(hessian(point), dtype=float))).max()))
    L = found["L"]
    assert L.certified
    assert L.value >= reached
    assert L.value <= {4: 1.3, 5: 2.6}[n] * reached


def test_few_variables_are_searched_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.constants.groups import part

    def asked(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(part, "interchangeable", asked)
    p = bv.single_level(f="log(2 + sin(x1*x2))", x="x1 x2", domain=dict.fromkeys(("x1", "x2"), (-1, 1)))
    assert constants(p)["L"].value > 0


def test_several_boxes_are_searched_whole() -> None:
    """Faces of a box carry a supremum together; one of them is not the mirror image of itself."""
    value = lambda z: z[..., 0] - z[..., 1]
    bound = lambda lo, hi: hi[:, 0] - lo[:, 1]
    lo, hi = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[2.0, 1.0], [4.0, 1.0]])
    found = supremum(bound, value, lo, hi, 1e-3, 500, Known(-np.inf), Cuts(alike=(Alike((0, 1)),)))
    assert found.lower <= 4.0 <= found.upper <= 4.0 + 1e-2


@pytest.mark.parametrize(
    ("f", "more", "found"),
    [
        ("log(2 + sin(x1*x2*x3*x4) + x1**2 + 2*x2**2 + 3*x3**2)", {}, (0, 1, 2)),  # even changes: all signs but one
        ("log(2 + cos(x1*x2*x3*x4) + x1**2 + 2*x2**2 + 3*x3**2)", {}, (0, 1, 2, 3)),
        ("sqrt(1 + x1*x2 + 2*x2*x3 + 3*x3*x4 + x4**2)", {}, (0,)),  # all together
        ("sqrt(1 + x1*x2 + 2*x3*x4)", {}, (0, 2)),
        ("sqrt(9 + x1*x2 + 2*x3*x4) + x1", {}, (2,)),
        ("sqrt(9 + x1*x2 + 2*x3*x4) + sin(x1)", {}, (2,)),
        ("exp(x1 + 2*x2*x3*x4)", {}, (1, 2)),
        ("sqrt(1 + x1*x2 + 2*x3*x4)", {"x1": (-1.0, 2.0)}, (2,)),
        ("exp(x1 + 2*x2 - x3*x4**3)", {}, (2,)),
    ],
)
def test_which_variables_may_be_taken_positive(f: str, more: dict[str, Any], found: Any) -> None:
    problem = bv.single_level(f=f, x=list(NAMES), domain=dict.fromkeys(NAMES, (-1.0, 1.0)) | more)
    structure, domain = structure_of(problem.f, problem.x), domain_of(problem)
    assert positive(structure, domain, ()) == found
    settled = positive(structure, domain, (Alike((0, 1)),))
    assert not {0, 1} & set(settled)


@pytest.mark.parametrize("seed", range(8))
def test_signs_and_orders_together_lose_no_point(seed: int) -> None:
    """Every point of a grid is carried into the part that is searched by a map that leaves the function as it is."""
    formulas = [
        "sin(x1*x2*x3*x4) + x1**2*x3**2 + x2**2*x4",
        "cos(x1*x2 + x3*x4)",
        "x1*x2*x3*x4*exp(x1*x2)",
        "x1*x3/(9 + x2*x4)",
    ]
    f = f"log(2000 + {formulas[seed % 4]}{' + x1**2 + x2**2' if seed > 3 else ''})"
    problem = bv.single_level(f=f, x=list(NAMES), domain=dict.fromkeys(NAMES, (-2.0, 2.0)))
    structure, domain = structure_of(problem.f, problem.x), domain_of(problem)
    alike = interchangeable(structure, domain, ((0, 1, 2, 3),))
    chosen = list(positive(structure, domain, alike))
    value = sympy.lambdify(problem.x, problem.f, "numpy")
    points = np.array(list(itertools.product((-2.0, -1.0, 0.0, 1.0, 2.0), repeat=4)))
    search = _Search(
        lambda lo, hi: np.ones(len(lo)), lambda z: np.ones(len(z)), np.full(4, -2.0), np.full(4, 2.0), 0, 0, None
    )
    search.alike = alike
    searched = points[(points[:, chosen] >= 0).all(axis=1)]
    _, _, kept = search._in_order(searched, searched, np.arange(len(searched)))
    sizes = lambda z: {tuple(sorted(np.abs(p))) + (round(float(value(*p)), 12),) for p in z}
    assert sizes(points) == sizes(searched[kept])
    if chosen or alike:
        assert len(kept) < len(points)


@pytest.mark.parametrize(("members", "signs"), [((0, 1, 2), 0), ((0, 2), 1), ((0, 1, 2, 3), 2)])
def test_boxes_shrink_to_the_points_that_count(members: tuple[int, ...], signs: int) -> None:
    rng = np.random.default_rng(4)
    ends = np.sort(rng.integers(-3, 4, (200, 4, 2)), axis=2).astype(float)
    lo, hi = ends[..., 0], ends[..., 1]
    search = _Search(
        lambda a, b: np.ones(len(a)), lambda z: np.ones(len(z)), np.full(4, -3.0), np.full(4, 3.0), 0, 0, None
    )
    search.alike = (Alike(members, signs),)
    low, high, kept = search._in_order(lo, hi, np.arange(200))
    grid = np.array(list(itertools.product(range(-3, 4), repeat=4)), dtype=float)
    values = grid[:, members]
    counts = (np.diff(values, axis=1) >= 0).all(axis=1)
    counts &= {0: np.ones(len(grid), bool), 1: values[:, 0] >= 0, 2: values[:, 0] + values[:, 1] >= 0}[signs]
    for box in range(200):
        inside = grid[counts & (grid >= lo[box]).all(axis=1) & (grid <= hi[box]).all(axis=1)]
        place = np.flatnonzero(kept == box)
        if len(inside):
            (k,) = place
            assert (low[k] <= inside.min(axis=0)).all()
            assert (high[k] >= inside.max(axis=0)).all()
            assert (low[k] >= lo[box]).all()
            assert (high[k] <= hi[box]).all()
            others = [i for i in range(4) if i not in members]
            assert (low[k][others] == lo[box][others]).all()
