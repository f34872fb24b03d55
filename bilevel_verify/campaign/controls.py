"""Negative controls: cells whose verdict is known beforehand. One that comes out otherwise is a fault of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.campaign.store import Store


@dataclass(frozen=True, slots=True)
class Control:
    """A control with what it must say and what it said."""

    label: str
    expected: str
    found: str

    @property
    def kept(self) -> bool:
        """True if the verdict is the expected one."""
        return self.expected == self.found


def judge_controls(store: Store, keys: Iterable[str] | None = None) -> list[Control]:
    """The controls among the stored answers (of ``keys``, or all)."""
    found = []
    for stored in store.cells(keys):
        cell = Cell.from_dict(stored.cell)
        if cell.control is not None:
            found.append(Control(cell.label, cell.control, str(stored.answer.get("verdict"))))
    return found
