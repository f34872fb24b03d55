"""What a process remembers: values by key, the oldest makes room for the newest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remembered(store: dict[K, V], key: K, make: Callable[[], V], limit: int) -> V:
    """The value of a key, made when it is first asked for; at most ``limit`` values are kept."""
    if key not in store:
        if len(store) >= limit:
            store.pop(next(iter(store)))
        store[key] = make()
    return store[key]
