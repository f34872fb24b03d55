"""Hypotheses of every statement about simple bilevel problems: which premise, with which word, on which certainty."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest

from bilevel_verify import single_level
from bilevel_verify.checks.instances import simple_hypotheses as module
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.instances.simple_hypotheses import flatter_than_powers, of_levels, of_parts
from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.language.parser import parse
from bilevel_verify.problems import Box, simple_bilevel
from bilevel_verify.theorems import card
from bilevel_verify.theorems.card_parts import Expression

pytestmark = pytest.mark.fast


class Levels:
    """The truth of a simple bilevel problem, as told: what is raised for f and g, which direction falls for ever."""

    def __init__(self, raised: dict[str, Exception] | None = None, falls: str | Exception = "") -> None:
        self.problem = SimpleNamespace(f="the f", g="the g", x="the x")
        self._f, self._g, self.raised, self.falls = "checked f", "checked g", raised or {}, falls

    def _check_convex(self, name: str, function: Any) -> None:
        assert function == f"checked {name}"
        if name in self.raised:
            raise self.raised[name]

    @property
    def recession(self) -> Any:
        if isinstance(self.falls, Exception):
            raise self.falls
        return SimpleNamespace(verdict=self.falls)


def premises(
    levels: Levels,
    monkeypatch: pytest.MonkeyPatch,
    failures: Any = (),
    missing: Any = "",
    flat: str = "",
    feasible: Any = None,
    smoothness: Any = None,
    composite: Any = None,
) -> list[Premise]:
    asked: dict[str, str] = {"the f": "", "the g": "", **({} if isinstance(missing, str) else missing)}
    monkeypatch.setattr(module, "structure_of", lambda expression, x: SimpleNamespace(missing=asked[expression]))
    monkeypatch.setattr(module, "split", lambda problem: composite)
    monkeypatch.setattr(module, "SimpleTruth", lambda problem: levels)
    monkeypatch.setattr(module, "flatter_than_powers", lambda problem: flat)
    instance: Any = SimpleNamespace(
        truth=SimpleNamespace(simple=levels), problem=SimpleNamespace(feasible=feasible), failures=failures
    )
    instance.used = {} if smoothness is None else {"L_g": smoothness}
    return of_levels(instance)


def said(found: list[Premise]) -> list[tuple[str, str, str]]:
    return [(one.text, one.verdict, one.certainty) for one in found]


F, G, LOW = "f is convex on Z", "g is convex on Z", "the lower level has a minimiser"
HELD = [(F, "holds", "certified"), (G, "holds", "certified"), (LOW, "holds", "computed")]


def test_both_levels_are_convex_and_the_lower_one_has_a_minimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    found = premises(Levels(), monkeypatch)
    assert said(found) == HELD
    assert found[0].reason == ""


@pytest.mark.parametrize(("name", "place"), [("f", 0), ("g", 1)])
def test_a_level_that_is_not_convex_leaves_nothing_to_say(
    name: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = premises(Levels({name: MathematicalError("bent")}), monkeypatch)
    assert len(found) == 2  # nobody asks for a minimiser
    assert (found[place].verdict, found[place].reason, found[place].certainty) == ("not applicable", "bent", "computed")
    assert said(found)[1 - place] == HELD[1 - place]


@pytest.mark.parametrize("error", [InputError("no data"), ZeroDivisionError("by nought"), OverflowError("huge")])
def test_what_could_not_be_looked_at_is_open(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    found = premises(Levels({"f": error}), monkeypatch)
    assert said(found) == [(F, "undecided", "computed"), *HELD[1:]]
    assert found[0].reason == f"hypothesis: {F}: {error}"
    found = premises(Levels(falls=error), monkeypatch)
    assert said(found) == [*HELD[:2], (LOW, "undecided", "computed")]
    assert found[2].reason == f"hypothesis: {LOW}: {error}"


def test_a_level_without_structure_was_only_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = premises(Levels(), monkeypatch, missing={"the g": "sin"})
    assert said(found) == [HELD[0], (G, "undecided", "sampled"), HELD[2]]
    assert found[1].reason == f"hypothesis: {G} was only sampled (sin)"


def test_a_lower_level_that_falls_for_ever_has_no_minimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    found = premises(Levels(falls="along (1, 0)"), monkeypatch)
    assert said(found) == [*HELD[:2], (LOW, "not applicable", "computed")]
    assert found[2].reason == "the lower level has no minimiser: along (1, 0)"


@pytest.mark.parametrize(
    ("failures", "flat", "asked"),
    [
        ((), "flat", False),
        (("alpha",), "flat", True),
        (("r", "M"), "flat", True),
        (("M",), "flat", False),
        (("r",), "", False),
    ],
)
def test_an_error_bound_is_missed_where_its_constants_are(
    failures: Any, flat: str, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = premises(Levels(), monkeypatch, failures=failures, flat=flat)
    assert said(found)[:3] == HELD
    last = ("g has a Hoelderian error bound (Assumption 4.1)", "not applicable", "computed")
    assert said(found)[3:] == ([last] if asked else [])
    if asked:
        assert found[3].reason == "flat"


@pytest.mark.parametrize(
    ("g", "flat"),
    [
        ("Piecewise((exp(-1/x1), x1 > 0), (0, True))", True),
        ("x1**2", False),
        ("exp(x1)", False),  # 1 at the origin, not 0
        ("exp(x1) - 1", False),  # vanishes to first order
        ("exp(-1/x1)", True),  # no pieces
        ("Piecewise((x1**2, x1 < 0), (exp(-1/x1), True))", True),  # the second piece
    ],
)
def test_what_vanishes_to_infinite_order_is_flatter_than_every_power(g: str, flat: bool) -> None:
    import sympy

    x = sympy.Symbol("x1", real=True)
    problem: Any = SimpleNamespace(dx=1, x=(x,), g=sympy.sympify(g, locals={"x1": x}))
    found = flatter_than_powers(problem)
    assert bool(found) is flat
    assert not flat or found.endswith("vanishes at 0 to infinite order: no pair (r, alpha) exists")
    assert flatter_than_powers(SimpleNamespace(dx=2, x=(x, x), g=problem.g)) == ""  # type: ignore[arg-type]
    assert flatter_than_powers(single_level(f="x1", x="x1")) == ""


def test_a_problem_with_a_part_that_has_a_prox_is_judged_by_its_smooth_part(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = simple_bilevel(f="x1**2", g="(x1 - 1)**2", x="x1")
    made: list[Any] = []
    monkeypatch.setattr(module, "split", lambda given: SimpleNamespace(smooth=("smooth", given)))
    monkeypatch.setattr(
        module, "SimpleTruth", lambda given: made.append(given) or Levels({"g": MathematicalError("bent")})
    )
    monkeypatch.setattr(module, "structure_of", lambda expression, x: SimpleNamespace(missing=""))
    instance: Any = SimpleNamespace(truth=SimpleNamespace(simple=Levels()), problem=problem, failures=())
    assert [one.verdict for one in of_levels(instance)] == ["holds", "not applicable"]
    assert made == [("smooth", problem)]


# --- levels with kinks ---


def kinks_told(statement: Any, *used: str, f: str = "x1**2 + abs(x1)", g: str = "x2**2", box: Any = None) -> list[Any]:
    lo, hi = box or ((-1.0, -1.0), (1.0, 1.0))
    problem = simple_bilevel(f=f, g=g, x="x1 x2", feasible=Box(lo, hi))
    instance: Any = SimpleNamespace(problem=problem, used=dict.fromkeys(used))
    return [(one.text, one.verdict, one.reason) for one in of_parts(instance, statement)]


def kink_of(name: str, variable: str) -> tuple[str, str, str]:
    reason = f"{name} has a kink where {variable} = 0: L_{name} is the constant of its smooth part, not of {name}"
    return f"{name} has a Lipschitz gradient on Z", "not applicable", reason


def test_a_statement_about_the_parts_means_their_constants() -> None:
    """Its method is for composite problems, or it names f_1, f_2, g_1, g_2; and only constants that are used count."""
    paper = card("agm-bio")
    plain, parts = paper.statement("lemma-a-1"), paper.statement("lemma-b-1-proof")
    assert kinks_told(plain, "L_f", "L_g") == [kink_of("f", "x1")], "g has no kink"
    assert kinks_told(plain, "L_g") == []
    assert kinks_told(plain, "L_f", f="x1**2") == []
    assert kinks_told(replace(plain, method="p-agm-bio"), "L_f") == []
    assert kinks_told(replace(plain, method="p-agm-bio:made"), "L_f") == []
    assert kinks_told(parts, "L_f") == []
    assert kinks_told(replace(parts, method="agm-bio"), "L_f") == [], "it names f_1"
    both = kinks_told(plain, "L_f", "L_g", g="(x1 - x2)**2 + abs(x2)/2")
    assert both == [kink_of("f", "x1"), kink_of("g", "x2")]


def test_a_definition_may_name_the_parts() -> None:
    statement = card("agm-bio").statement("lemma-a-1")
    claim = replace(statement.claims[0], define={"part": Expression(parse("f_1(x[k])"), "")})
    assert kinks_told(replace(statement, claims=(claim,)), "L_f") == []


@pytest.mark.parametrize(
    ("ends", "told"), [((-1.0, 1.0), True), ((0.0, 1.0), False), ((-1.0, 0.0), False), ((-inf, inf), True)]
)
def test_a_kink_at_the_edge_of_the_set_is_none(ends: tuple[float, float], told: bool) -> None:
    box = ((ends[0], -1.0), (ends[1], 1.0))
    statement = card("agm-bio").statement("lemma-a-1")
    assert kinks_told(statement, "L_f", box=box) == ([kink_of("f", "x1")] if told else [])


COMPACT = SimpleNamespace(bounded=True)


@pytest.mark.parametrize(
    ("feasible", "certified", "value", "composite", "attained"),
    [
        (COMPACT, True, 3.0, None, True),
        (COMPACT, True, inf, None, False),
        (COMPACT, True, nan, None, False),
        (COMPACT, False, 3.0, None, False),
        (COMPACT, None, 3.0, None, False),
        (None, True, 3.0, None, False),
        (SimpleNamespace(bounded=False), True, 3.0, None, False),
        (COMPACT, True, 3.0, SimpleNamespace(smooth="part"), False),  # L_g is that of a part of g
        ("intersection", True, 3.0, None, False),  # it may be empty
    ],
)
def test_a_continuous_function_attains_its_minimum_on_a_compact_set(
    feasible: Any, certified: bool | None, value: float, composite: Any, attained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if feasible == "intersection":
        monkeypatch.setattr(module, "Intersection", SimpleNamespace)
        feasible = COMPACT
    smoothness = None if certified is None else SimpleNamespace(certified=certified, value=value)
    found = premises(Levels(), monkeypatch, feasible=feasible, smoothness=smoothness, composite=composite)
    lowest = next(one for one in found if one.text == LOW)
    assert (lowest.verdict, lowest.certainty) == ("holds", "certified" if attained else "computed")
