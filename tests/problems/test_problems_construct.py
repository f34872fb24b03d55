"""Stating problems: the four kinds, every kind of mistake, feasible sets, families."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.errors import InputError, ProblemError
from bilevel_verify.problems import (
    Ball,
    Box,
    HalfSpace,
    Intersection,
    Isotonic,
    L1Ball,
    Orthant,
    ProblemFamily,
    Simplex,
    WholeSpace,
    bilevel,
    minimax,
    simple_bilevel,
    single_level,
    zoo,
)
from bilevel_verify.problems.catalogue import record
from bilevel_verify.problems.feasible import from_dict

FG = {"f": "sin(x1) + y1**2/2", "g": "y1**2 - x1*y1", "x": "x1", "y": "y1"}


def one_line(error):
    """Messages for users are one line."""
    assert "\n" not in str(error)


def test_bilevel_from_text():
    p = bilevel(**FG, domain={"x1": (-3, 3), "y1": (None, "2*pi")}, title="t", start=[0.5])
    assert (p.kind, p.dx, p.dy) == ("bilevel", 1, 1)
    assert p.range_of(p.x[0]) == (-3, 3)
    assert p.range_of(p.y[0]) == (-sympy.oo, 2 * sympy.pi)
    assert p.start == (0.5,)
    assert not p.whole_space
    assert p.lower == p.g
    assert p.text["f"] == FG["f"]
    assert "bilevel" in str(p)
    assert p._repr_latex_().startswith("$$")
    assert "<div>" in p._repr_html_()


def test_sympy_expressions_are_accepted_as_they_are():
    a, b = sympy.Symbol("x1"), sympy.Symbol("y1", positive=True)
    p = bilevel(f=sympy.sin(a) + b**2 / 2, g=b**2 - a * b, x=a, y=[b])
    assert p.content_hash() == bilevel(**FG).content_hash()
    q = single_level(f=sympy.Abs(a) ** sympy.Rational(5, 2) + 0.5 * a, x=a)
    assert q.f.has(sympy.Rational(1, 2))
    assert not q.f.atoms(sympy.Float, sympy.Abs)


def test_blocks_and_domains():
    p = minimax(
        f="sum(x)*sum(y) - sum(y[i]**2, (i, 0, 2))",
        x="x{1..d}",
        y=["y1", "y2", "y3"],
        knobs={"d": 2},
        domain={"x": (-1, 1), "x2": (0, 5)},
    )
    assert [s.name for s in p.x] == ["x1", "x2"]
    assert p.domain == {"x1": (-1, 1), "x2": (0, 5)}
    assert p.lower == -p.f


def test_content_hash_sees_what_matters_and_nothing_else():
    base = bilevel(**FG)
    assert base.content_hash() == bilevel(**FG, title="other", note="n").content_hash()
    assert base.content_hash() == bilevel(**{**FG, "f": "y1*y1/2 + sin(x1)"}).content_hash()
    assert base.content_hash() != bilevel(**{**FG, "f": "sin(x1) + y1**2/3"}).content_hash()
    assert base.content_hash() != bilevel(**FG, domain={"x1": (0, 1)}).content_hash()


def test_problems_are_frozen():
    p = bilevel(**FG, data={"A": [1.0]})
    with pytest.raises(AttributeError):
        p.f = 0
    with pytest.raises(TypeError):
        p.domain["x1"] = (0, 1)
    with pytest.raises(ValueError, match="read-only"):
        p.data["A"][0] = 2


BAD = [
    ({"f": "x1 + z", "x": "x1"}, "unknown symbol 'z'"),
    ({"f": None, "x": "x1"}, "missing field 'f'"),
    ({"f": True, "x": "x1"}, "must be text"),
    ({"f": float("nan"), "x": "x1"}, "finite"),
    ({"f": math.inf, "x": "x1"}, "finite"),
    ({"f": sympy.nan, "x": "x1"}, "undefined"),
    ({"f": sympy.Symbol("x1") * sympy.I, "x": "x1"}, "imaginary"),
    ({"f": sympy.Function("h")(sympy.Symbol("x1")), "x": "x1"}, "undefined function"),
    ({"f": sympy.Symbol("q"), "x": "x1"}, "unknown symbol 'q'"),
    ({"f": "x1", "x": None}, "missing field 'x'"),
    ({"f": "x1", "x": ""}, "empty"),
    ({"f": "x1", "x": 3}, "names of variables"),
    ({"f": "x1", "x": "x1 x1"}, "twice"),
    ({"f": "x1", "x": "print"}, "reserved"),
    ({"f": "x1", "x": "exec"}, "reserved"),
    ({"f": "x1", "x": "lambda"}, "reserved"),
    ({"f": "x1", "x": "sin"}, "reserved"),
    ({"f": "x1", "x": "pi"}, "reserved"),
    ({"f": "x1", "x": "__x"}, "not a name"),
    ({"f": "x1", "x": "x__1"}, "not a name"),
    ({"f": "x1", "x": "x-1"}, "not a name"),
    ({"f": "x1", "x": "é"}, "not a name"),
    ({"f": "x1", "x": "x{1..10**9}"}, "range"),
    ({"f": "x1", "x": "x{1..q}"}, "unknown symbol"),
    ({"f": "x1", "x": ["x1", 2]}, "text"),
    ({"f": "x1", "x": "x1", "domain": {"x2": (0, 1)}}, "unknown variable 'x2'"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (1, 0)}}, "empty"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (1, 1)}}, "empty"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (float("nan"), 1)}}, "nan"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (0, 1, 2)}}, "pair"),
    ({"f": "x1", "x": "x1", "domain": {"x1": "01"}}, "pair"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (0, "x1")}}, "unknown symbol"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (0, 1j)}}, "number"),
    ({"f": "x1", "x": "x1", "domain": [1]}, "must map"),
    ({"f": "x1", "x": "x1", "domain": {"x1": (sympy.oo, sympy.oo)}}, "empty"),
    ({"f": "x1", "x": "x1", "knobs": {"s": float("nan")}}, "finite"),
    ({"f": "x1", "x": "x1", "knobs": {"s": "s"}}, "circle"),
    ({"f": "x1", "x": "x1", "knobs": {"s": "t", "t": "s"}}, "circle"),
    ({"f": "x1", "x": "x1", "knobs": {"x1": 1}}, "rename"),
    ({"f": "x1", "x": "x1", "knobs": {"len": 1}}, "reserved"),
    ({"f": "x1", "x": "x1", "knobs": {"s": None}}, "number"),
    ({"f": "x1", "x": "x1", "data": {"A": [[1], [2, 3]]}}, "rectangular"),
    ({"f": "x1", "x": "x1", "data": {"A": [1.0, float("nan")]}}, "NaN"),
    ({"f": "x1", "x": "x1", "data": {"A": []}}, "shape"),
    ({"f": "x1", "x": "x1", "data": {"A": ["a"]}}, "numbers"),
    ({"f": "x1", "x": "x1", "data": {"A": [object()]}}, "numbers"),
    ({"f": "x1", "x": "x1", "data": {"A": [1.0]}, "knobs": {"A": 1}}, "rename"),
    ({"f": "x1", "x": "x1", "start": [1, 2]}, "start has 2"),
    ({"f": "x1", "x": "x1", "start": [float("nan")]}, "finite"),
    ({"f": "x1", "x": "x1", "start": 3}, "list"),
    ({"f": "x1", "x": "x1", "define": {"f": "x1"}}, "define"),
    ({"f": "x1", "x": "x1", "define": {"h(t": "t"}}, "define"),
    ({"f": "u", "x": "x1", "define": {"u": "v", "v": "u"}}, "circle"),
    ({"f": "h(x1, x1)", "x": "x1", "define": {"h(t)": "t"}}, "takes 1 arguments"),
    ({"f": "h(x1)", "x": "x1", "define": {"h(t)": "t + z"}}, "unknown symbol 'z'"),
    ({"f": "x1", "x": "x1", "nmae": "n"}, "did you mean 'name'"),
    ({"f": "x1", "x": "x1", "title": 3}, "title must be text"),
]


@pytest.mark.parametrize(("arguments", "fragment"), BAD)
def test_mistakes_are_named_in_one_line(arguments, fragment):
    with pytest.raises(InputError) as caught:
        single_level(**arguments)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"g": None}, "missing field 'g'"),
        ({"y": "x1"}, "is in x and in y"),
        ({"y": ""}, "y is empty"),
        ({"y": None}, "missing field 'y'"),
        ({"g": "y1**2 + w"}, "g: unknown symbol 'w'"),
        ({"f": "sin(x1"}, "f: a ')' is missing"),
    ],
)
def test_mistakes_of_two_levels(change, fragment):
    with pytest.raises(InputError) as caught:
        bilevel(**{**FG, **change})
    assert fragment in str(caught.value)


def test_error_columns_point_into_the_text():
    with pytest.raises(InputError) as caught:
        single_level(f="x1 + kapa*x1", x="x1", knobs={"kappa": 2})
    assert caught.value.column == 6
    assert "did you mean 'kappa'" in str(caught.value)


# -- feasible sets ----------------------------------------------------------------------------------------------------

SETS = [
    (Ball(radius=1.0), [0.6, 0.8], [0.7, 0.8]),
    (Ball(radius=1, center=[1, 1]), [1, 2], [0, 0]),
    (Box(lo=[0.0, 0.0], hi=[1.0, math.inf]), [0, 7], [-0.1, 0]),
    (Orthant(), [0, 0], [0, -1e-9]),
    (Simplex(total=1.0), [0.3, 0.7], [0.3, 0.8]),
    (L1Ball(radius=2), [1, -1], [1, -1.5]),
    (WholeSpace(), [1e300, -3], [math.nan, 0]),
    (HalfSpace(normal=[1, 2], offset=3), [1, 1], [1, 1.1]),
    (Isotonic(), [1, 1], [1, 0.5]),
    (Intersection([Orthant(), HalfSpace(normal=[1, 1], offset=1)]), [0.5, 0.5], [0.6, 0.5]),
]


@pytest.mark.parametrize(("feasible", "inside", "outside"), SETS)
def test_sets(feasible, inside, outside):
    assert feasible.contains(inside)
    assert not feasible.contains(outside)
    assert not feasible.contains([math.nan, 0])
    assert from_dict(feasible.to_dict()) == feasible
    assert feasible.describe()
    assert repr(from_dict(feasible.to_dict())) == repr(feasible)
    p = simple_bilevel(f="x1", g="x2**2", x="x1 x2", feasible=feasible)
    assert p.feasible == feasible
    assert hash(feasible) == hash(from_dict(feasible.to_dict()))


@pytest.mark.parametrize(
    ("spec", "fragment"),
    [
        ({"set": "Cube"}, "unknown feasible set"),
        ({"set": "Ball"}, "missing field radius"),
        ({"set": "Ball", "radius": 1, "colour": 2}, "unknown field"),
        ({"set": "Ball", "radius": -1}, "positive"),
        ({"set": "Ball", "radius": float("nan")}, "finite"),
        ({"set": "Box", "lo": [0, 0], "hi": [1]}, "entries"),
        ({"set": "Box", "lo": [2.0], "hi": [1.0]}, "empty range"),
        ({"set": "Box", "lo": [float("nan")], "hi": [1.0]}, "finite"),
        ({"set": "HalfSpace", "normal": [0, 0], "offset": 1}, "zero"),
        ({"set": "Intersection", "sets": []}, "non-empty"),
        (
            {
                "set": "Intersection",
                "sets": [{"set": "Box", "lo": [0], "hi": [1]}, {"set": "HalfSpace", "normal": [1, 1], "offset": 1}],
            },
            "different dimensions",
        ),
        ({"radius": 1}, "field 'set'"),
        ("Ball", "feasible must be"),
        ({"set": "Ball", "radius": 1, "center": [0.0, 0.0, 0.0]}, "dimension 3"),
    ],
)
def test_bad_sets(spec, fragment):
    with pytest.raises(InputError) as caught:
        simple_bilevel(f="x1", g="x2**2", x="x1 x2", feasible=spec)
    assert fragment in str(caught.value)


# -- families and the zoo ---------------------------------------------------------------------------------------------


def test_family_of_the_ramp():
    family = zoo("ramp", s="2*eps", drop=1)
    assert isinstance(family, ProblemFamily)
    assert family.letters == ("eps",)
    member = family.at(eps=1e-2)
    assert member.knobs["s"] == sympy.Rational(1, 50)
    assert member.start[0] == pytest.approx(-(50 + math.sqrt(0.02)))
    assert member.content_hash() == zoo("ramp", s=0.02, drop=1).content_hash()
    assert "eps" in str(family)


def test_family_letter_of_the_same_name():
    family = zoo("amplifier-ramp", kappa="kappa", s="2*eps/kappa")
    member = family.at(eps="1/100", kappa=16)
    assert member.knobs["kappa"] == 16
    assert member.knobs["s"] == sympy.Rational(1, 800)


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: zoo("rampp"), "did you mean 'ramp'"),
        (lambda: zoo("ramp", t=1), "unknown knob 't'"),
        (lambda: zoo("ramp", s="2*epsilon"), "unknown symbol"),
        (lambda: zoo("ramp", s="2*eps").at(), "needs eps="),
        (lambda: zoo("ramp", s="2*eps").at(eps=1, mu=2), "unknown letter"),
        (lambda: zoo("ramp", s="2*eps").at(eps=float("nan")), "finite"),
        (lambda: zoo(3), "must be text"),
        (lambda: zoo("B5"), "half-space-vertex"),
        (lambda: zoo("needle", d="1/2"), "integer"),
    ],
)
def test_zoo_mistakes(call, fragment):
    with pytest.raises(InputError) as caught:
        call()
    assert fragment in str(caught.value)


def test_zoo_by_number_and_records():
    assert zoo("S1").content_hash() == zoo("double-well").content_hash()
    records = zoo()
    assert len(records) >= 86
    assert len({r.name for r in records}) == len(records)
    for r in records:
        assert all((r.title, r.source, r.latex, r.tags)), r.name
        assert r.control is not None or r.promises, r.name
        assert "_" not in r.name
    numbers = {t for r in records for t in r.tags}
    wanted = {f"H{i}" for i in range(1, 14)} | {f"F{i}" for i in range(1, 8)} | {f"S{i}" for i in range(1, 9)}
    wanted |= {f"M{i}" for i in range(1, 6)} | {f"B{i}" for i in range(1, 10)} | {f"C{i}" for i in range(1, 8)}
    wanted |= {"L1", "L2", "L3"} | {f"R{i}" for i in range(1, 8)} | {f"N{i}" for i in range(1, 13)} | {"N14"}
    assert wanted <= numbers


def test_data_of_the_zoo_is_read_only_and_shared():
    assert zoo("diabetes-ridge") is zoo("diabetes-ridge")
    assert not zoo("diabetes-ridge").data["G"].flags.writeable
    assert record("diabetes-ridge").knobs["hi"] == 2


@given(
    st.dictionaries(
        st.sampled_from(["f", "g", "x", "y", "domain", "knobs", "data", "start", "feasible"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.floats()
            | st.integers()
            | st.text(max_size=8)
            | st.just("x1")
            | st.just("y1"),
            lambda c: (
                st.lists(c, max_size=3)
                | st.dictionaries(st.sampled_from(["x1", "x", "A", "set", "radius"]), c, max_size=2)
            ),
            max_leaves=5,
        ),
    )
)
@settings(max_examples=300, deadline=None)
def test_arbitrary_arguments_raise_input_errors_only(arguments):
    for build, base in [(bilevel, FG), (simple_bilevel, {"f": "x1", "g": "x1**2", "x": "x1"})]:
        merged = {**base, **arguments}
        if build is bilevel:
            merged.pop("feasible", None)
        else:
            merged.pop("y", None)
        try:
            problem = build(**merged)
        except InputError as error:
            one_line(error)
        else:
            assert np.all([s.is_real for s in problem.variables])


def test_problem_error_is_an_input_error():
    assert issubclass(ProblemError, InputError)
