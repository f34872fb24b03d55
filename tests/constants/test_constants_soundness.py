"""No sampled difference quotient, gradient norm or curvature ever exceeds a certified constant.

At least 1,000 random problems here (mostly calculus, a few with branch and bound); 20,000 in ``tests/thorough``.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from constants_generator import SEED, Oracle, Sample, random_sample, violations

from bilevel_verify.constants.calculus import forms as forms_module
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import FamilyScalar, Trigonometric

BLOCKS = 25
PER_BLOCK = 40
FORMS = ["z", "zz", "zzz", "zzzz"]
MIXED = ["xy", "xx", "yy", "xyz", "xxz", "yyz", "y", "xz"]


def analyse(sample: Sample, effort: float) -> Analysis:
    """The room's analysis of a random formula."""
    n = len(sample.variables)
    size = np.inf if sample.box is None else sample.box
    domain = Domain(np.full(n, -size), np.full(n, size), "random", sample.box is None)
    structure = structure_of(normalise(sample.expression), sample.variables)
    return Analysis(structure, (True,) * sample.dx + (False,) * (n - sample.dx), domain, "h", effort)


def attack(seed: int, count: int, effort: float, first_only: bool = False) -> list[str]:
    """Attack ``count`` random problems, one or two forms each (until the first violation, if that is enough)."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        sample = random_sample(rng, rough=number % 4 == 3)
        pool = FORMS + (MIXED if sample.dx else [])
        chosen = [pool[int(rng.integers(len(pool)))]]
        analysis = analyse(sample, effort)
        found += violations(sample, analysis, chosen, rng)
        if number % 5 == 0 and sample.dx < len(sample.variables):
            found += _curvature(sample, analysis, rng)
        if first_only and found:
            break
    return found


def _curvature(sample: Sample, analysis: Analysis, rng: np.random.Generator) -> list[str]:
    bound = analysis.convexity()
    hessians = Oracle(sample).hessian(sample.points(rng, 120))[:, sample.dx :, sample.dx :]
    good = np.isfinite(hessians).all(axis=(1, 2))
    if not good.any():
        return []
    least = float(np.linalg.eigvalsh(hessians[good])[:, 0].min())
    return (
        []
        if least >= bound.lower - 1e-6 * (1 + abs(least))
        else [f"mu: sampled {least} < bound {bound.lower} for {sample}"]
    )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_calculus_is_sound(block: int) -> None:
    seed = SEED * 1000 + block
    assert attack(seed, PER_BLOCK, effort=0.0) == [], f"seed {seed}"


@pytest.mark.parametrize("block", range(4))
def test_branch_and_bound_is_sound(block: int) -> None:
    seed = SEED * 1000 + 500 + block
    assert attack(seed, 6, effort=0.02) == [], f"seed {seed}"


# -- controls: planted unsound rules are caught by the same attack


def _caught(seed: int = 11, count: int = 50) -> int:
    return len(attack(seed, count, effort=0.0, first_only=True))


def test_nothing_is_caught_without_a_plant() -> None:
    assert _caught() == 0


def test_a_wrong_supremum_of_an_atom_is_caught(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    true = FamilyScalar.ranges

    def wrong(self: FamilyScalar, orders: list[int], t: Interval) -> list[Interval]:
        return [Interval(v.lo * 0.6, v.hi * 0.6) for v in true(self, orders, t)]

    monkeypatch.setattr(FamilyScalar, "ranges", wrong)
    monkeypatch.setattr(FamilyScalar, "range", lambda self, order, t: wrong(self, [order], t)[0])
    assert _caught() > 0


def test_a_missing_chain_factor_is_caught(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """Second derivative of a ridge with one factor of the row too few."""
    true = forms_module.Form._values

    def wrong(self: forms_module.Form, vectors: dict[str, np.ndarray], factor: float) -> forms_module.Net:
        net = true(self, vectors, factor)
        size = np.sqrt((self.model.row_centres**2).sum(axis=1, keepdims=True))
        return forms_module.Net(
            net.ridge / np.maximum(size, 1.0), net.entry, net.factor, net.ridge_slack, net.entry_slack
        )

    monkeypatch.setattr(forms_module.Form, "_values", wrong)
    assert _caught(count=70) > 0


def test_a_cosine_without_its_crest_is_caught(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """End points only: the interior maximum of the sine is forgotten."""
    true = Trigonometric.ranges

    def wrong(self: Trigonometric, orders: list[int], t: Interval) -> list[Interval]:
        finite = np.where(np.isfinite(t.lo), t.lo, -0.4), np.where(np.isfinite(t.hi), t.hi, 0.4)
        left, right = (true(self, orders, Interval(end, end)) for end in finite)
        return [a.hull(b) for a, b in zip(left, right)]

    monkeypatch.setattr(Trigonometric, "ranges", wrong)
    assert _caught(count=70) > 0


def test_a_forgotten_joint_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Piecewise with two joints of different smoothness, only the smoother one inside the box."""
    x, y = sympy.symbols("x1 y1", real=True)
    bumps = sympy.Piecewise((0, y < -2), (y**2, y < 0), (y**2 + y**3, True))
    sample = Sample(sympy.cos(x + y) + bumps, (x, y), 1, 1.0)
    rng = np.random.default_rng(3)
    assert violations(sample, analyse(sample, 0.0), ["zzz", "zzzz"], rng) == []
    monkeypatch.setattr(smoothness, "_breaks", lambda function: [])
    assert violations(sample, analyse(sample, 0.0), ["zzzz"], rng)


def test_largest_block_instead_of_joint_is_caught(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """The common wrong rule: joint constant = largest block."""
    true = Analysis.norm

    def wrong(self: Analysis, slots: str) -> object:
        if slots != "zz" or all(self.is_x) or not any(self.is_x):
            return true(self, slots)
        return max((true(self, s) for s in ("xx", "xy", "yy")), key=lambda b: b.upper)

    monkeypatch.setattr(Analysis, "norm", wrong)
    found = []
    for number in range(40):
        rng = np.random.default_rng(900 + number)
        sample = random_sample(rng)
        if sample.dx and not found:
            found += violations(sample, analyse(sample, 0.0), ["zz"], rng)
    assert found
