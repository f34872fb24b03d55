"""The detection matrix of the testing kit on the page: which assertion catches which broken solver.

The kit writes ``detection-matrix.json`` (``python -m bilevel_verify.testing --out FOLDER``); a report into the same
folder shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bilevel_verify.reporting.document import ControlRecord, Detection

DATA = "detection-matrix.json"
MOST_CONTROLS = 1000
MISSED = "-"


def detection_record(folder: str | Path) -> Detection | None:
    """The matrix that lies in a folder, arranged for the page; None where there is none or it has another form."""
    try:
        data = json.loads((Path(folder) / DATA).read_text(encoding="utf-8"))
        return arranged(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def arranged(data: Mapping[str, Any]) -> Detection:
    """The matrix as lines: ``headline``, ``assertions`` (columns) and ``controls`` with a mark for each of them."""
    controls = data["controls"][:MOST_CONTROLS]
    assertions = list(dict.fromkeys(str(a) for c in controls for row in c["cells"].values() for a in row))
    headline = [f"{name}: {int(p['caught'])} of {int(p['of'])} caught" for name, p in data["profiles"].items()]
    rows: list[ControlRecord] = [
        {
            "name": str(c["name"]),
            "protocol": str(c["protocol"]),
            "catalogue": str(c["catalogue"]),
            "marks": [_mark(c["cells"], assertion) for assertion in assertions],
        }
        for c in controls
    ]
    return {"headline": "; ".join(headline), "assertions": assertions, "controls": rows}


def _mark(cells: Mapping[str, dict[str, str]], assertion: str) -> str:
    """The first profile that catches it; ``-`` if none does, blank if the assertion does not apply."""
    asked = [(str(profile), row[assertion]) for profile, row in cells.items() if assertion in row]
    return "" if not asked else next((profile for profile, contract in asked if contract), MISSED)
