"""Problems with true constants: the certified value is never below the truth, and above it by at most the tolerance.

True values: closed forms, or sampled maxima confirmed by an independent branch and bound (marked ``~`` in the notes of
the table's author); columns as in ``COLUMNS``. All norms Euclidean.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import pytest
import sympy

from bilevel_verify import problems
from bilevel_verify.atoms import huber, psi
from bilevel_verify.constants.api import constants
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.hoelder.hoelder import hoelder_pair

INF, S2, S3, S5, E = math.inf, math.sqrt(2), math.sqrt(3), math.sqrt(5), math.e
COLUMNS = {
    "mu": "mu",
    "C_y": "y",
    "C": "z",
    "L": "zz",
    "L_xx": "xx",
    "L_xy": "xy",
    "L_yy": "yy",
    "rho": "zzz",
    "rho_xx": "xxz",
    "rho_xy": "xyz",
    "rho_yy": "yyz",
    "M": "zzzz",
}
TOLERANCE = {1: 0.01, 2: 0.01, 3: 0.03, 4: 0.15}

_Q5 = [f"(y{i + 1} - 2*({' + '.join(f'y{j + 1}' for j in range(5))})/5)" for i in range(5)]
ROWS: dict[str, tuple[str, int, int, Any, list[float]]] = {
    "P01": ("y1**2 + cos(y1)/2 - x1*y1", 1, 1, {}, [1.5, INF, INF, 2.850781, 0, 1, 2.5, 0.5, 0, 0, 0.5, 0.5]),
    "P02": ("sin(x1) + y1**2/2 + cos(x1 - y1)", 1, 1, {}, [0, INF, INF, 3, 2, 1, 2, 3.256037, S5, S2, S2, 4.285610]),
    "P05": (
        "log(1 + ((x1 + x2 + y1 + y2)/2)**2) + log(1 + ((x1 - x2 + y1 - y2)/2)**2)"
        " + log(1 + ((x1 + x2 - y1 - y2)/2)**2)"
        " + log(1 + ((x1 - x2 - y1 + y2)/2)**2)",
        2,
        2,
        {},
        [-0.25, 2, 2, 2, 2, 1.125, 2, 2.914214, 2.060660, 2.060660, 2.060660, 12],
    ),
    "P06": (
        "log(exp(x1) + exp(y1)) + y1**2/2",
        1,
        1,
        {},
        [1, INF, INF, 1.309017, 0.25, 0.25, 1.25, 0.2721655, 0.1360828, 0.1360828, 0.1360828, 0.5],
    ),
    "P07": (
        "log(1 + exp(2*x1 + x2 + 2*y1) + exp(x1)) + (x1**2 + x2**2 + y1**2)/2",
        2,
        1,
        {},
        [1, INF, INF, 3.25, 2.25, 1.118034, 2, 2.598076, 1.443376, 1.290994, 1.154701, 10.125],
    ),
    "P08": (
        "(y1**2 + y2**2)/2 + sqrt(1 + y1**2 + y2**2) - (x1*y1 + x2*y2)/2",
        2,
        2,
        {},
        [1, INF, INF, 2.118034, 0, 0.5, 2, 0.8586501, 0, 0, 0.8586501, 3],
    ),
    "P09": (
        "exp(-(x1**2 + x2**2 + y1**2 + y2**2)/2)",
        2,
        2,
        {},
        [-1, 0.6065307, 0.6065307, 1, 1, 0.3678794, 1, 1.380119, 1.380119, 0.6065307, 1.380119, 3],
    ),
    "P10": (
        "1/(1 + x1**2 + x2**2 + y1**2 + y2**2)",
        2,
        2,
        {},
        [-2, 0.6495191, 0.6495191, 2, 2, 0.5925926, 2, 4.668559, 4.668559, 2.070433, 4.668559, 24],
    ),
    "P11": ("sin(x1) + log(1 + y1)", 1, 1, {"y1": (0, sympy.oo)}, [-1, 1, S2, 1, 1, 0, 1, 2, 1, 0, 2, 6]),
    "P12": (
        "y1/(1 + x1**2)",
        1,
        1,
        {"y1": (-1, 1)},
        [0, 1, 1.049899, 2, 2, 0.6495191, 0, 5.021307, 4.782996, 2, 0, 24],
    ),
    "P13": ("(2 + x1)*y1**2", 1, 1, 1, [2, 6, math.sqrt(37), 3 + math.sqrt(13), 0, 2, 6, 2.309401, 0, 2, 2, 0]),
    "P15": (
        "exp(x1)*y1",
        1,
        1,
        {"x1": (0, 1), "y1": (-1, 1)},
        [0, E, S2 * E, 4.398272, E, E, 0, 4 * E / S5, S2 * E, E, 0, 5.266445],
    ),
    "P16": (
        "y1**2 + y1**4/12 + 0.3*sin(x1*y1) - y1*cos(x1)",
        1,
        1,
        2,
        [
            1.233041,
            7.702280,
            7.808552,
            7.273404,
            2.774654,
            1.714488,
            6.908163,
            9.032462,
            4.937250,
            3.827564,
            6.265941,
            14.74565,
        ],
    ),
    "P17": ("tanh(x1*y1)", 1, 1, 2, [-3.079201, 2, 2, 3.088939, 3.079201, 1, 3.079201, 16, 16, 3.503326, 16, 65.93152]),
    "P18": ("x1*x2*y1 + y1**2", 2, 1, 1, [2, 3, math.sqrt(11), 3, 1, S2, 2, 1.154701, 1, 1, 0, 0]),
    "P19": (
        "(y1**2 + y2**2)/2 + (y1**2 + y2**2)**2/4 - x1*(y1 + y2)",
        1,
        2,
        1,
        [1, 4 * S2, 6, 7.274917, 0, S2, 7, 6 * S2, 0, 0, 6 * S2, 6],
    ),
    "P20": (
        " + ".join(f"{q}**2 + cos({q})/2 - x{i + 1}*y{(i + 1) % 5 + 1}" for i, q in enumerate(_Q5)),
        5,
        5,
        {},
        [1.5, INF, INF, 2.850781, 0, 1, 2.5, 0.5, 0, 0, 0.5, 0.5],
    ),
    "P21": (
        " + ".join(f"sin(x{i})*cos(y{i})" for i in range(1, 6)),
        5,
        5,
        {},
        [-1, S5, S5, 1, 1, 1, 1, S2, 1, 1, 1, 2],
    ),
    "P22": (
        "cos(x1 + x3 + y1) + cos(x1 + x2 + y2)",
        3,
        2,
        {},
        [-1, S2, 2 * S2, 4, 3, S3, 1, 4 * S2, 3 * S2, 2.502173, S3, 64 / 7],
    ),
}
SLOW = {"P07", "P09", "P10", "P12"}

EXACT = {
    ("P01", "L"): "5/4 + sqrt(41)/4",
    ("P01", "mu"): "3/2",
    ("P01", "rho"): "1/2",
    ("P02", "L"): "3",
    ("P05", "rho"): "sqrt(2) + 3/2",
    ("P05", "M"): "12",
    ("P06", "L"): "3/4 + sqrt(5)/4",
    ("P20", "L"): "5/4 + sqrt(41)/4",
    ("P21", "rho"): "sqrt(2)",
    ("P22", "L"): "4",
    ("P22", "mu"): "-1",
}


def analysis_of(formula: Any, dx: int, dy: int, domain: Any, effort: float = 1.0) -> Analysis:
    """The room's analysis of one formula, as the lower level of a bilevel problem."""
    x, y = [f"x{i + 1}" for i in range(dx)], [f"y{i + 1}" for i in range(dy)]
    box = dict.fromkeys(x + y, (-domain, domain)) if isinstance(domain, int) else domain
    problem = problems.bilevel(f="0*x1 + y1", g=formula, x=x, y=y, domain=box)
    return constants(problem, effort=effort).analysis("g")  # type: ignore[attr-defined]


