"""A request that comes again is the run that it would have been alone, bit for bit, whatever happens outside."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from methods_cases import case
from methods_random_problems import bilevels, singles
from test_methods_batch import double_well, needs_numba, same

import bilevel_verify as bv
from bilevel_verify import arguments, solving
from bilevel_verify.errors import ParameterError
from bilevel_verify.methods import interpreted, repeated, run_method, stream

GD = {"eta": 0.01, "N": 40}
STARTS = ([0.3, 0.2], [-0.5, 1.0], [2.0, -1.0], [0.3, 0.2])
ONE_LEVEL = ("gradient-descent", "restarted-agd", "restarted-agd-practical", "agd-jin", "convex-until-guilty")
TWO_LEVELS = ("ragd-gs", "rahgd", "f2ba", "accf2ba", "aid-bio", "itd-bio", "paid")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Nothing is known yet; the starts that a kept request is run from."""
    repeated._KNOWN.clear()
    starts: list[Any] = []
    run = repeated.Repeated.run

    def noted(self: repeated.Repeated, x0: Any) -> Any:
        starts.append(x0)
        return run(self, x0)

    monkeypatch.setattr(repeated.Repeated, "run", noted)
    return starts


@needs_numba
@pytest.mark.parametrize("name", [*ONE_LEVEL, *TWO_LEVELS])
def test_every_run_of_a_request_is_the_run_alone(name: str, kept: list[Any]) -> None:
    p = (singles if name in ONE_LEVEL else bilevels)(4, salt=9)[2]
    parameters, more, _ = case(name, p, 1)
    options = {key: value for key, value in more.items() if key == "budget"}
    if "noise" in more:
        parameters = {**parameters, "r": 0.01}
    parameters = {letter: value for letter, value in parameters.items() if isinstance(value, int | float) and value}
    first = np.array(p.x0, dtype=float)
    for shift in (0.0, 0.05, -0.1, 0.2, 0.0):
        run = run_method(p.problem, name, parameters, first + shift, seed=3, compiled=True, **options)
        alone = stream(p.problem, name, parameters, first + shift, seed=3, compiled=True, **options).to_the_end()
        same(run, alone)
        assert dict(run.parameters) == dict(alone.parameters)
        for output, value in alone.outputs.items():
            assert run.outputs[output].tobytes() == value.tobytes()
    assert len(kept) == 3


@needs_numba
@pytest.mark.parametrize("record", ["all", "thin", "last"])
def test_runs_of_many_blocks_and_what_is_kept_of_them(record: str, kept: list[Any]) -> None:
    letters = {"eta": 0.0001, "N": 2500}
    for start in STARTS:
        run = run_method(double_well(), "gradient-descent", letters, start, record=record, compiled=True)
        same(run, stream(double_well(), "gradient-descent", letters, start, record=record, compiled=True).to_the_end())
    assert not kept  # another problem every time
    problem = double_well()
    for start in STARTS:
        run = run_method(problem, "gradient-descent", letters, start, record=record, compiled=True)
        same(run, stream(problem, "gradient-descent", letters, start, record=record, compiled=True).to_the_end())
    assert len(kept) == 2


@needs_numba
def test_what_the_caller_changes_later_changes_no_result(kept: list[Any]) -> None:
    problem, letters, start = double_well(), dict(GD), np.array([0.3, 0.2])
    runs = [run_method(problem, "gradient-descent", letters, start, compiled=True) for _ in range(4)]
    x, trace = runs[3].x.copy(), runs[3].trace.x.copy()
    start[:] = 2.0
    letters["eta"] = 0.02
    other = run_method(problem, "gradient-descent", letters, start, compiled=True)
    same(other, stream(problem, "gradient-descent", letters, start, compiled=True).to_the_end())
    assert runs[3].x.tobytes() == x.tobytes()
    assert runs[3].trace.x.tobytes() == trace.tobytes()
    assert dict(runs[3].parameters)["eta"] == 0.01
    runs[2].x[:] = 7.0
    same(run_method(problem, "gradient-descent", GD, [0.3, 0.2], compiled=True), runs[3])
    with pytest.raises(ValueError, match="read-only"):
        runs[3].trace.x[0] = 1.0


