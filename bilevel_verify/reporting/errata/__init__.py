"""Errata: for each paper every defect once, as a page and as Markdown, and the gravest of several papers."""

from bilevel_verify.reporting.errata.errata_page import errata_page, quotations, write_errata

__all__ = ["errata_page", "quotations", "write_errata"]
