"""Owners of leases, each side condition alone: who is taken for whom, who is gone, what a damaged name does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.campaign import Store, owners
from bilevel_verify.campaign.agenda import Agenda
from bilevel_verify.campaign.owners import UNKNOWN, alive, ourselves, parts

pytestmark = pytest.mark.fast

linux = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="there is no /proc")


def named(**other: Any) -> str:
    """The name of this process with some parts changed."""
    return ":".join(str(part) for part in parts(ourselves())._replace(**other)) + ":0"


def test_two_names_are_never_the_same_and_both_are_alive(tmp_path: Path) -> None:
    first, second = ourselves(), ourselves()
    assert first != second
    assert parts(first) == parts(second)
    assert alive(first)
    assert alive(second)
    with Store(tmp_path / "s.sqlite") as store:
        assert Agenda((), store, 1).owner != Agenda((), store, 1).owner


@linux
def test_a_process_is_the_one_that_began_then_at_this_place() -> None:
    assert alive(named())
    assert not alive(named(began="0"))
    assert not alive(named(process=2**22 + 1))
    for place in ({"host": "other"}, {"place": "x.y"}, {"place": ""}):
        assert alive(named(began="0", **place)), place  # its processes cannot be seen from here


@linux
def test_a_place_is_a_boot_and_a_space_of_process_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    boot, _, space = owners._place().partition(".")
    assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() == boot
    assert os.readlink("/proc/self/ns/pid") == f"pid:[{space}]"
    gone = named(process=2**22 + 1)
    assert not alive(gone)
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[1]")
    assert alive(gone)  # a container beside that one
    monkeypatch.undo()
    monkeypatch.setattr(Path, "read_text", lambda self, **_: "another boot\n")
    assert alive(gone)


def test_a_place_that_is_not_known_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> str:
        raise PermissionError

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "readlink", missing)
    assert owners._place() == ""
    assert alive(f"{socket.gethostname()}:{2**22 + 1}:1::0")
    monkeypatch.setattr(sys, "platform", "other")
    monkeypatch.setattr(uuid, "getnode", lambda: 255)
    assert owners._place() == "ff"


@linux
def test_a_process_that_has_ended_is_gone_before_its_parent_asks() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = named(process=process.pid, began=owners._start_time(process.pid))
        assert alive(owner)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{process.pid}/stat").exists()
        assert not alive(owner)
    assert not alive(owner)


def test_a_damaged_name_stops_nothing() -> None:
    assert parts("a:b:c:d:e:f") == ("a:b", "c", "d", "e")
    assert parts("far:1:2") == ("far", "1", "2", "")  # of an older version
    assert parts("") == ("", "", "", "")
    assert all(alive(text) for text in ("", "no colon", "far:1:2", f"{socket.gethostname()}:x:1"))


@linux
@pytest.mark.parametrize("process", ["x", "", "-1", "1.5", "\u00b2", "\u0663", "9" * 11, "9" * 5_000])
def test_what_is_no_process_number_is_nobody(process: str) -> None:
    assert not alive(named(process=process))


@linux
def test_the_start_of_a_process_is_the_twenty_second_number_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "12 (a) b (c)) S " + " ".join(str(n) for n in range(4, 53))  # the name may have blanks and brackets
    monkeypatch.setattr(Path, "read_text", lambda self, **_: line)
    assert owners._start_time(12) == "22"


@pytest.mark.parametrize(
    ("error", "began"),
    [(None, UNKNOWN), (ProcessLookupError, ""), (PermissionError, UNKNOWN)],
)
def test_without_a_line_of_its_own_a_process_is_asked_for_by_a_signal(
    error: type[OSError] | None, began: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    name = named(process=77, began="5")

    def kill(process: int, signal: int) -> None:
        sent.append((process, signal))
        if error is not None:
            raise error

    def missing(self: Path, **_: str) -> str:
        raise FileNotFoundError

    place = owners._place()
    monkeypatch.setattr(owners, "_place", lambda: place)
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(Path, "read_text", missing)
    assert owners._start_time(77) == began
    assert alive(name) == (began == UNKNOWN)
    assert sent == [(77, 0)] * 2