@needs_numba
def test_values_of_another_type_or_sign_are_another_request(kept: list[Any]) -> None:
    problem = double_well()

    def key(**change: Any) -> Any:
        options = {"budget": 10, "seed": 0, "record": "all", "compiled": True, "eps": None, **change}
        return repeated.request(problem, "gradient-descent", options.pop("parameters", GD), **options)

    keys = [key(), key(eps=0.1), key(seed=1), key(record="thin"), key(compiled=None), key(budget={"iterations": 10})]
    keys += [key(parameters={**GD, "N": 40.0}), key(parameters={**GD, "eta": 0.02}), key(budget=11)]
    assert len(set(keys)) == len(keys)
    assert None not in keys
    changing = [
        {**GD, "eta": 0.0},
        {**GD, "eta": -0.0},
        {**GD, "N": np.array(40)},
        {**GD, "N": [40]},
        {**GD, "N": True},
    ]
    assert [key(parameters=parameters) for parameters in changing] == [None] * len(changing)
    assert key(seed=True) is None
    assert key(compiled=False) is None


@needs_numba
def test_bad_starts_and_letters_are_refused_as_ever(kept: list[Any]) -> None:
    problem = bv.single_level(f="x1**4", x="x1", domain={"x1": (-1, 1)})
    for _ in range(3):
        run_method(problem, "gradient-descent", {**GD, "nonsense": 3.0}, [0.5], compiled=True)
        bv.solve(problem, "gradient-descent", parameters=GD, x0=[0.5], compiled=True)
    used = len(kept)
    assert used >= 2
    with pytest.raises(ParameterError, match="leaves the domain"):
        bv.solve(problem, "gradient-descent", parameters=GD, x0=[1.5], compiled=True)
    with pytest.raises(ParameterError, match="finite"):
        bv.solve(problem, "gradient-descent", parameters=GD, x0=[float("nan")], compiled=True)
    with pytest.raises(ParameterError, match="1 numbers"):
        bv.solve(problem, "gradient-descent", parameters=GD, x0=[0.5, 0.5], compiled=True)
    assert len(kept) == used + 3
    with pytest.raises(ParameterError, match="nonsense"):  # a letter that run_method ignores
        bv.solve(problem, "gradient-descent", parameters={**GD, "nonsense": 3.0}, x0=[0.5], compiled=True)
    run = bv.solve(problem, "gradient-descent", parameters=GD, x0=[0.5], compiled=True)
    same(run, stream(problem, "gradient-descent", GD, [0.5], compiled=True).to_the_end())


NO_STARTS = (
    [True], True, "0.5", ["0.5"], [None], [1j], [[0.5]], [0.5, 0.5], [], math.nan, math.inf, [-math.inf], [10**400],
    np.array([math.inf]), np.array([[0.5]]), np.array([0.5], dtype=complex), np.array([0.5, 0.1]), {0.5: 1}, {0.5},
)  # fmt: skip


@needs_numba
@pytest.mark.parametrize("domain", [{}, {"x1": (-1, 1)}], ids=["line", "box"])
def test_what_a_start_must_be_is_asked_of_a_known_request_too(domain: dict[str, Any], kept: list[Any]) -> None:
    problem = bv.single_level(f="x1**4", x="x1", domain=domain)

    def said(start: Any) -> str:
        with pytest.raises(bv.InputError) as error:
            bv.solve(problem, "gradient-descent", parameters=GD, x0=start, compiled=True)
        return f"{type(error.value).__name__}: {error.value}"

    fresh = [said(start) for start in NO_STARTS]
    for _ in range(3):
        bv.solve(problem, "gradient-descent", parameters=GD, x0=[0.5], compiled=True)
    assert kept
    assert [said(start) for start in NO_STARTS] == fresh
    for start in (0.5, [0.5], (0.5,), np.array([0.5]), [np.float64(0.5)], [np.float32(0.5)], [1], 1, [-1], -1.0):
        run = bv.solve(problem, "gradient-descent", parameters=GD, x0=start, compiled=True)
        same(run, stream(problem, "gradient-descent", GD, start, compiled=True).to_the_end())


