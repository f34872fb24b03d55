"""Which cell is worked on next, by whom, and what becomes of the cells of other processes."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.campaign.owners import alive, ourselves, parts
from bilevel_verify.campaign.store import Store
from bilevel_verify.campaign.worker import Task

SILENCE = 120.0
"""Whoever works on a cell and gives no sign of life for so many seconds is taken to be gone."""
LEASE_BATCH = 16
LEFT = "left by others"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell with the key of its answer."""

    cell: Cell
    key: str
    depends: dict[str, object]


class Agenda:
    """Hands out cells, those that share something to one worker as far as possible (what it derives once, it keeps).

    Cells are leased in the store before they are worked on, so that two processes on one store share the work.
    Cells leased by somebody else wait until they are answered or their owner is gone.
    """

    def __init__(self, entries: tuple[Entry, ...], store: Store, jobs: int) -> None:
        self.store, self.jobs = store, jobs
        self.owner = ourselves()
        self.elsewhere = 0
        self.waiting = ""
        self._entries = {e.key: e for e in entries}
        self._groups: dict[str, deque[str]] = {}
        for entry in entries:
            self._groups.setdefault(entry.cell.shared, deque()).append(entry.key)
        # the largest first: what is begun last is short, so that workers wait for each other as little as possible
        self._fresh = deque(sorted(self._groups, key=lambda group: -len(self._groups[group])))
        self._open = len(entries)  # neither handed out nor waited for
        self._assigned: dict[int, str] = {}
        self._leased: dict[str, deque[str]] = {}
        self._waited: set[str] = set()
        self._asked = self._renewed = time.monotonic()
        self._turn = 0

    def take(self, slot: int) -> Task | None:
        """The next task for a worker, from its own problem first, then a new one, then the longest queue."""
        while (group := self._group_for(slot)) is not None:
            leased = self._leased.setdefault(group, deque())
            if not leased:
                self._lease(group, leased)
                continue
            self._open -= 1
            key = leased.popleft()
            return {"id": key, "cell": self._entries[key].cell.to_dict()}
        return None

    def exhausted(self) -> bool:
        """No cell is left to hand out, and none is being waited for."""
        return not self._waited and not self._open

    def finish(self, key: str) -> Entry:
        """The cell that was answered."""
        return self._entries[key]

    def attend(self) -> None:
        """Keep the leases alive and look after the cells of others; cheap, call it often."""
        now = time.monotonic()
        if now - self._renewed > SILENCE / 4:
            self._renewed = now
            self.store.renew(self.owner)
        if self._waited and now - self._asked > 0.5:
            self._asked = now
            answered = self.store.answered(sorted(self._waited))
            waited = sorted(self._waited - answered)
            first = self._turn % max(1, len(waited))
            self._turn += LEASE_BATCH  # in turn: the cells of a slow owner do not hide those of one that is gone
            asked = (waited[first:] + waited[:first])[:LEASE_BATCH]
            free = self.store.lease(asked, self.owner, SILENCE, alive)
            if free:
                self._leased.setdefault(LEFT, deque()).extend(sorted(free))
                self._fresh.append(LEFT)
            self._open += len(free)
            self.elsewhere += len(answered)
            self._waited -= free | answered
            self.waiting = "" if self._open else self._whom()

    def _whom(self) -> str:
        """For whom this run waits, and for how long at most if nothing is heard of them."""
        holders = self.store.holders(sorted(self._waited))
        if not holders:
            return ""
        holder = parts(holders[0].owner)
        others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
        left = max(0.0, SILENCE - holders[0].silent)
        cells = f"{len(self._waited)} cell{'s' * (len(self._waited) != 1)}"
        where = f"process {holder.process} on {holder.host}{others}"
        return f"waiting for {cells} of {where}; taken over after {left:.0f} s more of silence"

    def _group_for(self, slot: int) -> str | None:
        """A group stays assigned until it is empty, so every one is fresh only once and is looked at only once."""
        own = self._assigned.get(slot)
        if own is not None and self._left(own):
            return own
        busy = {*self._assigned.values()}
        while self._fresh and (self._fresh[0] in busy or not self._left(self._fresh[0])):
            self._fresh.popleft()
        shared = (group for group in sorted(busy) if self._left(group))
        chosen = self._fresh.popleft() if self._fresh else max(shared, key=self._left, default=None)
        if chosen is not None:
            self._assigned[slot] = chosen
        return chosen

    def _left(self, group: str) -> int:
        return len(self._groups.get(group, ())) + len(self._leased.get(group, ()))

    def _lease(self, group: str, leased: deque[str]) -> None:
        queue = self._groups[group]
        batch = [queue.popleft() for _ in range(min(LEASE_BATCH, len(queue)))]
        free = self.store.lease(batch, self.owner, SILENCE, alive)
        leased.extend(k for k in batch if k in free)
        self._waited |= set(batch) - free
        self._open -= len(batch) - len(free)
