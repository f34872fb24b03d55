"""Write a report into a folder: page, JSON, Markdown, LaTeX, figures."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from bilevel_verify.campaign.store import Failure, Store
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import InputError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.reporting.build import document_of, document_of_store
from bilevel_verify.reporting.detection import detection_record
from bilevel_verify.reporting.document import ReportDocument
from bilevel_verify.reporting.rates import rates_record
from bilevel_verify.reporting.tightness import tightness_record

FORMATS = ("html", "json", "markdown", "latex", "figures")


WRITTEN = dict(zip(FORMATS, ("index.html", "report.json", "report.md", "tables/rows.tex", "figures")))
"""What each format is first looked at as."""


def report(
    verifications: Verification | Sequence[Verification],
    out: str | Path,
    *,
    title: str = "Verification report",
    command: str = "",
    problems: Sequence[object] = (),
    formats: Sequence[str] = FORMATS,
) -> Path:
    """Write a report of some verifications; returns the page, without one the first file that was written.

    Parameters
    ----------
    verifications : what ``verify`` returned, one or several.
    out : folder, created if missing. It receives ``index.html`` (one self-contained page), ``report.json`` (schema in
        ``reporting.schema.schema()``), ``report.md``, ``tables/*.tex`` (booktabs) and ``figures/*.svg``, ``*.pdf``.
    title, command : shown at the top; ``command`` is what repeats the whole.
    problems : the problems in the order of the verifications, for their formulas; zoo problems are found by name.
    formats : which of ``html json markdown latex figures``.

    Raises
    ------
    InputError
        An unknown format, or a folder that cannot be written.
    """
    many = [verifications] if isinstance(verifications, Verification) else list(verifications)
    given = [one for one in problems if one is None or isinstance(one, Problem)]
    if len(given) < len(problems):
        raise InputError("report: problems must be problems such as load(...) and zoo(...) give, one a verification")
    return write_document(document_of(many, title=title, command=command, problems=given), out, formats)


def report_store(
    store: Store,
    out: str | Path,
    *,
    keys: Iterable[str] | None = None,
    title: str = "Verification report",
    command: str = "",
    failures: Iterable[Failure] = (),
    formats: Sequence[str] = FORMATS,
) -> Path:
    """Write a report of stored answers (of ``keys``, or all); see :func:`report`."""
    document = document_of_store(store, keys, title=title, command=command, failures=failures)
    page = write_document(document, out, formats)
    export_rest(store, document, out, keys)
    return page


def export_rest(
    store: Store, document: ReportDocument, out: str | Path, keys: Iterable[str] | None = None
) -> Path | None:
    """Where a page cannot carry all rows, write all of them as ``rows.csv`` beside it."""
    if len(document["rows"]) == document["summary"]["rows"]:
        return None
    from bilevel_verify.campaign.export import export_csv

    path = Path(out) / "rows.csv"
    export_csv(store, path, keys)
    return path


def write_document(
    document: ReportDocument, out: str | Path, formats: Sequence[str] = FORMATS, columns: Sequence[str] | None = None
) -> Path:
    """Write a report document in the given formats; every file appears only when it is complete.

    ``columns`` are those of ``tables/rows.tex``, see :func:`bilevel_verify.reporting.tables.latex_rows`.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise InputError(f"unknown report format {unknown[0]!r}; there are {', '.join(FORMATS)}")
    folder = Path(out)
    page = folder / "index.html"
    papers = {paper["key"] for paper in document["papers"]}
    rates = rates_record(folder, papers) or document.get("rates")
    document = document | {
        "detection": detection_record(folder) or document.get("detection"),
        "tightness": tightness_record(folder) or document.get("tightness"),
        "rates": rates,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_formats(document, folder, page, formats, columns)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
    return folder / next(name for key, name in WRITTEN.items() if key in formats or not formats)


def _write_formats(
    document: ReportDocument, folder: Path, page: Path, formats: Sequence[str], columns: Sequence[str] | None
) -> None:
    from bilevel_verify.reporting import tables

    if "html" in formats:
        from bilevel_verify.reporting.html import render
        from bilevel_verify.reporting.pictures import page_pictures

        text = render(document)
        if "figures" in formats:
            text = render(document, page_pictures(document, folder / "figures", len(text.encode())))
        _write(page, text)
    if "json" in formats:
        text = json.dumps(document, indent=None, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        _write(folder / "report.json", text + "\n")
    if "markdown" in formats:
        _write(folder / "report.md", tables.markdown(document))
    if "latex" in formats:
        (folder / "tables").mkdir(exist_ok=True)
        _write(folder / "tables" / "summary.tex", tables.latex_matrix(document))
        _write(folder / "tables" / "rows.tex", tables.latex_rows(document, columns=columns))
    if "figures" in formats:
        from bilevel_verify.reporting.figures import write_figures

        write_figures(document, folder / "figures")


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def shell_command(words: Sequence[str]) -> str:
    """A command line quoted for the shell."""
    return shlex.join(words)
