"""Every oracle in every form: against mpmath, and plain against compiled bit for bit."""

from __future__ import annotations

import importlib.util
import math

import mpmath
import numpy as np
import pytest
import sympy
from seeds import SEED
from sympy import Rational, cos, exp, log, sin, sqrt, symbols

from bilevel_verify.atoms import huber, logcosh, logsumexp, pluspow, psi, softplus
from bilevel_verify.errors import ParameterError
from bilevel_verify.numbers.floats import MPMATH
from bilevel_verify.oracles import Oracles, OracleWarning, compiling, forms, oracles, unpack_third
from bilevel_verify.oracles.convention import EVALUATIONS, FIELDS, PRODUCTS
from bilevel_verify.oracles.programs import direction_block
from bilevel_verify.problems.problem import Problem

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")

x1, x2, y1, y2, y3 = symbols("x1 x2 y1 y2 y3", real=True)

SMALL = Problem(
    "bilevel",
    sin(x1) + y1**2 / 2 + cos(x1 - y1),
    (x1,),
    y1**2 + y1**4 / 12 + Rational(3, 10) * sin(x1 * y1) - cos(x1) * y1,
    (y1,),
)
ATOMS = Problem(
    "bilevel",
    logsumexp(x1, y2, y3 - x2) + psi(Rational(1, 2), y1) + logcosh(y3) + x2 / 3,
    (x1, x2),
    softplus(y1 - x1) * y2**2 + pluspow(Rational(7, 2), y3 + x2) + sqrt(1 + y1**2 * x1**2) + exp(-y3) + y1**2 / 7,
    (y1, y2, y3),
)


def arguments(problem: Problem, field: str, rng: np.random.Generator) -> list[np.ndarray]:
    lengths = {"x": problem.dx, "y": problem.dy, "z": problem.dx + problem.dy}
    blocks = ["x", "y"] + ([direction_block(field)] if field in PRODUCTS else [])
    return [rng.uniform(-1.2, 1.2, lengths[block]) for block in blocks]


def large() -> Problem:
    """Ten lower variables, dense quadratic and dense softplus terms: structured oracles."""
    rng = np.random.default_rng(7)
    xs, ys = symbols("x1:4", real=True), symbols("y1:11", real=True)
    everything = (*xs, *ys)
    rows = [
        sympy.Add(*[Rational(int(c), 4) * v for c, v in zip(rng.integers(-4, 5, 13), everything)]) for _ in range(12)
    ]
    g = sympy.Add(*[softplus(r) for r in rows]) + sympy.Add(*[r**2 for r in rows]) / 10 + sin(xs[0] * ys[0])
    return Problem("bilevel", sympy.Add(*[cos(v) for v in everything]), xs, g, ys)


@pytest.mark.parametrize("problem", [SMALL, ATOMS, large()], ids=["small", "atoms", "structured"])
@pytest.mark.parametrize("field", FIELDS)
def test_plain_oracles_agree_with_fifty_digits(problem: Problem, field: str) -> None:
    if problem.dx + problem.dy > 6 and field.startswith("third"):
        return  # 560 third derivatives are checked on the small problems
    o = oracles(problem, compiled=False)
    rng = np.random.default_rng(SEED)
    values = arguments(problem, field, rng)
    measured = o._ask(field, *values)
    with mpmath.workdps(50):
        flat = [mpmath.mpf(v) for block in values for v in block.tolist()]
        exact = [float(v) for v in o.programs.program(field).run(MPMATH, flat)]
        precise = [None] * len(exact)
        function = getattr(o.function_set([field], "multiprecision"), field)
        function(*[[mpmath.mpf(v) for v in block.tolist()] for block in values], precise)
    assert np.allclose(measured, exact, rtol=1e-12, atol=1e-12), SEED
    assert [float(p) for p in precise] == pytest.approx(exact, rel=1e-15, abs=1e-30)
    assert np.allclose(o.batch(field, *[v[None] for v in values])[0], exact, rtol=1e-12, atol=1e-12)


