"""What is known of a method's pseudo-code that no card prints: where it is from, what it takes, its steps."""

from __future__ import annotations

from typing import NamedTuple


class Recalled(NamedTuple):
    """Source, inputs and steps; ``calls`` : cards whose called algorithms (AGD, CG) are used."""

    source: str
    inputs: str
    steps: str
    calls: str = ""
