"""Tell the reader: one self-contained HTML page, the same as JSON, Markdown and LaTeX, figures as SVG and PDF."""

from bilevel_verify.reporting.build import document_of, document_of_store
from bilevel_verify.reporting.write import report, report_store

__all__ = ["document_of", "document_of_store", "report", "report_store"]
