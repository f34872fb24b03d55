"""Checks: was the promise kept? Verdicts on claims at parameters, points, steps, epochs, runs and over sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.first_use import on_first_use

if TYPE_CHECKING:
    from bilevel_verify.checks.engine import verify, verify_all
    from bilevel_verify.checks.requests.builtin import builtin_jobs


__all__ = ["Row", "Verdict", "Verification", "builtin_jobs", "verify", "verify_all"]


# Rows alone need no solver.
__getattr__ = on_first_use(__name__, {"engine": "verify verify_all", "requests.builtin": "builtin_jobs"})
