"""The calculus of one group: which of several bounds is handed on, with which certainty."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, exp, sin

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups import convexity as convexity_module
from bilevel_verify.constants.groups.convexity import convexity
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.intervals.elementary import balls_in_use

pytestmark = pytest.mark.fast

INF = math.inf
LINE = (-INF, INF)
PART: Any = sys.modules[Part.__module__]
CURVES: Any = convexity_module
if not hasattr(CURVES, "supremum"):  # the package may show the function under the name of its module
    CURVES = sys.modules[convexity.__module__]
A, B, C = NAMES = sympy.symbols("a b c", real=True)
WHY = Reason("test", "known")
REST = sin(A * B) * A + B**2


def part_of(
    expression: Any,
    is_x: tuple[bool, ...] = (True, False),
    ends: tuple[float, float] = (-1.0, 2.0),
    effort: float = 1.0,
) -> Part:
    n = len(is_x)
    domain = Domain(np.full(n, ends[0]), np.full(n, ends[1]), "", ends == LINE)
    return Part(structure_of(normalise(sympy.sympify(expression)), NAMES[:n]), is_x, domain, "h", effort)


# ---- the calculus ----------------------------------------------------------------------------------------------------


class Case:
    """A part of which every ingredient of the calculus is set."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        free: bool = True,
        exact: bool = True,
        upper: float = 10.0,
        peaks: tuple[float, float] | None = None,
        net: float | None = None,
        symmetric: bool = True,
        sampled: float = 3.0,
    ) -> None:
        self.part = part_of(REST)
        self.forms: list[tuple[Any, ...]] = []
        self.peaked: list[str] = []
        covering = None if net is None else SimpleNamespace(factor=net)
        found = None if peaks is None else SimpleNamespace(upper=peaks[0], lower=peaks[1], caps=1, cuts=2)

        def form(*arguments: Any) -> Any:
            self.forms.append(arguments)
            order = len(arguments[1])
            return SimpleNamespace(net=covering, symmetric=symmetric, order=order, slots=arguments[1])

        def peak(slots: str) -> Any:
            self.peaked.append(slots)
            return found

        monkeypatch.setattr(PART, "Form", form)
        monkeypatch.setattr(PART, "closed_form", lambda part, slots: None)
        for name, value in (("_free_arguments", free), ("_calculus_bound", upper), ("_peaks", None),
                            ("_exact_ranges", exact), ("_sample_lower", sampled)):  # fmt: skip
            monkeypatch.setattr(self.part, name, lambda *a, value=value: value)
        monkeypatch.setattr(self.part, "_peaks", peak)


