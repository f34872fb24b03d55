"""``constants --seconds``: more work round by round, until the bounds are tight or the time is over."""

from __future__ import annotations

import importlib
import json
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.campaign.records import constant_record
from bilevel_verify.cli import main
from bilevel_verify.cli.commands.refining import refined
from bilevel_verify.constants import constants

room = importlib.import_module("bilevel_verify.constants")
FILE = """
kind = "single_level"
f = "(x1**2 + x2**2*x3/2 + x1*x3 + x2*x4/2)/(1 + x1**2 + x2**2 + x3**2 + 2*x4**2)"
x = ["x1", "x2", "x3", "x4"]
[domain]
x1 = [-1, 1]
x2 = [-1, 1]
x3 = [-1, 1]
x4 = [-1, 1]
"""


@pytest.fixture
def efforts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The efforts of the rounds."""
    seen: list[float] = []

    def watched(*arguments: object, effort: float, **options: object) -> object:
        seen.append(effort)
        return constants(*arguments, effort=effort, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(room, "constants", watched)
    return seen


def test_rounds_go_on_as_long_as_there_is_time(
    efforts: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text(FILE, encoding="utf-8")
    found = []
    for options in ([], ["--seconds", "1e-9"], ["--seconds", "6"]):
        assert main(["constants", str(path), "--only", "L", "--json", *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["constants"]["L"])
    assert efforts[:4] == [1.0, 0.0, 0.0, 1.0]  # where the time is over at once, calculus alone
    assert all(1.5 <= b / a <= 4.0 for a, b in pairwise(efforts[3:]))
    for known in found[:2]:  # what is known, with its error bar
        assert known["certified"]
        assert known["lower"] < known["upper"]
    assert found[0]["upper"] < found[1]["upper"]
    low, high = found[2]["lower"], found[2]["upper"]
    assert found[2]["certified"]
    assert low <= high <= found[0]["upper"]
    assert low >= 2.0  # the largest entry of the Hessian at 0


def test_the_clock_ends_a_search_and_what_was_certified_before_stays() -> None:
    """A round of the usual effort may take minutes: the time asked for is kept all the same."""

    def compute(effort: float, only: list[str] | None = None) -> Any:
        return (
            constants(bv.single_level(f="exp(sin(x1*x2))", x="x1 x2"), only="L", effort=0) if not effort else Endless()
        )

    handler, begun = signal.getsignal(signal.SIGALRM), time.monotonic()
    known = refined(compute, 0.4)
    assert time.monotonic() - begun < 5
    assert not known.interrupted
    assert known.records["L"] == constant_record(compute(0.0)["L"])
    known = refined(lambda effort: Endless(), 0.1)
    assert known.records == {"L": {"name": "L", "value": None, "reason": "not computed within the seconds asked for"}}
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0  # that of whoever set one goes on


class Endless(dict[str, Any]):
    """A table whose one letter never comes."""

    def __init__(self) -> None:
        super().__init__(L=None)

    def __getitem__(self, name: str) -> Any:
        while True:
            time.sleep(0.01)


def test_what_is_tight_at_once_takes_one_round(efforts: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["constants", "zoo:toy-a", "--only", "mu", "--seconds", "1000", "--json"]) == 0
    assert efforts == [1.0]  # so many seconds that calculus need not go first
    assert json.loads(capsys.readouterr().out)["constants"]["mu"]["value"] > 0


def test_seconds_are_a_positive_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["constants", "zoo:toy-a", "--seconds", "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


class Slow(Mapping[str, object]):
    """Constants of one effort; the user breaks in at some look-up."""

    def __init__(self, efforts: dict[str, list[float]], only: list[str] | None, effort: float, stop: float) -> None:
        self.efforts, self.names, self.effort, self.stop = efforts, only or ["L", "rho"], effort, stop
        self.table = constants(bv.single_level(f="exp(sin(x1*x2))", x="x1 x2", domain={"x1": (-1, 1), "x2": (-1, 1)}))

    def __getitem__(self, name: str) -> object:
        self.efforts[name].append(self.effort)
        if sum(map(len, self.efforts.values())) == self.stop:
            raise KeyboardInterrupt
        found = self.table[name]
        # as a search that needs ever more work
        return replace(found, upper=found.lower * (1.1 + 1 / self.effort), value=found.lower * (1.1 + 1 / self.effort))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_an_interrupt_leaves_what_was_certified(stop: int) -> None:
    seen: dict[str, list[float]] = {"L": [], "rho": []}

    def compute(effort: float, only: list[str] | None = None) -> Any:
        return Slow(seen, only, effort, stop)

    known = refined(compute, 1e6)
    assert known.interrupted
    assert set(known.records) == {"L", "rho"}
    for place, name in enumerate(("L", "rho")):
        record = known.records[name]
        if stop <= place + 1:
            assert record == {"name": name, "value": None, "reason": "interrupted before it was computed"}
        else:
            finished = [1.0, *seen[name][1:]][
                : len(seen[name]) - (sum(map(len, seen.values())) == stop and _last(seen) == name)
            ]
            assert record["certified"]
            assert record["upper"] == pytest.approx(record["lower"] * (1.1 + 1 / finished[-1]), rel=1e-12)


def _last(seen: dict[str, list[float]]) -> str:
    return "L" if len(seen["L"]) > len(seen["rho"]) else "rho"


def test_a_round_that_is_worse_or_in_vain_changes_nothing() -> None:
    calls: list[float] = []

    def compute(effort: float, only: list[str] | None = None) -> Any:
        calls.append(effort)
        found = constants(bv.single_level(f="exp(sin(x1))", x="x1", domain={"x1": (-1, 1)}), only="L")["L"]
        return {"L": replace(found, lower=1.0, upper=1.5 * effort, value=1.5 * effort)}

    known = refined(compute, 1e6)
    assert known.records["L"]["upper"] == 1.5
    assert len(calls) == 2  # more work took no longer: there is nothing that it could do


def test_who_breaks_in_sees_what_is_known(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def one(*arguments: object, effort: float, **options: object) -> object:
        table = constants(*arguments, effort=effort, **options)  # type: ignore[call-overload]
        return Breaking(dict(table), "rho_g")

    monkeypatch.setattr(room, "constants", one)
    assert main(["constants", "zoo:toy-a", "--only", "mu,rho_g", "--json"]) == 130
    out = json.loads(capsys.readouterr().out)["constants"]
    assert out["mu"]["certified"]
    assert out["rho_g"]["value"] is None


class Breaking(dict[str, Any]):
    """A table at one letter of which the user breaks in."""

    def __init__(self, table: dict[str, Any], name: str) -> None:
        super().__init__(table)
        self.name = name

    def __getitem__(self, name: str) -> Any:
        if name == self.name:
            raise KeyboardInterrupt
        return super().__getitem__(name)
