"""Leases and the agenda, each side condition alone: shares, ties of the clock, messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.campaign import Store, agenda, leases
from bilevel_verify.campaign.agenda import SILENCE, Agenda, Entry
from bilevel_verify.campaign.cell import Cell

pytestmark = pytest.mark.fast

FAR, FARTHER = "far-host:1:1", "farther-host:2:2"


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the agenda and of the store at once."""
    moved = Clock()
    monkeypatch.setattr(agenda.time, "monotonic", moved)
    return moved


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite", clock=clock) as opened:
        yield opened


def entries(problems: str) -> tuple[Entry, ...]:
    """One cell for each letter (a problem); keys k00, k01, ..."""
    cells = [Cell(kind="solve", problem=p, replicate=n) for n, p in enumerate(problems)]
    return tuple(Entry(cell, f"k{n:02}", {}) for n, cell in enumerate(cells))


def everybody(owner: str) -> bool:
    return True


def ids(agenda_: Agenda, slots: list[int]) -> list[str | None]:
    tasks = [agenda_.take(slot) for slot in slots]
    return [None if task is None else task["id"] for task in tasks]


def answer(store: Store, key: str) -> None:
    store.add(key, "c", {}, {}, {"verdict": "holds"})


# ---- leases ----------------------------------------------------------------------------------------------------------


