"""One hypothesis of a statement on an instance."""

from __future__ import annotations

from dataclasses import dataclass

from bilevel_verify.checks.verdicts.verdict import Verdict
from bilevel_verify.truth.arithmetic.enclosure import Certainty


@dataclass(frozen=True, slots=True)
class Premise:
    """One hypothesis on the instance: its text, whether it holds, and why not."""

    text: str
    verdict: Verdict
    reason: str = ""
    certainty: Certainty = "certified"
    source: str = ""
    margin: float | None = None
    witness: str = ""
    along: bool = False
    """Whether it was looked at along the run: no further than the run went."""
