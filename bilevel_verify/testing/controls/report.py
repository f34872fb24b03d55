"""The detection matrix for readers: which assertion caught which broken solver, as data, Markdown and HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path

from bilevel_verify.reporting.detection import DATA, MISSED, arranged
from bilevel_verify.testing.controls.broken import CONTROLS, Control, Matrix

Matrices = Mapping[str, Matrix]
"""Profile -> the matrix it gave."""


def as_data(matrices: Matrices, subjects: tuple[Control, ...] | None = None) -> dict[str, object]:
    """Plain data: ``profiles`` (name -> caught, of, missed) and ``controls`` (name, protocol, catalogue, cells)."""
    profiles = {
        name: {"caught": len(matrix.caught), "of": len(matrix.cells), "missed": list(matrix.missed)}
        for name, matrix in matrices.items()
    }
    controls = []
    for control in CONTROLS if subjects is None else subjects:
        cells = {
            name: dict(matrix.cells[control.name]) for name, matrix in matrices.items() if control.name in matrix.cells
        }
        controls.append(
            {"name": control.name, "protocol": control.protocol, "catalogue": control.catalogue, "cells": cells}
        )
    return {"profiles": profiles, "controls": controls}


def as_markdown(data: Mapping[str, object]) -> str:
    """A table, one row per control; a cell names the first profile whose assertion catches it."""
    shown = arranged(data)
    assertions = shown["assertions"]
    lines = [
        "# Detection matrix",
        "",
        "Deliberately broken solvers (rows) against the assertions of `bilevel_verify.testing` (columns).",
        "A cell names the first profile that catches the control; `-`: the assertion applies and does not see it;",
        "blank: it does not apply. `catalogue` names the reported bug that the control repeats.",
        "",
        shown["headline"] + ".",
        "",
        "| control | catalogue | " + " | ".join(assertions) + " |",
        "|" + "---|" * (2 + len(assertions)),
    ]
    for control in shown["controls"]:
        name = control["name"].replace("|", "\\|")
        lines.append(f"| {name} | {control['catalogue']} | " + " | ".join(control["marks"]) + " |")
    return "\n".join(lines) + "\n"


def as_html(data: Mapping[str, object]) -> str:
    """The section of a report: a heading, a sentence and a table; no style of its own, no page around it."""
    shown = arranged(data)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("control", "catalogue", *shown["assertions"]))
    rows = []
    for control in shown["controls"]:
        cells = "".join(
            f'<td class="{"caught" if m not in ("", MISSED) else "blind"}">{html.escape(m)}</td>'
            for m in control["marks"]
        )
        name, catalogue = html.escape(control["name"]), html.escape(control["catalogue"])
        rows.append(f"<tr><th scope='row'>{name}</th><td>{catalogue}</td>{cells}</tr>")
    return (
        '<section id="detection-matrix"><h2>Detection matrix of the testing kit</h2>'
        f"<p>Deliberately broken solvers against the assertions; {html.escape(shown['headline'])}.</p>"
        f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        "</section>\n"
    )


def write(matrices: Matrices, folder: str | Path, subjects: tuple[Control, ...] | None = None) -> list[Path]:
    """``detection-matrix.json``, ``.md`` and ``.html`` in a folder."""
    target, data = Path(folder), as_data(matrices, subjects)
    target.mkdir(parents=True, exist_ok=True)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Detection matrix</title><style>'
        "body{font:15px system-ui;margin:2rem}table{border-collapse:collapse}td,th{padding:.2rem .5rem;"
        "border-bottom:1px solid #ddd;text-align:left;font-weight:normal}.caught{background:#e3f4e3}"
        f"</style></head><body>{as_html(data)}</body></html>\n"
    )
    texts = {
        DATA: json.dumps(data, indent=1) + "\n",
        "detection-matrix.md": as_markdown(data),
        "detection-matrix.html": page,
    }
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf8")
    return [target / name for name in texts]