class Recorder:
    """A connection that notes how many values go into one statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection, self.sizes = connection, []  # type: ignore[var-annotated]

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        if " IN (" in statement:
            self.sizes.append(len(values))
        return self.connection.execute(statement, values)

    def executemany(self, statement: str, values: list[tuple[Any, ...]]) -> sqlite3.Cursor:
        return self.connection.executemany(statement, values)


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
def test_leases_are_asked_for_in_pieces(
    count: int, sizes: list[int], store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "CHUNK", 3)
    recorder = Recorder(store._connection)
    found = leases.Leases(recorder, clock)  # type: ignore[arg-type]
    keys = [f"k{n}" for n in range(count)]
    assert found.take(keys, "one", 60, everybody) == set(keys)
    assert recorder.sizes == sizes
    assert found._held([*keys, "other"]) == dict.fromkeys(keys, "one")
    assert found.take([*keys, "other"], "two", 60, everybody) == {"other"}


def test_the_holder_of_most_cells_comes_first_and_silence_is_its_own(store: Store, clock: Clock) -> None:
    store.lease(["a"], "one", 60, everybody)
    store.lease(["b", "c"], "two", 60, everybody)
    store.lease(["d"], "zero", 60, everybody)
    assert [(h.owner, h.cells, h.silent) for h in store.holders(["a", "b", "c", "d", "e"])] == [
        ("two", 2, 0.0),
        ("one", 1, 0.0),
        ("zero", 1, 0.0),
    ]
    clock.now += 7
    store.renew("two")
    assert [(h.owner, h.silent) for h in store.holders(["a", "b", "c"])] == [("two", 0.0), ("one", 7.0)]
    clock.now += 1
    assert [(h.owner, h.silent) for h in store.holders(["a", "b", "c"])] == [("two", 1.0), ("one", 8.0)]
    assert store.holders([]) == []


def test_only_the_cells_of_the_silent_or_dead_are_taken(store: Store, clock: Clock) -> None:
    store.lease(["a"], "one", 60, everybody)
    store.lease(["b"], "two", 60, everybody)
    store.lease(["c"], "three", 60, everybody)
    store.holders(["a", "b", "c"])
    assert store.lease(["a", "b", "c"], "two", 60, lambda owner: owner != "three") == {"b", "c"}
    clock.now += 60
    store.renew("two")
    assert store.lease(["a", "b", "c"], "one", 60, everybody) == {"a"}


def test_what_is_given_back_is_free_and_its_owner_forgotten(store: Store) -> None:
    store.lease(["a", "b"], "one", 60, everybody)
    store.lease(["c"], "two", 60, everybody)
    store.release("one")
    assert [h.owner for h in store.holders(["a", "b", "c"])] == ["two"]
    assert [row[0] for row in store._connection.execute("SELECT owner FROM workers")] == ["two"]


# ---- the agenda ------------------------------------------------------------------------------------------------------


def test_a_free_worker_helps_with_the_longest_queue(store: Store) -> None:
    found = Agenda(entries("aaaa" + "bbbbbb" + "ccc"), store, 4)
    assert ids(found, [1, 0, 2]) == ["k04", "k00", "k10"]  # the largest problem is begun first
    assert ids(found, [3, 3]) == ["k05", "k06"]
    assert ids(found, [0, 0, 0]) == ["k01", "k02", "k03"]
    assert ids(found, [2, 2]) == ["k11", "k12"]
    assert ids(found, [0, 1, 2]) == ["k07", "k08", "k09"]
    assert found.exhausted()
    assert ids(found, [0, 1, 2, 3, 0]) == [None] * 5


def test_a_batch_of_sixteen_is_leased_and_the_next_when_it_is_done(store: Store) -> None:
    found = Agenda(entries("a" * 40), store, 1)
    keys = [f"k{n:02}" for n in range(40)]
    for n in range(40):
        assert ids(found, [0]) == [keys[n]]
        assert [h.cells for h in store.holders(keys)] == [min(40, 16 * (n // 16 + 1))]
    assert found.exhausted()


def test_cells_of_others_are_left_to_them_and_own_ones_are_handed_out(store: Store) -> None:
    store.lease(["k01", "k03"], FAR, SILENCE, everybody)
    found = Agenda(entries("aaaaa"), store, 1)
    assert ids(found, [0, 0]) == ["k00", "k02"]
    assert not found.exhausted()
    assert ids(found, [0, 0]) == ["k04", None]
    assert not found.exhausted()  # two are waited for
    assert found.finish("k03").cell.replicate == 3


def attend(found: Agenda, clock: Clock, seconds: float = 0.75) -> None:
    clock.now += seconds
    found.attend()


def test_a_wait_for_several_names_the_one_with_most_cells(store: Store, clock: Clock) -> None:
    store.lease(["k00"], FAR, SILENCE, everybody)
    store.lease(["k01", "k02"], FARTHER, SILENCE, everybody)
    found = Agenda(entries("aaa"), store, 1)
    assert ids(found, [0]) == [None]
    assert found.waiting == ""
    attend(found, clock)
    assert found.waiting == (
        "waiting for 3 cells of process 2 on farther-host and 1 more; taken over after 119 s more of silence"
    )
    for key in ("k01", "k02"):
        answer(store, key)
    attend(found, clock, 10.0)
    assert (found.elsewhere, found.waiting) == (
        2,
        "waiting for 1 cell of process 1 on far-host; taken over after 109 s more of silence",
    )
    answer(store, "k00")
    attend(found, clock)
    assert (found.elsewhere, found.waiting, found.exhausted()) == (3, "", True)


def test_nothing_is_said_of_a_wait_while_there_is_own_work(store: Store, clock: Clock) -> None:
    store.lease(["k00"], FAR, SILENCE, everybody)
    found = Agenda(entries("aab"), store, 1)
    assert ids(found, [0]) == ["k01"]
    attend(found, clock)
    assert found.waiting == ""  # k02 is still to be done
    assert ids(found, [0, 0]) == ["k02", None]
    attend(found, clock)
    assert found.waiting.startswith("waiting for 1 cell of process 1 on far-host; taken over after 118 s")


def test_a_cell_that_nobody_holds_any_more_is_not_waited_for_in_words(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.lease(["k00"], FAR, SILENCE, everybody)
    found = Agenda(entries("a"), store, 1)
    assert ids(found, [0]) == [None]
    store.release(FAR)
    assert found._whom() == ""
    monkeypatch.setattr(store, "holders", lambda keys: [leases.Holder(FAR, 1, SILENCE + 3.0)])
    assert found._whom().endswith("taken over after 0 s more of silence")


def test_what_others_left_is_done_here_in_batches(store: Store, clock: Clock) -> None:
    keys = [f"k{n:02}" for n in range(20)]
    store.lease(keys, FAR, SILENCE, everybody)
    found = Agenda(entries("a" * 20), store, 1)
    assert ids(found, [0]) == [None]
    attend(found, clock)
    assert list(found._fresh) == []  # nothing was free: no group is looked at in vain
    answer(store, "k19")
    store.release(FAR)
    attend(found, clock)
    assert (found.waiting, found.elsewhere) == ("", 1)
    assert [h.cells for h in store.holders(keys)] == [16]
    *first, none = ids(found, [0] * 17)
    assert none is None
    attend(found, clock)
    *rest, none = ids(found, [0] * 4)
    assert none is None
    assert sorted([*first, *rest]) == keys[:19]
    assert first == sorted(first)
    assert found.exhausted()


def test_an_agenda_with_cells_to_hand_out_is_not_exhausted(store: Store) -> None:
    found = Agenda(entries("aa"), store, 1)
    for left in (2, 1):
        assert (found._open, found.exhausted()) == (left, False)
        assert len(ids(found, [0])) == 1
    assert found.exhausted()
    found._waited = {"x"}
    assert not found.exhausted()


def test_signs_of_life_and_questions_have_their_times(store: Store, clock: Clock) -> None:
    asked: list[list[str]] = []
    renewed: list[float] = []
    store.lease(["k00"], FAR, SILENCE, everybody)
    found = Agenda(entries("a"), store, 1)
    ids(found, [0])
    lease, renew = store.lease, store.renew
    store.lease = lambda keys, *rest: asked.append(list(keys)) or lease(keys, *rest)  # type: ignore[assignment, func-returns-value, method-assign]
    store.renew = lambda owner: renewed.append(clock.now) or renew(owner)  # type: ignore[func-returns-value, method-assign]
    attend(found, clock, 0.5)
    assert asked == []  # not before half a second has passed
    attend(found, clock, 0.125)
    attend(found, clock, 0.25)
    assert asked == [["k00"]]
    attend(found, clock, 0.375)
    assert asked == [["k00"]] * 2
    clock.now = 1030.0
    found.attend()
    assert renewed == []  # a quarter of the silence is not over
    attend(found, clock, 0.25)
    attend(found, clock, 0.25)
    assert renewed == [1030.25]
    answer(store, "k00")
    attend(found, clock)
    asked.clear()
    attend(found, clock)
    assert asked == []  # nothing is waited for


def test_a_worker_stays_with_the_data_of_a_seed_in_an_experiment(store: Store, clock: Clock) -> None:
    cells = [
        Cell(kind="experiment", problem="experiment:e", knobs={"entry": entry, "variant": "v"}, replicate=seed)
        for entry in ("a", "b", "c")
        for seed in (1, 2)
    ]
    found = Agenda(tuple(Entry(cell, f"{cell.knobs['entry']}{cell.replicate}", {}) for cell in cells), store, 2)
    assert ids(found, [0, 1, 0, 1, 0, 1]) == ["a1", "a2", "b1", "b2", "c1", "c2"]
