"""Wrong types and shapes handed to the Python interface: an error of our own, whatever is called."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

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
) -> str:
    """Takes one of everything."""
    return "called"


RIGHT: list[dict[str, Any]] = [
    {"number": 1}, {"number": np.float32(2)}, {"count": np.int64(3)}, {"names": ("a", "b")}, {"names": []},
    {"table": {"a": 1}}, {"table": None}, {"path": Path("x")}, {"how": "thin"}, {"flag": np.bool_(True)}, {"act": len},
    {"names": np.array(["a", "b"])}, {"names": np.array([])},
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"number": "1"}, {"number": True}, {"number": 10**400}, {"number": 1j}, {"number": [1.0]}, {"count": 1.5},
    {"count": True}, {"names": "ab"}, {"names": [1]}, {"names": 5}, {"table": {"a": "b"}}, {"table": {1: 1.0}},
    {"table": [1]}, {"path": 5}, {"path": b"x"}, {"how": "none"}, {"how": 1}, {"flag": 1}, {"act": 5},
    {"names": np.array([[1.0]])}, {"names": np.array([1, 2])}, {"names": np.array([["a"]])},
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
    with pytest.raises(TypeError):  # a wrong number of arguments is said by Python itself
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
