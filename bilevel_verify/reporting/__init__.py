"""Tell the reader: one self-contained HTML page, the same as JSON, Markdown and LaTeX, figures as SVG and PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use

if TYPE_CHECKING:
    from bilevel_verify.reporting.build import document_of, document_of_store
    from bilevel_verify.reporting.write import report, report_store

__all__ = ["document_of", "document_of_store", "report", "report_store"]


# the makers of documents bring the campaign along: a terminal that only wants the words does not wait for them
__getattr__ = on_first_use(__name__, {"build": "document_of document_of_store", "write": "report report_store"})
