"""Solvers of a user in narrow floats, in child processes and in threads: what is refuted and what is counted."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.solvers.coarseness import FINE, LEAST, ROUNDINGS, coarsest, share_of, unit_of
from bilevel_verify.errors import SolverError
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.oracles import HandedOracles, oracles

CARD = """
[paper]
key = "own"
title = "Claims about a solver"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz constant of the gradient" }
eta = { unit = "X**2/F", domain = "(0, oo)", meaning = "step" }
[settings.s.parameters]
eta = "1/L"
[[theorem]]
id = "steps"
settings = ["s"]
  [[theorem.claim]]
  id = "length"
  over = "step"
  left = "norm(x[k+1] - x[k])"
  right = "eta*norm(grad_f(x[k]))"
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - eta/2*norm(grad_f(x[k]))**2"
  [[theorem.claim]]
  id = "gradients"
  over = "run"
  left = "calls(grad_f)"
  right = "4"
"""
START = [0.7310585786300049, 1.1]


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("own") / "own.toml"
    path.write_text(CARD, encoding="utf-8")
    return f"{path}/steps"


@pytest.fixture(scope="module")
def problem() -> bv.Problem:
    return bv.single_level(f="2*(1 - cos(x1)) + 3*x2**2/2 + x1*x2/3", x="x1 x2", name="waves")


def rows(problem: bv.Problem, card: str, solver: Any, **options: Any) -> dict[str, bv.Row]:
    found = bv.verify(problem, card, x0=START, method=solver, **options)
    return {str(row.claim): row for row in found.claims}


def descent(kind: Any, factor: float = 1.0, count: int = 30, record: Any = np.asarray) -> Any:
    """Gradient descent in a floating point format; a factor above one makes its steps too long."""

    def solver(o: Any, x0: Any, p: Any) -> Any:
        x, points = np.asarray(x0, dtype=float).astype(kind), [x0]
        for _ in range(count):
            step = kind(factor * float(p["eta"])) * np.asarray(o.grad_x_f(x)).astype(kind)
            x = (x - step).astype(kind)
            points.append(record(x))
        return points

    return solver


def in_double(x: Any) -> Any:
    return x.astype(float)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("record", [np.asarray, in_double, lambda x: [float(v) for v in x]])
def test_rounding_of_the_solver_s_own_floats_is_no_break(
    problem: bv.Problem, card: str, kind: Any, record: Any
) -> None:
    found = rows(problem, card, descent(kind, record=record))["length"]
    assert found.verdict in ("undecided", "holds")
    assert (found.reason or "").startswith(("precision: ", "tie", "", "local"))


def test_points_asked_in_single_and_recorded_in_double(problem: bv.Problem, card: str) -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        points = [np.array([float(v) for v in x0])]
        for _ in range(9):
            slope = np.asarray(o.grad_x_f(np.asarray(points[-1]).astype(np.float32)))
            points.append(points[-1] - float(p["eta"]) * slope)
        return points

    assert rows(problem, card, solver)["length"].verdict == "undecided"


@pytest.mark.parametrize("places", [4, 6, 8])
def test_points_rounded_to_decimals(problem: bv.Problem, card: str, places: int) -> None:
    found = rows(problem, card, descent(np.float64, record=lambda x: np.round(x, places)))
    assert found["length"].verdict == "undecided"


@pytest.mark.parametrize(
    ("kind", "factor"), [(np.float64, 1.0001), (np.float64, 1.5), (np.float64, 3.0), (np.float32, 1.5)]
)
def test_control_true_breaks_stay_refuted(problem: bv.Problem, card: str, kind: Any, factor: float) -> None:
    found = rows(problem, card, descent(kind, factor))["length"]
    assert found.verdict == "refuted"
    assert found.certainty == "computed"


# --- the units


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (np.zeros(2), FINE),
        ([np.zeros(2), np.zeros(2, dtype=np.float32)], 2.0**-23),
        (([np.float16(1)], [1.0]), 2.0**-10),
        (bv.Trajectory([[np.zeros(1)]], w=[[np.zeros(1, dtype=np.float32)]]), 2.0**-23),
        (bv.Trajectory([[np.zeros(1)]], before={"x": [np.zeros(1, dtype=np.float16)]}), 2.0**-10),
        (np.zeros(2, dtype=np.longdouble), FINE),
        (np.zeros(2, dtype=int), FINE),
        ([], FINE),
        (None, FINE),
    ],
)
def test_the_narrowest_floats_of_an_answer(value: Any, unit: float) -> None:
    assert coarsest(value) == unit


def test_units_that_values_show() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(40, 2))
    assert unit_of([numbers]) == FINE
    assert unit_of([numbers.astype(np.float32).astype(float)]) == 2.0**-23
    assert unit_of([numbers.astype(np.float16).astype(float)]) == 2.0**-10
    assert unit_of([np.array([[1.0, 0.5]]), np.array([0.25])]) == 2.0**-23, "few numbers may be short by chance"
    assert unit_of([np.array([[1.0, 0.1]])]) == FINE
    assert unit_of([np.zeros((3, 1))]) == FINE
    assert unit_of([np.array([[np.nan, np.inf]])]) == FINE
    assert unit_of([8 * np.round(numbers, 4) / 8]) == pytest.approx(1e-4 / np.max(np.abs(numbers)), rel=1e-3)


@pytest.mark.parametrize(
    ("rounding", "calls", "share"), [(FINE, 3, LEAST), (2.0**-23, 3, ROUNDINGS * 2 * 5 * 2.0**-23)]
)
def test_the_share_of_a_run(rounding: float, calls: int, share: float) -> None:
    table = MappingProxyType({"x": np.array([[1 / 3, 1 / 7], [0.1, 0.2]])})
    trace = Trace(np.array([0, 0]), np.array([0, 1]), table)
    nothing: Any = MappingProxyType({})
    counts = MappingProxyType({"grad_f": calls})
    run = Run("own", "p", np.array([0.1, 0.2]), "finished", counts, 1, 1, trace, nothing, rounding=rounding)
    assert share_of(run) == share


# --- counts


def test_a_child_process_gets_no_answers(problem: bv.Problem, card: str) -> None:
    told: list[bytes] = []

    def solver(o: Any, x0: Any, p: Any) -> Any:
        question = o.grad_x_f  # taken before the fork
        ends = os.pipe()
        child = os.fork()
        if not child:
            word = b""
            for ask in (lambda: question(x0), lambda: o.grad_x_f(x0), lambda: o.counts):
                try:
                    ask()
                    word += b"an answer; "
                except SolverError as error:
                    word += str(error).encode()[:23] + b"; "
            os.write(ends[1], word)
            os._exit(0)
        os.waitpid(child, 0)
        told.append(os.read(ends[0], 1000))
        return [x0, x0 - 0 * o.grad_x_f(x0)]

    assert rows(problem, card, solver)["gradients"].measured == 1
    assert told[0] == 3 * b"a child process of the ; "


def test_an_error_of_a_child_is_one_of_the_solver(problem: bv.Problem, card: str) -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        return [x0, pickle.loads(pickle.dumps(o)).grad_x_f(x0)]

    with pytest.raises(SolverError, match="pickle"):
        rows(problem, card, solver)


@pytest.mark.parametrize("name", ["reset", "fresh", "counts_array", "_counts", "problem", "batch", "function_set"])
def test_private_names_do_not_reach_the_counters(problem: bv.Problem, name: str) -> None:
    view = HandedOracles(oracles(problem))
    window = view._HandedOracles__asked  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        getattr(window, name)
    assert not hasattr(window.grad_f, "__self__")


def test_copies_count_where_the_oracles_do(problem: bv.Problem) -> None:
    asked = oracles(problem)
    view = HandedOracles(asked)
    for other in (copy.copy(view), copy.deepcopy(view)):
        other.grad_f(START)
    assert asked.counts == view.counts == {"grad_f": 2}


def test_threads_lose_no_call(problem: bv.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """``read, add, write`` of a counter, with a pause between: of two threads one would write over the other."""
    asked = oracles(problem)
    true = asked.grad_f

    def slowly(*points: Any) -> Any:
        before = asked.counts_array.copy()
        time.sleep(1e-4)
        asked.counts_array[:] = before
        return true(*points)

    monkeypatch.setattr(asked, "grad_f", slowly)
    view = HandedOracles(asked)

    def ask() -> None:
        for _ in range(30):
            view.grad_f(START)

    workers = [threading.Thread(target=ask) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert asked.counts == {"grad_f": 120}


# --- claims whose truth depends on units, and fields that are none


LOGARITHMS = """
eps = { unit = "F/X", domain = "(0, oo)", from = "user", meaning = "an accuracy" }
"""


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("log(eps)*calls(grad_f)", "-2", "undecided"),
        ("log(eps) - log(L)", "10", "undecided"),
        ("log(eps) - log(10*eps)", "calls(grad_f)", "holds"),
        ("log(eps)", "log(10*eps)", "holds"),
    ],
)
def test_a_logarithm_of_a_letter_with_a_unit(
    problem: bv.Problem, tmp_path: Any, left: str, right: str, verdict: str
) -> None:
    text = CARD.replace("[letters]", "[letters]" + LOGARITHMS).partition("[[theorem]]")[0]
    claim = f"[[theorem.claim]]\nid = 'it'\nover = 'run'\nleft = '{left}'\nright = '{right}'\n"
    (tmp_path / "own.toml").write_text(f"{text}[[theorem]]\nid = 'steps'\nsettings = ['s']\n{claim}", encoding="utf-8")
    found = rows(problem, f"{tmp_path}/own.toml/steps", descent(np.float64, count=3), eps=0.1)["it"]
    assert found.verdict == verdict, found.reason
    assert verdict == "holds" or (found.reason or "").startswith("units: the logarithm of F/X")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"restarts": [np.zeros(2)]},
            "restarts of the trajectory must be a list of True and False, one for every epoch",
        ),
        ({"restarts": [0.5]}, "restarts of the trajectory"),
        ({"restarts": 5}, "restarts of the trajectory"),
        ({"restarts": "n"}, "restarts of the trajectory"),
        ({"restarts": [None]}, "restarts of the trajectory"),
        ({"restarts": np.array([2])}, "restarts of the trajectory"),
        ({"w": 5}, "w of the trajectory must be a list of epochs, each a list of points, not a int"),
        ({"y": [5]}, "y of the trajectory"),
        ({"z": {"a": 1}}, "z of the trajectory"),
        ({"epochs": None}, "epochs of the trajectory"),
        (
            {"epochs": [5.0]},
            "epochs of the trajectory must be a list of epochs, each a list of points, not a list of float",
        ),
        ({"epochs": "ab"}, "epochs of the trajectory"),
        ({"before": [np.zeros(2)]}, "before of the trajectory must be a mapping"),
        ({"before": {"x": 5}}, "before of the trajectory"),
        ({"before": {5: [np.zeros(2)]}}, "before of the trajectory"),
    ],
)
def test_a_field_of_a_trajectory_that_is_no_list_is_named(more: dict[str, Any], says: str) -> None:
    with pytest.raises(bv.ParameterError, match=says) as error:
        bv.Trajectory(**({"epochs": [[np.zeros(2)]]} | more))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("restarts", [None, [True], [np.True_], [1], (False,), np.array([True])])
def test_restarts_are_truth_values(restarts: Any) -> None:
    assert bv.Trajectory([[np.zeros(2)]], restarts=restarts).restarts is restarts


# --- a second run that rounds too, points that overflow

WHOLE = CARD.replace('eta = "1/L"', 'eta = "1/(10*L)"')
SLOWLY = """
  [[theorem.claim]]
  id = "ratio"
  over = "step"
  left = "f(x[k+1])"
  right = "9/10*f(x[k])"
