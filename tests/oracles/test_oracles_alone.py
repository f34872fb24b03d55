"""Side conditions of the oracles, each alone: when they are compiled, what sums over data are given, which pieces."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sympy import Integer, symbols

from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles import Oracles, batch, convention, counted, forms, named_counts, new_counts, oracles
from bilevel_verify.oracles.convention import BUDGET, CALLS, COUNTERS, COUNTS_LENGTH, EXHAUSTED, FIELDS, NO_BUDGET
from bilevel_verify.oracles.oracles import unpack_third
from bilevel_verify.oracles.programs import Programs
from bilevel_verify.problems import data_sum
from bilevel_verify.problems.construct import bilevel
from bilevel_verify.problems.problem import Problem

pytestmark = pytest.mark.fast

ORACLES = sys.modules[Oracles.__module__]
X, Y = symbols("x1:2", real=True), symbols("y1:4", real=True)
UNEQUAL = Problem("bilevel", X[0] * Y[0] + Y[2] ** 3, X, Y[0] ** 2 + Y[1] ** 2 * X[0] + Y[2] ** 2, Y)  # dx = 1, dy = 3
POINT = ([0.5], [1.0, -2.0, 3.0])


# ---- the convention --------------------------------------------------------------------------------------------------


def test_the_layout_and_its_version_change_together() -> None:
    """Every compiled file rests on this layout: whoever changes it gives it another version, here and there."""
    layout = repr((FIELDS, COUNTERS, CALLS, BUDGET, EXHAUSTED, COUNTS_LENGTH, NO_BUDGET))
    known = "c2959141d9a06ee6"
    assert (convention.VERSION, hashlib.sha256(layout.encode()).hexdigest()[:16]) == (2, known)


def test_names_of_counters_stand_at_their_places() -> None:
    for place, kind in enumerate(COUNTERS):
        assert getattr(convention, kind.upper()) == place
    assert (len(COUNTERS), len(COUNTERS) + 1, len(COUNTERS) + 2) == (CALLS, BUDGET, EXHAUSTED)
    assert new_counts().dtype == np.int64
    assert new_counts().tolist() == [0] * len(COUNTERS) + [0, NO_BUDGET, 0]
    assert new_counts(0)[BUDGET] == 0
    assert new_counts(7)[BUDGET] == 7


def test_a_counter_beyond_the_budget_says_one() -> None:
    counts = new_counts(0)
    counted.count(counts, 3)
    assert counts.tolist()[len(COUNTERS) :] == [1, 0, 1]
    assert named_counts(counts) == {COUNTERS[3]: 1}
    counted.count(counts, 3)
    assert counts[EXHAUSTED] == 1


ASKING = sorted(name for name in vars(counted) if name.startswith(("ask_", "stop_")))


@pytest.mark.parametrize("name", ASKING)
def test_every_question_of_a_loop_is_one_call_of_one_oracle_under_one_key(name: str) -> None:
    """By their names: ``ask_grad_y_f`` asks ``grad_y_f`` and counts a gradient of f, ``stop_`` one apart."""
    word, _, oracle = name.partition("_")
    first, *_, level = oracle.split("_")
    kind = f"{'jvp_xy' if first == 'jvp' else oracle.removesuffix(f'_{level}') if first == 'hvp' else first}_{level}"
    asked: list[tuple[Any, ...]] = []
    oracle_set = SimpleNamespace(**{oracle: lambda *arguments: asked.append(arguments)})
    arguments = ("x", "y", "v", "out") if first in ("hvp", "jvp") else ("x", "y", "out")
    counts = new_counts(1)
    getattr(counted, name)(oracle_set, counts, *arguments)
    assert asked == [arguments]
    assert named_counts(counts) == {f"stop_{kind}" if word == "stop" else kind: 1}
    assert not counted.exhausted(counts)
    getattr(counted, name)(oracle_set, counts, *arguments)
    assert counted.exhausted(counts)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def test_blocks_of_unequal_size_are_cut_at_the_right_place() -> None:
    o = oracles(UNEQUAL, compiled=False)
    assert [part.tolist() for part in o.grad_f(*POINT)] == [[1.0], [0.5, 0.0, 27.0]]
    xx, xy, yy = o.hess_g(*POINT)
    assert xx.tolist() == [[0.0]]
    assert xy.tolist() == [[0.0, -4.0, 0.0]]
    assert yy.tolist() == [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
    X_, Y_ = np.array([[0.5], [0.5]]), np.array([[1.0, -2.0, 3.0], [1.0, -2.0, 3.0]])
    assert [part.shape for part in o.grad_g_batch(X_, Y_)] == [(2, 1), (2, 3)]
    assert [part.shape for part in o.hess_f_batch(X_, Y_)] == [(2, 1, 1), (2, 1, 3), (2, 3, 3)]
    assert o.hess_g_batch(X_, Y_)[1][1].tolist() == [[0.0, -4.0, 0.0]]


def test_points_without_a_lower_block_and_with_one() -> None:
    single = oracles(Problem("single_level", X[0] ** 2, X), compiled=False)
    assert single.value_f_batch([[1.0], [3.0]]).tolist() == [1.0, 9.0]
    assert single.batch("grad_f", [[1.0], [3.0]]).tolist() == [[2.0], [6.0]]
    assert single.value_f([3.0]) == 9.0


def test_every_leading_axis_of_packed_third_derivatives_is_kept() -> None:
    packed = np.arange(24.0).reshape(2, 3, 4)
    full = unpack_third(packed, 2)
    assert full.shape == (2, 3, 2, 2, 2)
    assert full[1, 2, 1, 0, 1] == packed[1, 2, 2]
    assert unpack_third(packed[0, 0], 2).shape == (2, 2, 2)


# ---- when oracles are compiled ---------------------------------------------------------------------------------------


class Compiler:
    """Stands for the compiler: notes what it was asked for, and answers with a function that is told apart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, works: bool = True, refused: str = "") -> None:
        self.asked: list[str] = []
        self.refused = refused
        monkeypatch.setattr(ORACLES, "can_compile", lambda: works)
        monkeypatch.setattr(forms, "compiled_oracle", self.make)

    def make(self, programs: Programs, field: str) -> Callable[..., None] | None:
        self.asked.append(field)

        def marked(*arguments: Any) -> None:
            arguments[-1][:] = 99.0

        return None if field == self.refused else marked


