"""Records: numbers by name that a loop changes in place, as objects in plain Python, as structured arrays compiled."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

import numpy as np

T = TypeVar("T")


@dataclass_transform()
def record(kind: type[T]) -> type[T]:
    """A class of named numbers: fields annotated ``int`` hold integers, all others numbers of the arithmetic.

    Raises
    ------
    ValueError : a field without a number to begin with, or of a name that means something else for NumPy (``T``).
    """
    made = dataclass(slots=True)(kind)
    taken = [entry.name for entry in fields(made) if hasattr(np.record, entry.name)]  # type: ignore[arg-type]
    empty = [entry.name for entry in fields(made) if not isinstance(entry.default, int)]  # type: ignore[arg-type]
    if taken or empty:
        raise ValueError(f"{kind.__qualname__}: fields of another name than {taken}, and a number for {empty}")
    return made


@cache
def dtype_of(kind: type) -> Any:
    """The NumPy type of a compiled record: int64 and float64 fields, readable as attributes."""
    types = [(entry.name, np.int64 if is_whole(entry) else np.float64) for entry in fields(kind)]
    return np.dtype((np.record, np.dtype(types, align=True)))


def seen(kind: type[T], record: Any) -> T:
    """The numbers of a record as they stand, as an object (itself in plain Python): each attribute of a structured
    array's record costs a microsecond."""
    return record if isinstance(record, kind) else kind(*record.item())


def is_whole(entry: Any) -> bool:
    """Whether a field of a record holds an integer."""
    return entry.type in ("int", int)
