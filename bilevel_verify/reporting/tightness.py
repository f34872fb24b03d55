"""How tight the claims are, as a page shows it: what ``worst.json`` in the folder of a report says.

``bilevel-verify worst STATEMENT --out FOLDER`` writes the search of one statement; a file with a list of such results
holds many.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite, log10
from pathlib import Path
from typing import Any

from bilevel_verify.reporting.document import TightnessLine
from bilevel_verify.reporting.words import LOOKS

DATA = "worst.json"
LEAST = 1e-12
"""Where the scale of the map begins."""
MOST_STATEMENTS = 500


def tightness_record(folder: str | Path) -> list[TightnessLine] | None:
    """The results beside a report, one line for each claim; None where there are none, or another file."""
    try:
        data = json.loads((Path(folder) / DATA).read_text(encoding="utf-8"))
        results = data if isinstance(data, list) else [data]
        found = [_line(one, claim) for one in results[:MOST_STATEMENTS] for claim in one["claims"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found or None


def _line(one: Mapping[str, Any], claim: Mapping[str, Any]) -> TightnessLine:
    """One claim; ``place`` is where its share lies between 1e-12 (0) and 1 (1) on a log scale, None without one."""
    share, verdict = float(claim["ratio"]), claim["verdict"]
    if verdict is not None and verdict not in LOOKS:
        raise ValueError("not a verdict")
    place = None if not share > 0 else max(0.0, min(1.05, 1 - log10(share) / log10(LEAST))) if isfinite(share) else 1.05
    return {
        "statement": str(one["statement"]),
        "claim": str(claim["claim"]),
        "relation": str(claim["relation"]),
        "share": f"{share:.4g}",
        "place": None if place is None else round(place, 4),
        "finding": str(claim["word"]),
        "certainty": str(claim["certainty"]),
        "verdict": verdict,
        "family": str(claim["family"]),
        "tried": int(one["tried"]),
    }
