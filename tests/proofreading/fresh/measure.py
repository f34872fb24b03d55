"""Which small errors of a list are found: ``python measure.py LIST.toml FOLDER ...``, FOLDER holds the sources.

The sources of the five papers are not part of this repository; those of the corpus are in ``../corpus``. An error is
found where a finding appears that the source without it does not have; whether place and cause are right is read.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from functools import lru_cache
from pathlib import Path

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import Defect, proofread_draft

Told = tuple[str, str, str]


def told(text: str, name: str) -> dict[Told, Defect]:
    """Kind, title and statement of every finding of a source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return {(d.kind, d.title, d.unit): d for d in proofread_draft(draft(path)).defects}


@lru_cache
def unchanged(path: Path) -> frozenset[Told]:
    """The findings of a source as it is."""
    return frozenset(told(path.read_text(encoding="utf-8"), path.name))


def changed(text: str, mutant: dict[str, str]) -> str:
    """The source with one error: the first ``old`` behind the ``anchor`` becomes ``new``."""
    at = text.index(mutant["old"], text.index(mutant.get("anchor", "")))
    return text[:at] + mutant["new"] + text[at + len(mutant["old"]) :]


def main(listed: str, *folders: str) -> None:
    """Print what is found of every error whose source is there, and the share."""
    sources = {p.stem: p for f in folders for p in Path(f).iterdir() if p.suffix in (".md", ".tex")}
    found, drawn = 0, 0
    for mutant in tomllib.loads(Path(listed).read_text(encoding="utf-8"))["mutant"]:
        path = sources.get(mutant["source"])
        if path is None:
            continue
        new = told(changed(path.read_text(encoding="utf-8"), mutant), path.name)
        fresh = [d for key, d in new.items() if key not in unchanged(path)]
        drawn, found = drawn + 1, found + bool(fresh)
        print("found " if fresh else "missed", mutant["source"], mutant["kind"], mutant["what"], sep=" | ")
        for defect in fresh:
            print(f"        {defect.kind}: {defect.place}: {defect.title}")
    print(f"{found} of {drawn}")


if __name__ == "__main__":
    main(*sys.argv[1:])
