"""Seconds and memory end an engine and are named; work is counted, so that the load of the machine changes nothing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bilevel_verify.audit.formula import check, checked
from bilevel_verify.audit.limits import GIBIBYTE, Ended, bounded, memory_limit, seconds_limit
from bilevel_verify.audit.scalar.claim import POSITIVE, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide_here
from bilevel_verify.audit.scalar.work import counting, ended, over, spend
from bilevel_verify.cli import main
from bilevel_verify.cli.commands.auditing import SPARE, _ends
from bilevel_verify.language import parse, tree

limits = importlib.import_module("bilevel_verify.audit.limits")  # the name of the room is a function, too


@pytest.fixture(autouse=True)
def engines_here() -> None:
    """Here the engines have their own process."""


def test_an_answer_comes_back() -> None:
    assert bounded("math:gcd", 12, 18, seconds=20) == 6


def test_an_error_comes_back() -> None:
    with pytest.raises(ZeroDivisionError):
        bounded("operator:truediv", 1, 0, seconds=20)
    assert bounded("math:gcd", 4, 6, seconds=20) == 2


def test_seconds_end_it_and_are_named() -> None:
    found = bounded("builtins:sum", range(10**12), seconds=0.2)
    assert found == Ended("0.2 s of processor time were over in its start")
    assert bounded("math:gcd", 4, 6, seconds=20) == 2


def test_memory_ends_it_and_is_named() -> None:
    with memory_limit(GIBIBYTE / 4):
        found = bounded("builtins:bytearray", GIBIBYTE, seconds=20)
        assert isinstance(found, Ended)
        assert found.reason.startswith("0.25 GiB of memory were not enough")
        assert len(bounded("builtins:bytearray", 1000, seconds=20)) == 1000


def test_a_process_that_is_gone_is_an_end_and_no_error() -> None:
    found = bounded("os:abort", seconds=20)
    assert isinstance(found, Ended)
    assert "memory were not enough, or the system ended it" in found.reason


def test_a_pipe_that_breaks_is_an_end_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line takes a broken pipe for a reader that has seen enough: exit status 0."""
    assert bounded("math:gcd", 4, 6, seconds=20) == 2

    def broken(*_: object) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(limits, "_send", broken)
        found = bounded("math:gcd", 4, 6, seconds=20)
    assert isinstance(found, Ended)
    assert found.reason.startswith("the process of the engines ended in its start")
    assert bounded("math:gcd", 4, 6, seconds=20) == 2


