"""Who is working on what, without any clock of another machine.

An owner gives signs of life: a number in the store that grows. Whoever waits for it watches that number on a monotonic
clock of its own and takes over after a long enough silence. No time of day is stored, so none can be wrong. The number
sets out anywhere: an owner whose name was struck off and comes back is not taken for one that has been silent since.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CHUNK = 500


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody else at work: how many of the cells asked for it has, and for how many seconds it has been silent."""

    owner: str
    cells: int
    silent: float


class Leases:
    """The leases of a store, as one process sees them; every method expects an open transaction."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._connection, self._clock = connection, clock
        self._heard: dict[str, tuple[tuple[int] | None, float]] = {}

    def take(self, keys: Sequence[str], owner: str, silence: float, alive: Callable[[str], bool]) -> set[str]:
        """Lease those of ``keys`` that are free, ours already, or held by somebody gone or silent for ``silence`` s."""
        held = self._held(keys)
        gone = {o: self._silent(o) >= silence or not alive(o) for o in {*held.values()} - {owner}}
        free = {k for k in keys if k not in held or held[k] == owner or gone[held[k]]}
        self._connection.execute("INSERT OR IGNORE INTO workers VALUES (?, abs(random() % 1000000000000))", (owner,))
        self._connection.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?)", [(k, owner) for k in free])
        return free

    def beat(self, owner: str) -> None:
        """A sign of life."""
        self._connection.execute("UPDATE workers SET beat = beat + 1 WHERE owner = ?", (owner,))

    def drop(self, owner: str) -> None:
        """Give back everything; the names of others that hold nothing (they were killed, or come back) go, too."""
        self._connection.execute("DELETE FROM leases WHERE owner = ?", (owner,))
        self._connection.execute("DELETE FROM workers WHERE owner NOT IN (SELECT owner FROM leases)")

    def holders(self, keys: Sequence[str]) -> list[Holder]:
        """Who holds ``keys``, the one with the most first."""
        held = list(self._held(keys).values())
        found = [Holder(owner, held.count(owner), self._silent(owner)) for owner in sorted(set(held))]
        return sorted(found, key=lambda holder: -holder.cells)

    def _silent(self, owner: str) -> float:
        """For how long this process has seen no sign of life of ``owner``, in seconds of its own clock."""
        beat = self._connection.execute("SELECT beat FROM workers WHERE owner = ?", (owner,)).fetchone()
        now = self._clock()
        if owner not in self._heard or self._heard[owner][0] != beat:
            self._heard[owner] = (beat, now)
        return now - self._heard[owner][1]

    def _held(self, keys: Sequence[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        for start in range(0, len(keys), CHUNK):
            part = tuple(keys[start : start + CHUNK])
            marks = ",".join("?" * len(part))
            held |= dict(self._connection.execute(f"SELECT key, owner FROM leases WHERE key IN ({marks})", part))
        return held