@lru_cache(maxsize=64)
def _row(name: str) -> Analysis:
    formula, dx, dy, domain, _ = ROWS[name]
    return analysis_of(formula, dx, dy, domain)


@pytest.mark.parametrize("column", sorted(COLUMNS))
@pytest.mark.parametrize("name", sorted(ROWS))
def test_true_constants(name: str, column: str) -> None:
    truth = dict(zip(COLUMNS, ROWS[name][4]))[column]
    if column == "mu":
        bound = _row(name).convexity()
        assert bound.lower <= truth + 1e-6 * max(abs(truth), 1)
        assert bound.lower >= truth - 0.01 * max(abs(truth), 1)
        assert bound.upper >= truth - 1e-6 * max(abs(truth), 1)
    else:
        form = COLUMNS[column]
        bound = _row(name).norm(form)
        if math.isinf(truth):
            assert math.isinf(bound.upper)
            return
        tolerance = TOLERANCE[len(form)]
        assert bound.upper >= truth * (1 - 1e-6) - 1e-9
        assert bound.upper <= truth * (1 + tolerance) + 1e-9
        assert bound.lower <= truth * (1 + 1e-6) + 1e-9
    assert bound.certified
    assert bound.lower <= bound.upper


@pytest.mark.parametrize(("name", "column"), sorted(EXACT))
def test_closed_forms_are_kept(name: str, column: str) -> None:
    bound = _row(name).convexity() if column == "mu" else _row(name).norm(COLUMNS[column])
    assert bound.exact is not None
    assert sympy.simplify(bound.exact - sympy.sympify(EXACT[name, column])) == 0
    assert bound.attained


