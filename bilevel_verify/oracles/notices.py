"""Things that are said once per process."""

from __future__ import annotations

import warnings


class OracleWarning(UserWarning):
    """Oracles work, but not in the form that was hoped for: slower, or without the cache."""


_SAID: set[str] = set()


def say_once(topic: str, message: str) -> None:
    """Warn with :class:`OracleWarning`, the first time that ``topic`` comes up."""
    if topic not in _SAID:
        _SAID.add(topic)
        warnings.warn(message, OracleWarning, stacklevel=3)


def forget() -> None:
    """Forget what was said (tests)."""
    _SAID.clear()
