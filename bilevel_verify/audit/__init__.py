"""The audit: every printed statement put to the test, without running a solver.

``audit(paper)`` judges the links, derivations, units and pseudo-code of a card; ``check(formula)`` one formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Finding", "audit", "check", "findings_of", "tally"]

_HOME = {
    "Finding": "findings.finding",
    "audit": "auditor",
    "findings_of": "auditor",
    "tally": "auditor",
    "check": "formula",
}


def __getattr__(name: str) -> Any:
    """Load on first use: the engines bring SymPy and the SMT solver with them."""
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


if TYPE_CHECKING:
    from bilevel_verify.audit.auditor import audit, findings_of, tally
    from bilevel_verify.audit.findings.finding import Finding
    from bilevel_verify.audit.formula import check