@pytest.mark.parametrize("name", ["P01", "P05", "P06", "P11", "P13", "P16", "P18", "P21"])
def test_consistency_inside_a_row(name: str) -> None:
    """Every block at most the joint constant, the joint one at most what the blocks allow."""
    row = _row(name)
    value = {c: row.norm(f).upper for c, f in COLUMNS.items() if c != "mu"}
    slack = 1.02
    for block, joint in (
        ("L_xx", "L"),
        ("L_xy", "L"),
        ("L_yy", "L"),
        ("rho_xx", "rho"),
        ("rho_xy", "rho"),
        ("rho_yy", "rho"),
        ("C_y", "C"),
    ):
        assert row.norm(COLUMNS[block]).lower <= value[joint] * (1 + 1e-9) + 1e-12
    a, b, d = (value[k] for k in ("L_xx", "L_xy", "L_yy"))
    largest = (a + d) / 2 + math.hypot((a - d) / 2, b)
    assert row.norm("zz").lower <= largest * slack
    if math.isfinite(value["M"]):
        assert row.norm("zzz").lower ** 2 <= 2 * value["L"] * value["M"] * slack + 1e-12 or name in (
            "P11",
            "P13",
            "P16",
            "P18",
        )


HOELDER: list[tuple[str, Any, int, int, str, Any, Any, str, float]] = [
    ("H01", "y1**2 - x1*y1 + abs(y1)**(5/2)", 1, 1, "zz", {}, None, "1/2", 15 / 4),
    ("H01 quarter", "y1**2 - x1*y1 + abs(y1)**(5/2)", 1, 1, "zz", {"y1": (-1, 1)}, 0.25, "1/4", 15 / 4),
    ("H03", "y1**2 - x1*y1 + psi(1/2, x1 + 2*y1)/2", 1, 1, "zzz", {}, None, "1/2", 11.82177),
    ("H04", "(y1**2 + y2**2)**(7/4) + (y1**2 + y2**2)/2 - x1*y1", 1, 2, "zzz", {}, None, "1/2", 18.56155),
    ("H05", "y1**2 + plus(y1 - x1)**(5/2)", 1, 1, "zz", {}, None, "1/2", 8.919053),
    ("H06", "sign(x1 - y1)*abs(x1 - y1)**(5/2)", 1, 1, "zz", {}, None, "1/2", 12.61345),
    ("H08", "cos(x1 + y1)", 1, 1, "zz", {}, 0.5, "1/2", 2.863222),
]


@pytest.mark.parametrize(("name", "formula", "dx", "dy", "form", "domain", "wanted", "nu", "constant"), HOELDER)
def test_hoelder_pairs(
    name: str, formula: Any, dx: int, dy: int, form: str, domain: Any, wanted: Any, nu: str, constant: float
) -> None:
    pair = hoelder_pair(analysis_of(formula, dx, dy, domain), form, wanted)
    assert pair.nu == sympy.Rational(nu)
    assert pair.constant.upper == pytest.approx(constant, rel=1e-6)
    assert pair.constant.certified


