"""Tell the reader: one self-contained HTML page, the same as JSON, Markdown and LaTeX, figures as SVG and PDF."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bilevel_verify.reporting.build import document_of, document_of_store
    from bilevel_verify.reporting.write import report, report_store

__all__ = ["document_of", "document_of_store", "report", "report_store"]


def __getattr__(name: str) -> Any:
    """The makers of documents bring the campaign along: a terminal that only wants the words does not wait for them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{'build' if 'document' in name else 'write'}"), name)
    globals()[name] = value
    return value
