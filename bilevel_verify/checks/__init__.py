"""Checks: was the promise kept? Verdicts on claims at parameters, points, steps, epochs, runs and over sweeps."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.verdicts.verdict import Row, Verdict, Verification

if TYPE_CHECKING:
    from bilevel_verify.checks.engine import verify, verify_all
    from bilevel_verify.checks.requests.builtin import builtin_jobs

_LATER = {
    "verify": "bilevel_verify.checks.engine",
    "verify_all": "bilevel_verify.checks.engine",
    "builtin_jobs": "bilevel_verify.checks.requests.builtin",
}

__all__ = ["Row", "Verdict", "Verification", "builtin_jobs", "verify", "verify_all"]


def __getattr__(name: str) -> Any:
    """Load the engine on first use: rows alone need no solver."""
    if name not in _LATER:
        raise AttributeError(f"module 'bilevel_verify.checks' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value