@needs_numba
@pytest.mark.parametrize(
    ("problem", "fields"),
    [
        (SMALL, ("value_f", "grad_g", "hvp_g", "jvp_yx_g", "hess_f", "third_g")),
        (ATOMS, ("value_f", "hess_f", "grad_g", "hvp_yy_g")),
        (large(), ("value_g", "grad_y_g", "jvp_xy_g", "hess_g")),
    ],
    ids=["small", "atoms", "structured"],
)
def test_compiled_oracles_are_the_plain_ones_bit_for_bit(problem: Problem, fields: tuple[str, ...]) -> None:
    plain, fast = oracles(problem, compiled=False), oracles(problem, compiled=True)
    rng = np.random.default_rng(SEED)
    for field in fields:
        for _ in range(20):
            values = arguments(problem, field, rng)
            assert plain._ask(field, *values).tobytes() == fast._ask(field, *values).tobytes(), (field, values, SEED)


EXTREME = Problem("single_level", exp(x1) / x1 + log(x1) * sqrt(x1) + x1**3, (x1,))


@pytest.mark.parametrize("point", [0.0, -1.0, 800.0, math.inf, math.nan, 1e200])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_what_overflows_gives_infinity_or_nan_in_both_forms(point: float, compiled: bool) -> None:
    o = oracles(EXTREME, compiled=compiled)
    t = np.float64(point)
    with np.errstate(all="ignore"):
        expected = np.exp(t) / t + np.log(t) * np.sqrt(t) + t * t * t
    assert str(o.value_f([point])) == str(float(expected))
    slope = o.grad_f([point])[0]
    with np.errstate(all="ignore"):
        exact = np.exp(t) / t - np.exp(t) / (t * t) + np.sqrt(t) / t + np.log(t) / 2 / np.sqrt(t) + 3 * t * t
    assert np.allclose(slope, exact, equal_nan=True)


def test_kinds_of_problems() -> None:
    single = oracles(Problem("single_level", x1**2 + x2, (x1, x2)), compiled=False)
    assert single.grad_f([1.0, 5.0])[0].tolist() == [2.0, 1.0]
    assert single.hess_f([1.0, 5.0])[0].tolist() == [[2.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ParameterError, match="no g"):
        single.grad_g([1.0, 5.0])
    saddle = oracles(Problem("minimax", x1 * y1 - y1**2, (x1,), None, (y1,)), compiled=False)
    assert saddle.grad_y_f([3.0], [1.0]).tolist() == [1.0]
    assert saddle.grad_y_g([3.0], [1.0]).tolist() == [-1.0]
    assert dict(saddle.counts) == {"grad_f": 2}
    simple = oracles(Problem("simple_bilevel", x1**2, (x1,), (x1 - 1) ** 2), compiled=False)
    assert simple.grad_g([3.0])[0].tolist() == [4.0]


def test_third_derivatives_unpack_symmetrically() -> None:
    o = oracles(SMALL, compiled=False)
    full = unpack_third(o.third_g([0.3], [0.7]), 2)
    expected = float(sympy.diff(SMALL.g, x1, y1, y1).subs({x1: sympy.Float(0.3, 30), y1: sympy.Float(0.7, 30)}))
    for place in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        assert full[place] == pytest.approx(expected, rel=1e-13)


def test_only_what_is_asked_for_is_derived() -> None:
    o = oracles(ATOMS, compiled=False)
    P = o.function_set(["grad_y_g"], "plain")
    assert set(o.programs._sources) == {"grad_y_g"}
    with pytest.raises(ParameterError, match="was not asked for"):
        P.hess_g([0.0, 0.0], [0.0] * 3, [0.0] * 25)


@needs_numba
def test_a_compiled_stub_poisons_its_result() -> None:
    P = oracles(SMALL).function_set(["grad_y_g"])
    out = np.zeros(4)
    P.hess_g(np.zeros(1), np.zeros(1), out)
    assert np.isnan(out[0])


@needs_numba
def test_too_large_an_oracle_stays_plain_and_says_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "LARGEST_COMPILED", 5)
    problem = Problem("single_level", sin(x1) * cos(x2) * exp(x1 * x2) + Rational(17, 31) * x1, (x1, x2))
    o = oracles(problem, compiled=True)
    with pytest.warns(OracleWarning, match=r"grad_f has \d+ operations, more than 5"):
        value = o.grad_f([0.1, 0.2])[0]
    assert np.isfinite(value).all()
    assert not o.can_compile(["grad_f"])