def test_engines_that_nobody_waits_for_say_nothing() -> None:
    program = limits.PROGRAM.format(path=[p or "." for p in sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", program, str(GIBIBYTE)], stdin=-1, stdout=-1, stderr=-1, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


FRESH = """
import importlib, json, os, sys
limits = importlib.import_module("bilevel_verify.audit.limits")
print("not written yet", end=" ")
limits.begin()
parent, answers = limits.bounded("os:getppid", seconds=20), []
for question in (("builtins:sum", range(10**12)), ("os:abort",), ("builtins:bytearray", 2**34), ("math:gcd", 4, 6)):
    answers.append(str(getattr(limits.bounded(*question, seconds=0.2), "reason", "answered")))
forked = type(limits._Worker.current.process).__name__
same = limits.bounded("os:getppid", seconds=20) == parent == limits._Worker.current.process.pid
print(json.dumps([forked, "sympy" in sys.modules, same, os.getpid() != parent, *answers]))
"""


def test_a_command_that_has_loaded_little_is_forked_and_every_limit_binds_its_fork() -> None:
    """Processes of their own: this one has loaded what makes a fork of it unlike a new interpreter."""
    for before, kind in (("", "Forked"), ("import sympy", "Popen")):
        done = subprocess.run([sys.executable, "-c", before + FRESH], capture_output=True, text=True, check=True)
        written, _, said = done.stdout.partition("not written yet ")
        assert written == ""
        assert done.stderr == ""
        forked, heavy, same, apart, late, aborted, memory, answer = json.loads(said)
        assert (forked, heavy, same, apart, answer) == (kind, bool(before), True, True, "answered")
        assert late == "0.2 s of processor time were over in its start"
        assert aborted.startswith("the process of the engines ended in its start")
        assert memory.startswith("2 GiB of memory were not enough")


def test_several_questions_share_one_budget() -> None:
    endless = ("builtins:sum", range(10**12))
    with seconds_limit(0.3):
        assert bounded("math:gcd", 4, 6, seconds=20) == 2
        assert bounded(*endless, seconds=0.2) == Ended("0.2 s of processor time were over in its start")
        assert bounded(*endless, seconds=20) == Ended("0.3 s of processor time were over in its start")
        assert bounded("math:gcd", 4, 6, seconds=20) == Ended("0.3 s of processor time were over in what came before")
    assert bounded("math:gcd", 4, 6, seconds=20) == 2


def test_the_clock_ends_what_uses_no_processor_and_is_named() -> None:
    assert bounded("math:gcd", 4, 6, seconds=20) == 2
    began = time.monotonic()
    with seconds_limit(20, began + 0.2):
        late = bounded("time:sleep", 60, seconds=20)
        after = bounded("math:gcd", 4, 6, seconds=20)
    assert late == Ended("20 s by the clock were over in its start")
    assert after == Ended("20 s by the clock were over in what came before")
    assert 0.2 <= time.monotonic() - began < 20
    with seconds_limit(20, time.monotonic() + 0.05):  # the process that was ended starts anew
        assert bounded("math:gcd", 4, 6, seconds=20) == Ended("20 s by the clock were over in their start")
    assert bounded("math:gcd", 4, 6, seconds=20) == 2
    with seconds_limit(0.2, time.monotonic() + 20):  # the processor comes first
        endless = bounded("builtins:sum", range(10**12), seconds=20)
    assert endless == Ended("0.2 s of processor time were over in its start")


def test_each_link_has_its_time_by_the_clock() -> None:
    ends = (time.monotonic() + seconds for seconds in (60, -1, 60))
    found = checked("1 <= 2 <= 3 <= 4", "", "", seed=0, seconds=5, memory=GIBIBYTE, ends=ends)
    assert [f.verdict for f in found] == ["holds", "undecided", "holds"]
    assert found[1].row.reason == "budget: 5 s by the clock were over in what came before"


def test_the_first_link_counts_from_the_start_of_the_command() -> None:
    began = time.monotonic()
    ends = _ends(began - 100, 2.0)
    first, second = next(ends), next(ends)
    assert first == began - 98 + SPARE
    assert began + 2 + SPARE <= second <= time.monotonic() + 2 + SPARE


def test_the_budget_of_a_command_binds_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bilevel_verify.cli.commands.auditing.SPARE", -5.0)
    assert main(["check", "1 <= 2", "--budget", "5", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["reason"].startswith("budget: 5 s by the clock were over in ")


def test_the_engines_are_loaded_once_whatever_ends_them() -> None:
    """What answers is a fork: the process that has loaded the engines is the same after every kind of end."""
    first = bounded("os:getppid", seconds=20)
    before = bounded("os:getpid", seconds=20)
    for question in (("builtins:sum", range(10**12)), ("os:abort",), ("builtins:bytearray", 2**40)):
        assert isinstance(bounded(*question, seconds=0.2), Ended)
        assert bounded("os:getpid", seconds=20) != before
        assert bounded("os:getppid", seconds=20) == first


def test_work_is_counted_and_not_measured() -> None:
    node = parse("x*log(1 + x) - x**2/2 <= x**2/2 + 1/100")
    assert isinstance(node, tree.Compare)
    claim = ScalarClaim(node.operands[0], "<=", node.operands[1], {"x": POSITIVE})
    first = decide_here(claim, effort=0.001)
    assert first == decide_here(claim, effort=0.001)
    assert first.outcome == "undecided"
    assert "the work was over before " in first.certificate
    with counting(10.0) as outer:
        spend(4.0)
        assert not over()
        with counting(1.0) as inner:
            spend(1.0)
            assert over()
            ended("it took too long")
        assert (inner.spent, inner.ended, outer.spent, outer.ended) == (1.0, "it took too long", 4.0, "")
        spend(6.0)
        assert over()
    assert not over()


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("log(x) <= 100*x**(1/100)/E - 1/10**9", "x = [1, oo)"),
        ("sum(sum(x1, (i, 0, 1000)), (j, 0, 1000)) <= 1", ""),
        ("((x1 + y1)**64)**64 <= 1", ""),
        ("sum(sum(sum(i*j*k, (i, 0, 99)), (j, 0, 99)), (k, 0, 99)) <= 1", ""),
    ],
)
def test_what_explodes_is_undecided_and_says_why(text: str, ranges: str) -> None:
    found = check(text, ranges, seconds=0.3)
    assert found[0].verdict == "undecided"
    assert (found[0].row.reason or "").startswith("budget: 0.3 s of processor time were over in ")


def test_numbers_beyond_all_floats_are_no_error() -> None:
    assert check("exp(exp(exp(exp(9)))) <= 1", seconds=5)[0].verdict in ("undecided", "refuted")
    assert check("exp(exp(exp(9))) >= exp(9)", seconds=5)[0].verdict == "holds"


@pytest.mark.parametrize("text", ["k @ 1 <= k", "1 <= k @ k", "x[1] <= 2"])
def test_what_is_no_number_is_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", text]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "has no value in" in error


def test_check_shows_both_sides_and_writes_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "a**2 <= a", "--for", "a = [1, 2]", "--memory", "1"]) == 1
    shown = capsys.readouterr().out
    assert "left   a**2 = 4" in shown
    assert "right  a = 2" in shown
    assert "--out DIR" in shown
    assert main(["check", "a**2/a <= a - 1", "--for", "a = [0, 2]", "--out", str(tmp_path)]) == 1
    capsys.readouterr()
    assert {path.name for path in tmp_path.iterdir()} == {"link-1.py", "link-1-defined.py"}
    assert main(["check", "1/a <= 5", "--for", "a = [0, oo)", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["kind"] for row in rows] == ["inequality", "definedness"]
