"""All verdicts on one statement: what ``bv.verify`` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bilevel_verify.checks.verdicts.display import html, text
from bilevel_verify.checks.verdicts.verdict import Row, Verdict


@dataclass(frozen=True, slots=True)
class Verification:
    """All rows of one statement (or card) on one problem or family; what ``bv.verify`` returns.

    ``verdict`` is the summary: ``refuted`` if any claim as printed is, else ``undecided`` if any is, else ``holds``
    (``not applicable`` if nothing applied); the order verdicts stay in their rows.
    """

    statement: str
    problem: str
    verdict: Verdict
    claims: tuple[Row, ...]
    hypotheses: tuple[Row, ...] = ()
    runs: tuple[Any, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)
    truth: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[dict[str, Any], ...] = ()
    seconds: float = 0.0

    @property
    def _head(self) -> str:
        return f"{self.statement} on {self.problem}: {self.verdict}"

    def __str__(self) -> str:
        return text(self._head, self.claims, self.hypotheses)

    def _repr_html_(self) -> str:
        return html(self._head, self.claims)