def test_without_numba_everything_is_plain_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda name: None)
    o = oracles(SMALL, compiled=True)
    with pytest.warns(OracleWarning, match="numba is not installed") as said:
        assert len({o.value_f([0.1], [0.2]) for _ in range(3)}) == 1
    assert len(said) == 1
    with pytest.raises(ParameterError, match="plain"):
        o.function_set(["grad_f"])


def test_a_numba_that_does_not_work_is_as_good_as_none_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ImportError(f"{name}: wrong ELF class")

    if importlib.util.find_spec("numba") is None:
        monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(compiling.importlib, "import_module", broken)
    compiling._trouble.cache_clear()
    try:
        o = oracles(SMALL, compiled=True)
        with pytest.warns(OracleWarning, match=r"numba does not work here \(ImportError: numba: wrong ELF") as said:
            assert len({o.value_f([0.1], [0.2]) for _ in range(3)}) == 1
        assert len(said) == 1
    finally:
        compiling._trouble.cache_clear()


@needs_numba
def test_an_oracle_that_the_compiler_refuses_stays_plain_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("LLVM gave up")

    monkeypatch.setattr(forms.machine, "compile_oracle", refuse)
    problem = Problem("single_level", sin(x1) + Rational(13, 37) * x1**3, (x1,))
    o = oracles(problem, compiled=True)
    with pytest.warns(OracleWarning, match=r"grad_f could not be compiled \(RuntimeError\)") as said:
        values = [o.grad_f([0.1])[0] for _ in range(3)]
    assert len(said) == 1
    assert np.isfinite(values).all()


def test_plain_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEVEL_VERIFY_PLAIN", "1")
    o = oracles(SMALL, compiled=True)
    o.value_f([0.1], [0.2])
    assert not o._fast


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: o.grad_f([1.0, 2.0], [0.0]), "x has 2 entries; the problem has 1"),
        (lambda o: o.hvp_yy_g([1.0], [0.0], [1.0, 2.0]), "v has 2 entries"),
        (lambda o: o.function_set(["grad_h"]), "there is no oracle 'grad_h'"),
        (lambda o: o.function_set(["grad_f"], "fast"), "form is"),
        (lambda o: o.batch("grad_f", [[1.0]]), "takes points of 2 coordinates"),
    ],
)
def test_wrong_use_is_refused(call: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call(oracles(SMALL, compiled=False))  # type: ignore[operator]


def test_weak_derivatives_are_defined_and_jumps_are_refused() -> None:
    from bilevel_verify.errors import MathematicalError

    o = oracles(Problem("single_level", huber(1, x1), (x1,)), compiled=False)
    assert o.hess_f([0.5])[0].tolist() == [[1.0]]
    assert o.hess_f([2.0])[0].tolist() == [[0.0]]
    with pytest.raises(MathematicalError):
        o.third_f([0.5])


def test_a_wrong_derivative_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: the comparison above catches a planted error in the derivative of the cosine."""
    from bilevel_verify.symbolic import differentiate

    monkeypatch.setitem(differentiate.CYCLES, "cos", "cos")
    o = oracles(SMALL, compiled=False)
    exact = float(sympy.diff(SMALL.f, x1).subs({x1: sympy.Float(0.3, 30), y1: sympy.Float(0.7, 30)}))
    assert abs(o.grad_f([0.3], [0.7])[0][0] - exact) > 1e-3


def test_every_field_has_one_signature() -> None:
    assert set(EVALUATIONS) | set(PRODUCTS) == set(FIELDS)
    assert isinstance(oracles(SMALL), Oracles)
