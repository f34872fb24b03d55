"""The audit: every printed statement put to the test, without running a solver.

``audit(paper)`` judges the links, derivations, units and pseudo-code of a card; ``check(formula)`` one formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use

__all__ = ["Finding", "audit", "check", "findings_of", "tally"]

_HOME = {"findings.finding": "Finding", "auditor": "audit findings_of tally", "formula": "check"}


__getattr__ = on_first_use(__name__, _HOME)  # the engines bring SymPy and the SMT solver with them


if TYPE_CHECKING:
    from bilevel_verify.audit.auditor import audit, findings_of, tally
    from bilevel_verify.audit.findings.finding import Finding
    from bilevel_verify.audit.formula import check
