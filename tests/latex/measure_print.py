"""How much of a print is read: ``python tests/latex/measure_print.py DIRECTORY`` with one ``KEY.toml`` a paper.

Each file has ``[[display]]`` entries with ``kind`` and ``latex``; the notations are those shipped with the cards.
Prints what is read by paper and kind, the reasons of the rest, the share of scalar displays, and the time.
"""

from __future__ import annotations

import re
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

from bilevel_verify.errors import LatexError
from bilevel_verify.installation import theory_directory
from bilevel_verify.latex import Notation, read_latex

NOT_SCALAR = re.compile(
    r"\\times_|\\circ|\\nabla[^ ]*\^\{?3|\\mathcal\{X\}|\\in(?![a-z])|\\mathbb|\\cup"
    r"|\\text\{(?!(and|where|for|if|s\.t\.|otherwise)\b)"
    r"|\\mid|\\operatorname\*?\{(arg|\\arg)|\\arg|\\underset|\\textit|\\succeq"
)
"""Tensors, sets, minimisers and orders of matrices, words."""


def notation(key: str) -> Notation:
    """The shipped notation of a paper."""
    return Notation.from_table(tomllib.loads((theory_directory() / "notation" / f"{key}.toml").read_text("utf8")), key)


def main(directory: Path) -> None:
    """Print the table."""
    total: Counter[tuple[str, str]] = Counter()
    scalar: Counter[str] = Counter()
    seconds = 0.0
    for path in sorted(directory.glob("*.toml")):
        declared, found = notation(path.stem), Counter[tuple[str, str]]()
        for entry in tomllib.loads(path.read_text("utf8"))["display"]:
            start = time.process_time()
            try:
                reading = read_latex(entry["latex"], declared)
                outcome = "read"
            except LatexError as error:
                outcome = error.reason
            seconds += time.process_time() - start
            found[entry["kind"], outcome] += 1
            if entry["kind"] == "display" and not NOT_SCALAR.search(entry["latex"]):
                scalar["read" if outcome == "read" else "not"] += 1
            if outcome == "read":
                kept = tuple(s for s in reading.statements if s.word != "label")
                assert read_latex(reading.latex(), declared).statements == kept, (path.stem, entry["n"])
        _row(path.stem, found)
        total += found
    _row("all", total)
    share = scalar["read"] / scalar.total()
    print(f"scalar displays: {scalar['read']} of {scalar.total()} ({share:.1%}); seconds of reading: {seconds:.1f}")


def _row(name: str, found: Counter[tuple[str, str]]) -> None:
    for kind in sorted({kind for kind, _ in found}):
        counts = {reason: n for (k, reason), n in found.items() if k == kind}
        whole, read = sum(counts.values()), counts.pop("read", 0)
        rest = ", ".join(f"{reason} {n}" for reason, n in sorted(counts.items()))
        print(f"{name:18} {kind:15} {read:5} of {whole:5} {read / whole:7.1%}   {rest}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