"""


def rounded_by(kind: Any, shift: float = 0.0, factor: float = 1.0) -> Any:
    """Descent of eight steps in a format; what is added and taken away, or multiplied and divided, changes nothing."""

    def solver(o: Any, x0: Any, p: Any) -> Any:
        points = [np.asarray(x0, dtype=kind)]
        for _ in range(8):
            z = points[-1] - kind(p["eta"]) * np.asarray(o.grad_x_f(points[-1]), dtype=kind)
            points.append((z + kind(shift)) - kind(shift) if shift else (z * kind(factor)) / kind(factor))
        return points

    return solver


def half_rounded(o: Any, x0: Any, p: Any) -> Any:
    """Points of many digits from gradients in single precision."""
    points = [x0]
    for _ in range(8):
        points.append(points[-1] - 20 * p["eta"] * np.asarray(o.grad_x_f(points[-1]), dtype=np.float32))
    return points


def standing(o: Any, x0: Any, p: Any) -> Any:
    """Nothing is asked, and the start is rounded."""
    return [np.asarray(x0, dtype=np.float32)] * 3


@pytest.fixture(scope="module")
def ratio(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ratio") / "ratio.toml"
    path.write_text(WHOLE.partition("  [[theorem.claim]]")[0] + SLOWLY, encoding="utf-8")
    return f"{path}/steps"


@pytest.mark.parametrize(
    ("f", "start", "solver"),
    [
        ("(x1 - 33554432)**2/2", [33554440.0], rounded_by(np.float32)),
        ("(x1**2 + x2**2)/2", [1.0, 1.0], rounded_by(np.float32, shift=2.0**22)),
        ("(x1**2 + x2**2)/2", [1.0, 1.0], rounded_by(np.float64, shift=2.0**51)),
        ("(x1**2 + x2**2)/2", [1.0, 1.0], half_rounded),
        ("(x1**2 + x2**2)/2", [1.0, 1.0], standing),
    ],
    ids=["far away", "single", "double", "the gradients alone", "nothing asked"],
)
@pytest.mark.parametrize("digits", [None, 60], ids=["floats", "sixty digits"])
def test_a_second_run_that_rounds_as_the_first_one_did_confirms_nothing(
    ratio: str, f: str, start: list[float], solver: Any, digits: int | None
) -> None:
    problem = bv.single_level(f=f, x="x1" if len(start) == 1 else "x1 x2")
    given = {} if digits is None else {"digits": digits}
    row = bv.verify(problem, ratio, x0=start, method=solver, **given).claims[0]
    assert row.verdict == "undecided"
    assert "may round in 50 digits, too" in (row.reason or "")


@pytest.mark.parametrize("asks", [True, False])
def test_a_second_run_that_carries_its_digits_confirms(ratio: str, asks: bool) -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        return [x0, x0 + p["eta"] * (o.grad_x_f(x0) if asks else x0)]

    problem = bv.single_level(f="(x1**2 + x2**2)/2", x="x1 x2")
    row = bv.verify(problem, ratio, x0=[1.0, 2.0], method=solver).claims[0]
    assert (row.verdict, row.certainty) == ("refuted", "certified")
    assert (row.reason or "").endswith("confirmed in 50 digits")


@pytest.mark.parametrize(("kind", "factor"), [(np.float16, 4e4), (np.float32, 2e38), (np.float64, 1e308)])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_an_iterate_that_overflowed_is_not_recorded(ratio: str, kind: Any, factor: float) -> None:
    problem = bv.single_level(f="(x1**2 + x2**2)/2", x="x1 x2")
    row = bv.verify(problem, ratio, x0=[2.0, 2.0], method=rounded_by(kind, factor=factor)).claims[0]
    assert (row.verdict, row.reason) == ("undecided", "not recorded: x[0, 1] (8 of 8 places)")
