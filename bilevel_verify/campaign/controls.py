"""Negative controls: cells whose verdict is known beforehand. One that comes out otherwise is a fault of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.campaign.store import StoredCell


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


def judge_controls(cells: Iterable[StoredCell]) -> list[Control]:
    """The controls among some stored answers."""
    controls = [(Cell.from_dict(s.cell), s) for s in cells if s.cell.get("control") is not None]
    return [Control(cell.label, str(cell.control), str(stored.answer.get("verdict"))) for cell, stored in controls]