@needs_numba
def test_a_known_request_needs_no_look_at_its_arguments(kept: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    problem = double_well()
    asked: dict[str, Any] = {"parameters": GD, "budget": {"iterations": 30}, "eps": 0.1, "compiled": True}
    runs = [bv.solve(problem, "gradient-descent", x0=STARTS[0], **asked) for _ in range(3)]
    looked = arguments._BEFORE[solving.solve]
    own = set(inspect.signature(looked).parameters) - {"rest", "other"}
    assert own <= set(inspect.signature(solving.solve).parameters)
    with pytest.raises(TypeError, match=r"solve\(\) got multiple values for argument 'eps'"):
        bv.solve(problem, "gradient-descent", 0.1, STARTS[0], **asked)
    changes: list[dict[str, Any]] = [
        *({"seed": True}, {"record": "some"}, {"eps": -1.0}, {"budget": 0}, {"budget": True}, {"nonsense": 1}),
        *({"y0": [0.0]}, {"parameters": {}}, {"parameters": [*GD.items()]}, {"parameters": {**GD, "r": 1.0}}),
    ]
    for change in changes:
        assert looked(problem, "gradient-descent", x0=STARTS[0], **{**asked, **change}) is None, change
    rest = {name: value for name, value in asked.items() if name != "eps"}
    assert looked(problem, "gradient-descent", 0.1, STARTS[0], **rest) is not None
    assert looked(problem, "gradient-descent", 0.1, STARTS[0], None, **rest) is None
    assert looked() is None
    monkeypatch.setattr(arguments, "_is_plain", lambda *_: 1 / 0)
    same(bv.solve(problem, "gradient-descent", x0=STARTS[0], **asked), runs[0])
    with pytest.raises(ZeroDivisionError):
        bv.solve(problem, "gradient-descent", x0=STARTS[0], **asked | {"seed": 1})


@needs_numba
def test_all_memory_lies_in_the_block_that_is_put_back(kept: list[Any]) -> None:
    problem = double_well()
    for start in STARTS:
        run_method(problem, "gradient-descent", GD, start, compiled=True)
    ((_, _, found),) = repeated._KNOWN.values()
    assert found is not None
    memory: Any = found.memory
    parts = [memory.at, memory.letters, memory.lower.at, *memory[2:4], *memory[5:], *memory.lower[1:], found.counts]
    begins = [np.asarray(part).__array_interface__["data"][0] for part in parts if np.size(part)]
    first = found.block.__array_interface__["data"][0]
    assert all(0 <= begin - first < found.block.nbytes for begin in begins)
    assert memory.lower.at.base is memory.at.base  # one record, seen from two places


@needs_numba
def test_a_request_in_the_middle_of_a_run_elsewhere_is_begun_anew(kept: list[Any]) -> None:
    problem = double_well()
    for start in STARTS:
        run_method(problem, "gradient-descent", GD, start, compiled=True)
    ((_, _, found),) = repeated._KNOWN.values()
    assert found is not None
    with found.busy:
        run = run_method(problem, "gradient-descent", GD, STARTS[0], compiled=True)
    same(run, stream(problem, "gradient-descent", GD, STARTS[0], compiled=True).to_the_end())


@needs_numba
def test_large_memories_are_not_kept_and_few_requests_are(kept: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    problem = double_well()
    for n in range(1, repeated.MOST_KEPT + 5):
        run_method(problem, "gradient-descent", {**GD, "N": n}, STARTS[0], compiled=True)
    assert len(repeated._KNOWN) == repeated.MOST_KEPT
    monkeypatch.setattr(repeated, "LARGEST", 100)
    for start in STARTS:
        run_method(problem, "gradient-descent", GD, start, compiled=True)
    assert not kept


@needs_numba
def test_short_runs_that_come_often_are_machine_code_in_the_end(
    kept: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreted, "LONG", set())
    monkeypatch.setattr(interpreted, "SPENT", {})
    monkeypatch.setattr(interpreted, "ENOUGH", 20_000)
    monkeypatch.setattr(interpreted, "is_loaded", lambda *_: False)
    problem = double_well()
    runs = [run_method(problem, "gradient-descent", GD, STARTS[0]) for _ in range(9)]
    forms = [run.compiled for run in runs]
    assert forms == sorted(forms)  # plain Python, then machine code
    assert forms[0] is False
    assert forms[-1] is True
    assert len(kept) >= 1
    assert len({run.x.tobytes() for run in runs}) == 1
