"""Who works on what: no clock but one's own decides when somebody else is gone."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_toy import campaign

from bilevel_verify.campaign import Store, run_campaign
from bilevel_verify.campaign.agenda import LEASE_BATCH, SILENCE, Agenda, Entry
from bilevel_verify.campaign.cell import Cell

FAR = "far-host:1:1"


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self, start: float = 0.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now


def everybody(owner: str) -> bool:
    return True


def test_leases_are_exclusive_until_they_end(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as first, Store(tmp_path / "s.sqlite") as second:
        assert first.lease(["a", "b"], "one", 60, everybody) == {"a", "b"}
        assert first.lease(["a"], "one", 60, everybody) == {"a"}  # one's own
        assert second.lease(["a", "b", "c"], "two", 60, everybody) == {"c"}
        assert second.lease(["a"], "two", 60, lambda owner: False) == {"a"}  # the owner has died
        first.add("b", "b", {}, {}, {"verdict": "holds"})
        assert second.lease(["b"], "two", 60, everybody) == set()  # answered
        second.release("two")
        assert first.lease(["c"], "one", 60, everybody) == {"c"}


@pytest.mark.parametrize("ahead", [-1e9, 0.0, 36000.0, 1e12])
def test_silence_ends_a_lease_whatever_the_clock_of_its_owner_says(tmp_path: Path, ahead: float) -> None:
    theirs, ours = Clock(ahead), Clock(5.0)
    with (
        Store(tmp_path / "s.sqlite", clock=theirs) as first,
        Store(tmp_path / "s.sqlite", clock=ours) as second,
    ):
        first.lease(["a"], "one", 60, everybody)
        assert second.lease(["a"], "two", 60, everybody) == set()  # heard of for the first time
        ours.now += 59
        assert second.lease(["a"], "two", 60, everybody) == set()
        first.renew("one")
        ours.now += 59
        assert second.lease(["a"], "two", 60, everybody) == set()  # it has given a sign of life
        ours.now += 59.5
        assert second.lease(["a"], "two", 60, everybody) == set()
        assert [(h.owner, h.cells, h.silent) for h in second.holders(["a"])] == [("one", 1, 59.5)]
        ours.now += 0.5
        assert second.lease(["a"], "two", 60, everybody) == {"a"}
        assert first.lease(["a"], "one", 60, everybody) == set()  # it came back too late


def test_an_owner_that_comes_back_has_not_been_silent_since_it_left(tmp_path: Path) -> None:
    clock = Clock()
    with Store(tmp_path / "s.sqlite") as first, Store(tmp_path / "s.sqlite", clock=clock) as second:
        first.lease(["a"], "one", 60, everybody)
        assert second.lease(["a"], "two", 60, everybody) == set()
        first.release("one")  # its name goes with its leases
        clock.now += 1000
        first.lease(["b"], "one", 60, everybody)
        assert second.lease(["b"], "two", 60, everybody) == set()
        clock.now += 59
        assert second.lease(["b"], "two", 60, everybody) == set()
        clock.now += 1
        assert second.lease(["b"], "two", 60, everybody) == {"b"}


def test_a_lease_whose_owner_left_no_trace_ends_in_silence_too(tmp_path: Path) -> None:
    clock = Clock()
    with Store(tmp_path / "s.sqlite", clock=clock) as store:
        with sqlite3.connect(tmp_path / "s.sqlite") as connection:
            connection.execute("INSERT INTO leases VALUES ('a', ?)", (FAR,))
        connection.close()
        assert store.lease(["a"], "one", 60, everybody) == set()
        clock.now = 60.0
        assert store.lease(["a"], "one", 60, everybody) == {"a"}


def test_a_wait_says_for_whom_and_how_long(tmp_path: Path) -> None:
    clock, cells = Clock(), campaign(tmp_path, 3).cells
    with Store(tmp_path / "s.sqlite", clock=clock) as store:
        store.lease(["k0", "k1", "k2"], FAR, SILENCE, everybody)
        agenda = Agenda(tuple(Entry(c, f"k{n}", {}) for n, c in enumerate(cells)), store, 1)
        assert agenda.take(0) is None
        assert not agenda.exhausted()
        _attend(agenda)
        assert "3 cells of process 1 on far-host" in agenda.waiting
        assert "120 s more of silence" in agenda.waiting
        clock.now = SILENCE - 10
        _attend(agenda)
        assert "10 s more of silence" in agenda.waiting
        clock.now = SILENCE
        _attend(agenda)
        assert agenda.waiting == ""
        assert [agenda.take(0)["id"] for _ in range(3)] == ["k0", "k1", "k2"]  # type: ignore[index]
        assert agenda.exhausted()


def test_cells_that_others_answer_are_waited_for_and_counted(tmp_path: Path) -> None:
    cells = campaign(tmp_path, 2).cells
    with Store(tmp_path / "s.sqlite") as store:
        store.lease(["k0", "k1"], FAR, SILENCE, everybody)
        agenda = Agenda(tuple(Entry(c, f"k{n}", {}) for n, c in enumerate(cells)), store, 1)
        assert agenda.take(0) is None
        store.add("k0", "c", {}, {}, {"verdict": "holds"})
        _attend(agenda)
        assert (agenda.elsewhere, agenda.exhausted()) == (1, False)
        store.add("k1", "c", {}, {}, {"verdict": "holds"})
        _attend(agenda)
        assert (agenda.elsewhere, agenda.exhausted()) == (2, True)


def test_a_run_gives_signs_of_life_before_others_take_over(tmp_path: Path) -> None:
    cells = campaign(tmp_path, 1).cells
    with Store(tmp_path / "s.sqlite") as store:
        agenda = Agenda(tuple(Entry(c, f"k{n}", {}) for n, c in enumerate(cells)), store, 1)
        agenda.take(0)

        def beat() -> int:
            return int(store._connection.execute("SELECT beat FROM workers").fetchone()[0])

        start = beat()
        agenda.attend()
        assert beat() == start
        agenda._renewed = time.monotonic() - SILENCE / 3
        agenda.attend()
        agenda.attend()
        assert beat() == start + 1
        store.release(agenda.owner)
        assert store._connection.execute("SELECT count(*) FROM workers").fetchone()[0] == 0


def test_cells_of_one_that_is_gone_are_not_hidden_behind_those_of_one_that_is_slow(tmp_path: Path) -> None:
    clock, gone = Clock(), 2 * LEASE_BATCH
    cells = campaign(tmp_path, gone + 1).cells
    entries = tuple(Entry(c, f"k{n:02}", {}) for n, c in enumerate(cells))
    with Store(tmp_path / "s.sqlite", clock=clock) as store:
        store.lease([e.key for e in entries[:gone]], FAR, SILENCE, everybody)
        store.lease([entries[gone].key], "gone-host:2:2", SILENCE, everybody)
        agenda = Agenda(entries, store, 1)
        while agenda.take(0) is not None:
            pass
        for _ in range(4):
            _attend(agenda)
        for _ in range(4):
            clock.now += SILENCE / 3
            store.renew(FAR)
            _attend(agenda)
        task = agenda.take(0)
        assert task is not None
        assert task["id"] == entries[gone].key
        assert agenda.take(0) is None
        assert f"waiting for {gone} cells of process 1 on far-host" in agenda.waiting or not agenda.waiting


def test_names_of_the_dead_that_hold_nothing_go_with_the_next_end(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.lease(["a"], "killed", 60, everybody)
        store.lease(["b"], "at work", 60, everybody)
        assert store.lease(["a"], "ours", 60, lambda owner: owner != "killed") == {"a"}
        store.release("ours")
        owners = store._connection.execute("SELECT owner FROM workers").fetchall()
    assert owners == [("at work",)]


def _attend(agenda: Agenda) -> None:
    agenda._asked = time.monotonic() - 1.0
    agenda.attend()


def test_cells_of_one_problem_stay_together_and_the_largest_problem_is_begun_first(tmp_path: Path) -> None:
    cells = [Cell(kind="solve", problem=p, replicate=n) for n, p in enumerate("abacbdbbcd")]
    with Store(tmp_path / "s.sqlite") as store:
        agenda = Agenda(tuple(Entry(c, f"k{n}", {}) for n, c in enumerate(cells)), store, 2)
        taken = []
        while not agenda.exhausted():
            for slot in (0, 1):
                task = agenda.take(slot)
                if task is not None:
                    taken.append((slot, task["cell"]["problem"]))
    assert taken == [(0, "b"), (1, "a"), (0, "b"), (1, "a"), (0, "b"), (1, "c"), (0, "b"), (1, "c"), (0, "d"), (1, "d")]


def test_handing_out_is_linear_in_the_number_of_problems(tmp_path: Path) -> None:
    """Counted in looks at queues, not in seconds."""

    class Counting(Agenda):
        looks = 0

        def _left(self, group: str) -> int:
            Counting.looks += 1
            return super()._left(group)

    count = 600
    with Store(tmp_path / "s.sqlite") as store:
        entries = tuple(Entry(Cell(kind="solve", problem=f"p{n}"), f"k{n}", {}) for n in range(count))
        agenda = Counting(entries, store, 2)
        taken = [agenda.take(n % 2)["id"] for n in range(count)]  # type: ignore[index]
        assert agenda.exhausted()
        assert agenda.take(0) is None
    assert taken == [e.key for e in entries]
    assert Counting.looks < 10 * count


def test_a_batch_of_leases_is_small(tmp_path: Path) -> None:
    """Two processes must be able to share the cells of one problem."""
    cells = campaign(tmp_path, 1).cells * 40
    with Store(tmp_path / "s.sqlite") as store:
        agenda = Agenda(tuple(Entry(c, f"k{n:02}", {}) for n, c in enumerate(cells)), store, 1)
        agenda.take(0)
        held = store.holders([f"k{n:02}" for n in range(40)])
        assert [h.cells for h in held] == [LEASE_BATCH]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_polite_end_keeps_what_is_done_and_gives_leases_back(tmp_path: Path, name: str) -> None:
    script = (
        "import sys, signal\nfrom bilevel_verify.campaign.run import run_campaign\nfrom campaign_toy import campaign\n"
        "from pathlib import Path\nfrom bilevel_verify.cli.commands.campaigns import interrupt_politely\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\ninterrupt_politely()\nfolder = Path(sys.argv[1])\n"
        "o = run_campaign(campaign(folder, 2000), folder / 'out', jobs=1, work='campaign_toy:work')\n"
        "sys.exit(130 if o.interrupted else 0)\n"
    )
    environment = os.environ | {"TOY_SLEEP": "0.05"}
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], env=environment) as process:
        path = tmp_path / "out" / "results.sqlite"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and _leases(path) == 0:
            time.sleep(0.05)
        assert _leases(path) > 0
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=20) == 130
    assert _leases(path) == 0
    outcome = run_campaign(campaign(tmp_path, 3), tmp_path / "out", jobs=1, work="campaign_toy:work")
    assert outcome.done + outcome.answered == 3


def _leases(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM leases").fetchone()[0])
    except sqlite3.OperationalError:  # it is just being made
        return 0
    finally:
        connection.close()