# the other entries of the rows above (mu, L, rho where the derivative is Lipschitz or not)
SMOOTHNESS: list[tuple[str, str, int, int, Any, dict[str, float]]] = [
    ("H01", "y1**2 - x1*y1 + abs(y1)**(5/2)", 1, 1, {}, {"mu": 2, "zz": INF, "zzz": INF}),
    ("H01 box", "y1**2 - x1*y1 + abs(y1)**(5/2)", 1, 1, {"y1": (-1, 1)}, {"mu": 2, "zz": 5.918949, "zzz": INF}),
    (
        "H03",
        "y1**2 - x1*y1 + psi(1/2, x1 + 2*y1)/2",
        1,
        1,
        {},
        {"mu": 2 / 3, "zz": (11 + math.sqrt(85)) / 6, "zzz": 5**1.5 / 2, "zzzz": INF},
    ),
    ("H04", "(y1**2 + y2**2)**(7/4) + (y1**2 + y2**2)/2 - x1*y1", 1, 2, {}, {"mu": 1, "zz": INF, "zzz": INF}),
    ("H05", "y1**2 + plus(y1 - x1)**(5/2)", 1, 1, {}, {"mu": 2, "zz": INF, "zzz": INF}),
    ("H07", "y1**2/2 + huber(1, x1 - y1)", 1, 1, {}, {"mu": 1, "zz": (3 + S5) / 2, "zzz": INF}),
    ("H08", "cos(x1 + y1)", 1, 1, {}, {"mu": -1, "zz": 2, "zzz": 2 * S2, "zzzz": 4}),
]


@pytest.mark.parametrize(("name", "formula", "dx", "dy", "domain", "known"), SMOOTHNESS)
def test_other_constants_of_the_rows(
    name: str, formula: str, dx: int, dy: int, domain: Any, known: dict[str, float]
) -> None:
    row = analysis_of(formula, dx, dy, domain)
    for form, truth in known.items():
        bound = row.convexity() if form == "mu" else row.norm(form)
        value = bound.lower if form == "mu" else bound.upper
        assert bound.certified
        assert value == pytest.approx(truth, rel=1e-2 if math.isfinite(truth) else None)
        if math.isfinite(truth) and form != "mu":
            assert value >= truth * (1 - 1e-6)
        if math.isinf(truth):
            assert bound.lower == math.inf, (name, form)


X, Y = sympy.symbols("x1 y1", real=True)


def _psi_slope(nu: str, argument: Any) -> Any:
    t = sympy.Symbol("t", real=True)
    return psi(sympy.Rational(nu), t).diff(t).subs(t, argument)


def test_hoelder_pairs_of_derived_atoms() -> None:
    both = _psi_slope("1/4", X) + _psi_slope("3/4", Y)
    pair = hoelder_pair(analysis_of(both, 1, 1, {}), "zz")  # H09
    assert pair.nu == sympy.Rational(1, 4)
    assert pair.constant.upper == pytest.approx(2**0.75, rel=1e-9)
    assert math.isinf(hoelder_pair(analysis_of(both, 1, 1, {}), "zz", 0.75).constant.upper)
    side = sympy.sqrt(2) / 2
    mixed = analysis_of(_psi_slope("1/4", X + Y) + sympy.cos(X - Y), 1, 1, {"x1": (0, side), "y1": (0, side)})
    assert hoelder_pair(mixed, "zz").constant.upper == pytest.approx(2 ** (15 / 8), rel=1e-9)  # H10
    single = analysis_of(_psi_slope("1/2", 2 * X + Y), 1, 1, {})
    assert hoelder_pair(single, "xx").constant.upper == pytest.approx(8.458970, rel=1e-6)  # H12
    assert hoelder_pair(single, "zz").constant.upper == pytest.approx(10.57371, rel=1e-6)


def test_huber_and_lost_smoothness() -> None:
    row = analysis_of(Y**2 / 2 + huber(1, X - Y), 1, 1, {})  # H07
    assert row.convexity().lower == 1.0
    assert row.norm("zz").upper == pytest.approx((3 + S5) / 2)
    assert math.isinf(row.norm("zzz").upper)
    assert "derivative 2 of Huber" in str(row.norm("zzz").why)
    pair = hoelder_pair(row, "zz")
    assert (pair.nu, pair.constant.upper) == (0, pytest.approx(2.0))


def test_no_pair_on_the_whole_space() -> None:
    row = analysis_of("(y1**2 + y2**2)**(7/4) + (y1**2 + y2**2)/2 - x1*y1", 1, 2, {})  # H04, Hessian
    assert math.isinf(hoelder_pair(row, "zz").constant.upper)
    assert row.convexity().lower == pytest.approx(1.0)
    polynomial = analysis_of("abs(y1)**(5/2) + abs(y1)**3", 1, 1, {})
    assert math.isinf(hoelder_pair(polynomial, "zz").constant.upper)