@pytest.mark.parametrize("compiled", [True, False, None])
@pytest.mark.parametrize("works", [True, False])
def test_a_call_is_compiled_at_once_never_or_after_a_thousand(
    compiled: bool | None, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler(monkeypatch, works)
    o = oracles(UNEQUAL, compiled)
    values = [o.value_f(*POINT) for _ in range(1001)]
    plain = {True: 0, False: 1001, None: 1000}[compiled] if works else 1001
    assert values == [27.5] * plain + [99.0] * (1001 - plain)
    assert compiler.asked == (["value_f"] if plain < 1001 else [])  # made once
    assert o.counts["value_f"] == 1001
    assert o.grad_f(*POINT)[0].tolist() == ([99.0] if compiled and works else [1.0])  # each oracle has its own calls


def test_an_oracle_that_cannot_be_compiled_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler(monkeypatch, refused="value_f")
    o = oracles(UNEQUAL, compiled=True)
    assert [o.value_f(*POINT) for _ in range(3)] == [27.5] * 3
    assert compiler.asked == ["value_f"]
    assert not o.can_compile(["grad_f", "value_f"])
    assert not o.can_compile(["value_f", "grad_f"])
    assert o.can_compile(["grad_f"])


def test_a_plain_oracle_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    plain = forms.plain_oracle
    monkeypatch.setattr(forms, "plain_oracle", lambda source: made.append(source.name) or plain(source))
    o = oracles(UNEQUAL, compiled=False)
    for _ in range(3):
        o.value_f(*POINT)
        o.fresh().value_f(*POINT)
    assert made == ["value_f"]


@pytest.mark.parametrize("compiled", [True, False, None])
@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("heavy", [True, False])
@pytest.mark.parametrize("calls", [0, 1000, 1001])
def test_what_is_worth_compiling(
    compiled: bool | None, works: bool, heavy: bool, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler(monkeypatch, works)
    o = oracles(UNEQUAL, compiled)
    o._asked["grad_y_g"] = calls
    often = heavy or calls > 1000
    wanted = works and (compiled is True or (compiled is None and often))
    names = ["value_f", "grad_y_g"]
    assert o.worth_compiling(names, heavy=heavy) is wanted
    if not heavy:
        assert o.worth_compiling(names) is wanted
    assert compiler.asked == (names if wanted else [])
    assert o.can_compile(names) is (works and compiled is not False)


def test_an_oracle_that_was_never_asked_is_not_asked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    Compiler(monkeypatch)
    monkeypatch.setattr(ORACLES, "COMPILE_AFTER", 0)
    o = oracles(UNEQUAL)
    assert not o.worth_compiling(["value_f"])
    o._asked["value_f"] = 1
    assert o.worth_compiling(["value_f"])


def test_only_a_compiled_set_asks_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler(monkeypatch, refused="grad_f")
    monkeypatch.setattr(forms, "compiled_stub", lambda field: f"compiled stub of {field}")
    o = oracles(UNEQUAL)
    with pytest.raises(ParameterError, match="cannot be compiled here"):
        o.function_set(["value_f", "grad_f"])
    fast = o.function_set(["value_f"])
    assert fast.grad_f == "compiled stub of grad_f"
    out = np.zeros(1)
    fast.value_f(*POINT, out)
    assert out.tolist() == [99.0]
    compiler.asked.clear()
    for form in ("plain", "multiprecision"):
        slow = o.function_set(["value_f"], form)
        with pytest.raises(ParameterError, match="grad_f was not asked for"):
            slow.grad_f(*POINT, out)
        slow.value_f(*POINT, out)
        assert float(out[0]) == 27.5
    assert compiler.asked == []


# ---- sums over data --------------------------------------------------------------------------------------------------

SUM, CLOSED = "mean(b[i]*sin(dot(A[i], y)) + A[i, 0]*x1**2)", "dot(y, y)/2 + x1*y1"


@pytest.fixture(params=["f", "g"])
def with_data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Oracles, Oracles]:
    """The level that sums over data (the other one does not), the oracles, and those of the sum written out."""

    def build(limit: int) -> Oracles:
        monkeypatch.setattr(data_sum, "WRITE_OUT", limit)
        numbers = np.random.default_rng(3)
        data = {"A": numbers.integers(-8, 9, (12, 2)) / 8, "b": numbers.integers(-8, 9, 12) / 8}
        texts = {"f": CLOSED, "g": CLOSED} | {request.param: SUM}
        return oracles(bilevel(f=texts["f"], g=texts["g"], x="x1", y=["y1", "y2"], data=data), compiled=False)

    return request.param, build(2), build(10**9)


@pytest.mark.parametrize("field", ["value_f", "value_g", "grad_f", "grad_y_g", "hess_f", "jvp_yx_g", "hvp_f", "hvp_g"])
def test_a_sum_over_data_belongs_to_its_own_level(field: str, with_data: tuple[str, Oracles, Oracles]) -> None:
    level, kept, written = with_data
    assert kept.programs.has_data_sums(field[-1]) == (field[-1] == level)
    assert not written.programs.has_data_sums("f")
    assert not written.programs.has_data_sums("g")
    direction = {"jvp_yx_g": [0.75], "hvp_f": [0.5, -1.0, 0.25], "hvp_g": [0.5, -1.0, 0.25]}.get(field)
    arguments = [[0.3], [0.7, -0.4], *([direction] if direction else [])]
    exact = written._ask(field, *arguments)
    np.testing.assert_allclose(kept._ask(field, *arguments), exact, rtol=1e-13, atol=1e-14)
    rows = [np.array([block, block]) for block in arguments]
    np.testing.assert_allclose(kept.batch(field, *rows), np.array([exact, exact]), rtol=1e-13, atol=1e-14)
    out: list[Any] = [0.0] * len(exact)
    getattr(kept.function_set([field], "multiprecision"), field)(*arguments, out)
    np.testing.assert_allclose([float(v) for v in out], exact, rtol=1e-13, atol=1e-14)


def test_sums_over_data_get_arrays_and_closed_forms_get_lists(
    with_data: tuple[str, Oracles, Oracles], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists would be turned into arrays again at every call, which costs as much as reading the data."""
    level, kept, _ = with_data
    for field in ("value_f", "value_g", "grad_f", "grad_g"):
        seen: list[type] = []
        monkeypatch.setattr(kept, "_plain_oracle", lambda f, seen=seen: lambda *a: seen.extend(map(type, a)))
        kept._ask(field, [0.3], [0.7, -0.4])
        assert set(seen) == ({np.ndarray} if field[-1] == level else {list})


@pytest.mark.parametrize("compiled", [True, False, None])
@pytest.mark.parametrize("works", [True, False])
def test_the_rest_of_a_sum_over_data_is_compiled_where_compiling_is_left_open(
    compiled: bool | None, works: bool, with_data: tuple[str, Oracles, Oracles], monkeypatch: pytest.MonkeyPatch
) -> None:
    level, kept, _ = with_data
    told: list[tuple[str, bool]] = []
    monkeypatch.setattr(ORACLES, "can_compile", lambda: works)
    monkeypatch.setattr(forms, "array_oracle", lambda shop, field, compile_rest: told.append((field, compile_rest)))
    kept._compile = compiled
    for field in ("value_f", "value_g", f"grad_{level}"):
        kept._plain_oracle(field)
    assert told == [
        (f"value_{level}", works and compiled is not False),
        (f"grad_{level}", works and compiled is not False),
    ]


# ---- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["compiled", "plain", "multiprecision"])
def test_a_set_of_functions_has_no_oracle_by_another_name(form: str) -> None:
    with pytest.raises(ParameterError, match="there is no oracle 'hess_h'"):
        oracles(UNEQUAL).function_set(["value_f", "hess_h"], form)


@pytest.mark.parametrize("shape", [(2, 4, 1), (2, 1, 4), (1, 2, 4)])
def test_a_batch_takes_a_table_of_points_and_nothing_higher(shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="as many rows of every block as points"):
        oracles(UNEQUAL).batch("value_f", np.ones(shape))


@pytest.mark.parametrize("width", [1, 3, 4, 5])
def test_a_batch_takes_points_of_as_many_coordinates_as_there_are(width: int) -> None:
    o = oracles(UNEQUAL)
    wanted = sum(length for _, length in o.programs.blocks("value_f"))
    points = np.ones((2, width))
    if width == wanted:
        assert o.batch("value_f", points).shape[0] == 2
        return
    with pytest.raises(ParameterError, match=f"takes points of {wanted} coordinates, not {width}"):
        o.batch("value_f", points)


class Pieces:
    """A program that notes how many points it is given at once."""

    def __init__(self, instructions: int) -> None:
        self.instructions, self.outputs, self.sizes = [None] * instructions, [0, 1], []  # type: ignore[var-annotated]

    def run(self, arithmetic: object, columns: list[np.ndarray]) -> list[np.ndarray]:
        self.sizes.append(len(columns[0]))
        return [columns[0] + columns[1], columns[0]]


@pytest.mark.parametrize(
    ("instructions", "most", "sizes"),
    [
        (2, 6, [3, 3, 1]),
        (2, 7, [3, 3, 1]),
        (2, 13, [6, 1]),
        (2, 14, [7]),
        (1, 6, [6, 1]),
        (0, 6, [6, 1]),
        (5, 3, [1] * 7),
    ],
)
def test_a_batch_goes_in_pieces_that_fit(
    instructions: int, most: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "AT_ONCE", most)
    program = Pieces(instructions)
    shop = SimpleNamespace(is_structured=lambda which: False, program=lambda field: program)
    points = np.arange(14.0).reshape(7, 2)
    found = batch._closed_form(shop, "grad_f", points)  # type: ignore[arg-type]
    assert found.tolist() == [[a + b, a] for a, b in points.tolist()]
    assert program.sizes == sizes


@pytest.mark.parametrize("field", ["value_f", "third_f", "hess_g", "third_g", "hvp_g"])
@pytest.mark.parametrize("structured", ["", "f", "g", "fg"])
def test_arrays_are_used_where_they_are_large_and_never_for_third_derivatives(
    field: str, structured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Pieces(3)
    shop = SimpleNamespace(
        is_structured=lambda which: which in structured,
        program=lambda field: program,
        numeric=lambda which: f"arrays of {which}",
    )
    monkeypatch.setattr(batch, "_on_arrays", lambda shop, field, structure, points: structure)
    found = batch._closed_form(shop, field, np.zeros((7, 2)))  # type: ignore[arg-type]
    if field[-1] in structured and not field.startswith("third"):
        assert found == f"arrays of {field[-1]}"  # type: ignore[comparison-overlap]
    else:
        assert found.shape == (7, 2)


class Arrays:
    """A structure of three variables that notes what it is asked."""

    size = 3

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            self.said = (name, *(a.tolist() if isinstance(a, np.ndarray) else a for a in arguments))
            return np.arange(18.0).reshape(2, 3, 3) if name == "full_hessian" else np.array([5.0, 7.0])

        return asked


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("value_g", ("value",)),
        ("third_g", ("third",)),
        ("hess_f", ("full_hessian",)),
        ("grad_f", ("gradient", range(3))),
        ("grad_x_g", ("gradient", range(1))),
        ("grad_y_g", ("gradient", range(1, 3))),
        ("hvp_f", ("product", range(3), range(3))),
        ("hvp_yy_g", ("product", range(1, 3), range(1, 3))),
        ("jvp_xy_g", ("product", range(1), range(1, 3))),
        ("jvp_yx_g", ("product", range(1, 3), range(1))),
    ],
)
def test_what_arrays_are_asked_for(field: str, said: tuple[Any, ...]) -> None:
    shop = Programs(Problem("bilevel", X[0] * Y[0] + Y[1], X, Y[0] ** 2 + Y[1] ** 2, Y[:2]))
    structure, points = Arrays(), np.arange(12.0).reshape(2, 6)
    found = batch._on_arrays(shop, field, structure, points)  # type: ignore[arg-type]
    z, v = points[:, :3].tolist(), points[:, 3:].tolist()
    name, *ranges = said
    assert structure.said == (name, z, *ranges, *([v] if name == "product" else []))
    if name == "value":
        assert found.tolist() == [[5.0], [7.0]]
    elif name == "full_hessian":
        assert found.tolist() == np.arange(18.0).reshape(2, 9).tolist()
    else:
        assert found.tolist() == [5.0, 7.0]


def test_a_constant_function_has_oracles() -> None:
    o = oracles(Problem("bilevel", Integer(3), X, Y[0] ** 2, Y[:1]), compiled=False)
    assert o.value_f([1.0], [2.0]) == 3.0
    assert o.batch("grad_f", [[1.0]], [[2.0]]).tolist() == [[0.0, 0.0]]


# ---- refusals, and what is ready -------------------------------------------------------------------------------------


def test_what_is_no_oracle_and_what_has_unequal_rows_is_refused_by_name() -> None:
    one = Oracles(UNEQUAL)
    for field in ("nothing", 7, "value_h"):
        with pytest.raises(ParameterError, match="there is no oracle"):
            one.batch(field, [[0.5]], [[1.0, -2.0, 3.0]])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="as many rows"):
        one.batch("value_f", [[0.5], [0.25]], [[1.0, -2.0, 3.0]])
    with pytest.raises(ParameterError, match="there is no oracle"):
        one.can_compile(["value_f", "nothing"])


def test_several_oracles_are_ready_when_each_of_them_is() -> None:
    one = Oracles(UNEQUAL)
    one._fast = {"value_f": object()}  # type: ignore[dict-item]
    assert one.ready(["value_f"]) is True
    assert one.ready(["value_f", "value_g"]) is False
    assert one.ready(["value_g", "value_f"]) is False


def test_calls_that_would_pass_the_budget_are_not_made() -> None:
    counts = new_counts(10)
    counts[CALLS] = 7
    assert [counted.too_dear(counts, calls) for calls in (0, 3, 4)] == [False, False, True]
    assert not counted.lacks(counts, 3)
    assert not counted.exhausted(counts)
    assert counted.lacks(counts, 4)
    assert counted.exhausted(counts)
    assert counts[CALLS] == 7
