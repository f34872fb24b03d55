"""Wrong types and shapes handed to the Python interface: an error of our own, whatever is called."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

import bilevel_verify as bv
from bilevel_verify.arguments import MEANINGS, checked
from bilevel_verify.errors import BilevelVerifyError, InputError
from tests.seeds import SEED


def example(
    number: float = 0.0,
    count: int = 0,
    names: Sequence[str] = (),
    table: Mapping[str, float] | None = None,
    path: str | Path = "",
    how: Literal["all", "thin"] = "all",
    flag: bool | None = None,
    act: Callable[[int], int] | None = None,
    array: ArrayLike | None = None,
) -> str:
    """Takes one of everything."""
    return "called"


RIGHT: list[dict[str, Any]] = [
    {"number": 1}, {"number": np.float32(2)}, {"count": np.int64(3)}, {"names": ("a", "b")}, {"names": []},
    {"table": {"a": 1}}, {"table": None}, {"path": Path("x")}, {"how": "thin"}, {"flag": np.bool_(True)}, {"act": len},
    {"names": np.array(["a", "b"])}, {"names": np.array([])},
    {"array": (0.5, 1)}, {"array": [[1.0], [2]]}, {"array": np.zeros(2)}, {"array": 1.5}, {"array": None},
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"number": "1"}, {"number": True}, {"number": 10**400}, {"number": 1j}, {"number": [1.0]}, {"count": 1.5},
    {"count": True}, {"names": "ab"}, {"names": [1]}, {"names": 5}, {"table": {"a": "b"}}, {"table": {1: 1.0}},
    {"table": [1]}, {"path": 5}, {"path": b"x"}, {"how": "none"}, {"how": 1}, {"flag": 1}, {"act": 5},
    {"names": np.array([[1.0]])}, {"names": np.array([1, 2])}, {"names": np.array([["a"]])},
    {"array": {"a": 1}}, {"array": {1.0}}, {"array": object()}, {"array": Path()},
]  # fmt: skip


@pytest.mark.fast
def test_what_the_annotations_allow_and_nothing_else() -> None:
    asked = checked(example)
    for given in RIGHT:
        assert asked(**given) == "called", given
    for given in WRONG:
        with pytest.raises(InputError) as caught:
            asked(**given)
        assert str(caught.value).startswith(f"example: {next(iter(given))} must be "), given
    with pytest.raises(TypeError, match=r"^example\(\) got an unexpected"):  # a wrong name is said as Python says it
        asked(nonsense=1)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("x0", [1, [1.0], np.zeros(3), [[1.0], [2.0]], None], ["a", ["a"], [10**400], {1}, True, np.array(1j)]),
        ("eps", [0.1, "1/10", [0.1, "1/3"], np.array([0.1])], [{}, [None], [[0.1]], object()]),
        (
            "parameters",
            [{}, {"eta": 0.1}, {"B": "1/2"}, {"eta": [0.1, 0.2]}],
            [{"eta": 10**400}, {1: 2}, [1], {"a": {}}],
        ),
        ("jobs", [1, np.int64(4), None], [0, -1, 1.5, True, "1"]),
        ("seed", [0, 2**70, None], [-1, 0.5, False, "0"]),
        ("seconds", [0.1, 20, None], [0, -1, float("nan"), float("inf"), "1", 1j]),
        ("memory", [1, 2.0**31], [0, -1.0, float("nan"), 10**400]),
        ("effort", [0, 0.5], [-1, float("nan"), float("inf"), "1"]),
        ("out", ["", "a/b", Path("x")], ["a\0b", Path("\0")]),
    ],
)
def test_what_a_name_means(name: str, right: list[Any], wrong: list[Any]) -> None:
    test, _ = MEANINGS[name]
    assert all(value is None or test(value) for value in right)
    assert not any(test(value) for value in wrong)


def test_public_functions_are_themselves_for_pickle_and_help() -> None:
    for name in ("solve", "verify", "check", "constants"):
        function = getattr(bv, name)
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__ == function.__wrapped__.__doc__


def test_the_calls_of_the_review_are_errors_of_our_own() -> None:
    p = bv.single_level(f="x1**2 + x2**2", x="x1 x2")
    o = bv.oracles(p)
    two = bv.bilevel(f="x1", g="y1**2", x="x1", y="y1", domain={"x1": (-1, 1)})
    calls: list[Callable[[], Any]] = [
        lambda: bv.solve(p, "gradient-descent", eps=[0.1, [0.2]]), lambda: bv.solve(p, 5),  # type: ignore[arg-type]
        lambda: bv.solve(p, "gradient-descent", eps=0.1, x0=["a"]), lambda: bv.check(5),  # type: ignore[arg-type]
        lambda: bv.solve(p, "gradient-descent", eps=0.1, x0=[10**400]), lambda: bv.constants(p, only=5),  # type: ignore[call-overload]
        lambda: bv.solve(p, "gradient-descent", parameters={"eta": 10**400}), lambda: o.grad_f([10**400], [1]),
        lambda: o.grad_f("x1"), lambda: o.grad_f(np.array(1j)), lambda: o.batch("nothing", [[1.0]]),
        lambda: bv.Ball(radius=1).contains("x1"),  # type: ignore[arg-type]
        lambda: bv.Box([0], [1]).contains(np.zeros((2, 2))), lambda: bv.truth(p, digits=10**400),
        lambda: o.batch(np.array([1, 2]), 1), lambda: o.ready(np.array([["a"]])),  # type: ignore[arg-type]
        lambda: o.can_compile(np.zeros((2, 2))),  # type: ignore[arg-type]
        lambda: bv.Box(np.array(1j), [1]), lambda: bv.Box([10**400], [1]), lambda: bv.HalfSpace(np.array("a"), 1.0),  # type: ignore[arg-type]
        lambda: bv.solve(p, "gradient-descent", eps=np.array([1, 2])), lambda: bv.plot.convergence(p, {"a": 1}),
        lambda: bv.plot.margins(np.array([["a"]])), lambda: bv.plot.penalty(two, lam=np.array([])),  # type: ignore[arg-type]
        lambda: bv.Row(*["a"] * 6, np.array([1, 2]), "holds", "proved"),  # type: ignore[arg-type]
        lambda: bv.verify(p, (1, 2)), lambda: bv.single_level(f="x1", x=np.array("a")),  # type: ignore[arg-type]
        lambda: bv.single_level(f="x1", x="x1", data={"A": [10**400]}),
        lambda: bv.Enclosure([1], ()), lambda: bv.plot.trajectory([1]), lambda: bv.derive([1]),  # type: ignore[arg-type,list-item]
    ]  # fmt: skip
    for number, call in enumerate(calls):
        with pytest.raises(BilevelVerifyError):
            pytest.fail(f"call {number} was answered: {call()}")


P = {"f": "x1", "g": "y1**2", "x": "x1", "y": "y1"}
RAMP = {"statement": "restarted-agd-hb/theorem-1", "eps": 0.1}
NAMED: list[tuple[str, Callable[[], Any]]] = [
    ("data array 'A' must be a rectangular array of numbers", lambda: bv.bilevel(**P, data={"A": np.array([1 + 1j])})),
    ("data array 'A' must be a rectangular array of numbers", lambda: bv.bilevel(**P, data={"A": np.array(["1"])})),
    ("knob 's': unknown symbol 'a'", lambda: bv.bilevel(**P, knobs={"s": "a"})),
    ("knob 's': '\\+' has nothing to its right", lambda: bv.bilevel(**P, knobs={"s": "1+"})),
    ("domain of 'x1': unknown symbol 'a'", lambda: bv.bilevel(**P, domain={"x1": ("a", "b")})),  # type: ignore[arg-type,dict-item]
    ("start: unknown symbol 'a'", lambda: bv.bilevel(**P, start=["a"])),
    ("x must be numbers", lambda: bv.oracles(bv.bilevel(**P)).grad_y_g(None, [1.0])),  # type: ignore[arg-type]
    ("y must be numbers", lambda: bv.oracles(bv.bilevel(**P)).grad_y_g([1.0], [None])),  # type: ignore[list-item]
    ("solve_batch: x0 ", lambda: bv.solve_batch(bv.zoo("ramp"), "gradient-descent", 0.1, [[1, 2], [3]])),
    ("has no letter 'nope'; it has B, ", lambda: bv.verify(bv.zoo("ramp"), **RAMP, values={"nope": 1})),  # type: ignore[arg-type]
    ("L, given by hand: 'a' is not a number", lambda: bv.verify(bv.zoo("ramp"), **RAMP, values={"L": "a"})),  # type: ignore[arg-type]
    ("eta, given by hand: 'a' is not a number", lambda: bv.verify(bv.zoo("ramp"), **RAMP, parameters={"eta": "a"})),  # type: ignore[arg-type]
    ("condition 'a' must be a relation", lambda: bv.check("a <= b", where="a")),
    ("the comparison '!=' is not", lambda: bv.check("a != b")),
    ("seed must be a whole number from 0 on", lambda: bv.check("a <= b", seed=-1)),
    ("memory must be a positive number of bytes", lambda: bv.check("a <= b", memory=float("nan"))),
    ("verify: budget must be at least 1, not 0", lambda: bv.verify(bv.zoo("ramp"), **RAMP, budget=0)),  # type: ignore[arg-type]
    ("budget must be positive and finite, not nan", lambda: bv.audit("ragd-gs", budget=float("nan"))),
    ("no card 'nope'; shipped are", lambda: bv.statements("nope")),
    ("whole number from 1 to 100000", lambda: bv.random_instances(RAMP["statement"], 10**12)),  # type: ignore[arg-type]
    ("Not a directory; give another folder in out=", lambda: bv.worst_case(RAMP["statement"], out="/dev/null/x")),  # type: ignore[arg-type]
    ("each once, not x1, x1", lambda: bv.plot.hyper_objective(bv.zoo("ramp"), along=["x1", "x1"])),  # type: ignore[arg-type]
    ("the range of x1 must be two", lambda: bv.plot.hyper_objective(bv.zoo("ramp"), {"x1": (1, 2, 3)})),  # type: ignore[arg-type]
    ("count: 2 to ", lambda: bv.plot.hyper_objective(bv.zoo("ramp"), count=0)),  # type: ignore[arg-type]
    ("count: 2 to ", lambda: bv.plot.curvature(bv.zoo("ramp"), count=0)),  # type: ignore[arg-type]
    ("along, box: one or two of x1, ", lambda: bv.plot.curvature(bv.zoo("ramp"), along=["x1", "x1"])),  # type: ignore[arg-type]
    ("report: problems must be problems", lambda: bv.report([], "out", problems=["ramp"])),
    ("report: out must be the name of a folder", lambda: bv.report([], "a\0b")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(NAMED)))
def test_what_is_wrong_is_named_with_its_field(number: int) -> None:
    words, call = NAMED[number]
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.seeded
def test_hostile_calls_raise_errors_of_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "thorough"))
    monkeypatch.chdir(tmp_path)
    from hostile_calls import call_one

    rng, refused = random.Random(SEED), 0
    for _ in range(150):
        try:
            call_one(rng)
        except BilevelVerifyError:
            refused += 1
    assert refused > 50