@pytest.mark.slow
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("net", [None, 1.25])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("slots", ["z", "zz", "zzz", "zzzz"])
@pytest.mark.parametrize("peaks", [None, (8.0, 7.5), (8.0, 8.0 - 6e-5), (12.0, 11.0)])
def test_which_numbers_the_calculus_hands_on(
    free: bool, exact: bool, net: float | None, symmetric: bool, slots: str,
    peaks: tuple[float, float] | None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The documentation told again: upper is the least bound; lower is peaks', or upper itself where it is tight, or
    sampled; attained only where a tight bound is reached up to 1e-5."""
    case, k = Case(monkeypatch, free=free, exact=exact, net=net, symmetric=symmetric, peaks=peaks), len(slots)
    found = case.part._calculus(slots)
    asked = free and k >= 3 and symmetric
    assert case.peaked == ([slots] if asked else [])
    assert case.forms == [(case.part.model, slots, 4096)]
    peaks = peaks if asked else None
    matrices = k == 2 and symmetric
    tight = free and k >= 2 and exact and (net is not None or matrices)
    upper = min(10.0, peaks[0]) if peaks else 10.0
    if peaks and exact:
        lower, tight = peaks[1], peaks[0] < peaks[1] * (1 + 1e-5)
    elif tight:
        lower = 10.0 / (1.0 if net is None or matrices else net) * (1 - 1e-9)
    else:
        lower = 3.0
    attained = tight and (net is not None or peaks is not None) and lower > upper * (1 - 1e-5)
    assert found == Bound(upper, min(lower, upper), True, "calculus", found.why, None, attained)
    rules = [part.rule for part in found.why.parts]
    assert ("largest sum of powers over unit vectors" in rules) == (peaks is not None)


@pytest.mark.parametrize(("gap", "attained"), [(0.5e-5, True), (1.5e-5, False), (0.9e-5, True)])
def test_peaks_that_meet_are_attained(gap: float, attained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(monkeypatch, peaks=(8.0, 8.0 / (1 + gap)))
    assert case.part._calculus("zzz").attained == attained


@pytest.mark.parametrize(("factor", "attained"), [(1 + 0.5e-5, True), (1 + 1.5e-5, False)])
def test_a_fine_net_is_attained(factor: float, attained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(monkeypatch, net=factor)
    found = case.part._calculus("zzz")
    assert found.attained == attained
    assert found.lower == 10.0 / factor * (1 - 1e-9)


def test_an_infinite_bound_is_not_tight_and_names_a_culprit(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(monkeypatch, upper=INF, net=1.0)
    asked: list[Any] = []
    monkeypatch.setattr(
        PART, "unbounded_term", lambda part, k: asked.append((part, k)) or Reason("unbounded_term", "it")
    )
    found = case.part._calculus("zzz")
    assert (found.upper, found.lower, found.attained) == (INF, 3.0, False)
    assert found.why.parts[0].statement == "it"
    assert asked == [(case.part, 3)]
    case = Case(monkeypatch, upper=4.0)
    asked.clear()
    assert case.part._calculus("zzz").upper == 4.0
    assert asked == []


@pytest.mark.parametrize("free", [True, False])
def test_a_closed_form_counts_for_free_arguments_only(free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(monkeypatch, free=free)
    monkeypatch.setattr(PART, "closed_form", lambda part, slots: sympy.sqrt(2))
    found = case.part._calculus("zz")
    if free:
        assert found == Bound(found.upper, found.upper, True, "exact", found.why, sympy.sqrt(2), True)
        assert Fraction(found.upper) ** 2 > 2
    else:
        assert (found.upper, found.exact) == (10.0, None)


@pytest.mark.parametrize("special", [4.0, 6.0, INF])
@pytest.mark.parametrize("data", [True, False])
def test_the_smallest_bound_of_the_whole_domain_in_balls(
    special: float, data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(REST)
    part.only_specials = data
    balls: list[bool] = []

    def rule(value: float) -> Any:
        return lambda *a: balls.append(balls_in_use()) or value

    monkeypatch.setattr(PART, "with_specials", rule(special))
    monkeypatch.setattr(PART, "apart", rule(5.0))
    asked: list[Any] = []

    def upper(pieces: Any) -> Any:
        asked.append(pieces)
        balls.append(balls_in_use())
        return np.array([5.5, 0.0])

    found = part._calculus_bound("zz", SimpleNamespace(upper=upper))  # type: ignore[arg-type]
    assert found == min(special, 5.0 if data else 5.5)
    assert balls == [True, True]
    if not data:
        whole = part.model.evaluate(2, *part.whole())
        np.testing.assert_allclose(asked[0].entries.lo, whole.entries.lo, rtol=1e-12)
        np.testing.assert_allclose(asked[0].entries.hi, whole.entries.hi, rtol=1e-12)


@pytest.mark.parametrize(
    ("expression", "slots", "asked"),
    [
        (sin(A) + cos(A + B), "zzz", True),
        (sin(A) + cos(A + B), "zzzz", True),
        (sin(A) + cos(A + B), "yyy", True),
        (sin(A + B), "zzz", False),  # one ridge
        (sin(A) + sympy.tanh(B), "zzz", True),
        (sin(A) + exp(B), "zzz", False),  # no bound
        (sin(A) + sympy.Pow(2, 0) * B, "zzz", False),
    ],
)
def test_what_peaks_are_asked(expression: Any, slots: str, asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(expression, ends=LINE, effort=0.5)
    calls: list[tuple[Any, ...]] = []

    def powers(rows: Any, high: Any, low: Any, k: int, nodes: int) -> float:
        calls.append((rows.tolist(), high.tolist(), low.tolist(), k, nodes))
        return float(len(calls))

    monkeypatch.setattr(PART, "supremum_of_powers", powers)
    monkeypatch.setattr(PART, "larger_of", lambda *found: found)
    found = part._peaks(slots)
    if not asked:
        assert (found, calls) == (None, [])
        return
    ranges = part.model.ridge_ranges(len(slots), part.model.arguments(*part.whole()))
    low, high = ranges.lo[0], ranges.hi[0]
    members = list(part.model.slots(slots[0]))
    rows, nodes = part.model.row_centres[:, members].tolist(), PART.NODES // 2
    near = pytest.approx
    if len(slots) == 3:
        assert calls == [(rows, near(high.tolist()), near((-low).tolist()), 3, nodes)]
        assert found == 1.0
    else:
        assert [(c[0], c[3], c[4]) for c in calls] == [(rows, 4, nodes)] * 2
        assert calls[0][1] == calls[0][2] == near(high.tolist())
        assert calls[1][1] == calls[1][2] == near((-low).tolist())
        assert found == (1.0, 2.0)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("low", "high", "straddling"),
    [
        ([-1.0, -1.0], [1.0, 1.0], True),
        ([0.0, -1.0], [1.0, 1.0], True),
        ([-1.0, -1.0], [0.0, 1.0], True),
        ([0.25, -1.0], [1.0, 1.0], False),
        ([-1.0, -1.0], [-0.25, 1.0], False),
        ([-INF, -1.0], [1.0, 1.0], False),
        ([-1.0, -1.0], [INF, 1.0], False),
        ([-1.0], [1.0], False),
        ([-1.0] * 3, [1.0] * 3, True),
    ],
)
@pytest.mark.parametrize("effort", [1.0, 4.0])
def test_peaks_need_coefficients_of_either_sign(
    low: list[float], high: list[float], straddling: bool, effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(sin(A) + cos(A + B), ends=LINE, effort=effort)
    part.model = SimpleNamespace(  # type: ignore[assignment]
        ridge_ranges=lambda k, arguments: SimpleNamespace(lo=np.array([low]), hi=np.array([high])),
        arguments=lambda a, b: None,
        row_centres=np.ones((len(low), 2)),
        slots=lambda s: (0, 1),
    )
    nodes: list[int] = []
    monkeypatch.setattr(PART, "supremum_of_powers", lambda *a: nodes.append(a[4]) or "peaks")
    assert part._peaks("zzz") == ("peaks" if straddling else None)
    assert nodes == ([PART.NODES] if straddling else [])  # no more than the whole effort
    monkeypatch.setattr(PART, "ROWS", len(low) - 1)
    assert part._peaks("zzz") is None
    monkeypatch.setattr(PART, "ROWS", len(low))
    assert part._peaks("zzz") == ("peaks" if straddling else None)
