"""Which small errors of a list are found: ``python measure.py LIST.toml FOLDER ...``, FOLDER has the sources.

The sources of the five papers are not part of this repository; those of the corpus are in ``../corpus``. An error is
found where a finding appears that the source without it does not have; whether place and cause are right is read.
"""

from __future__ import annotations

import sys
import tomllib
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from incremental import Told, remembering, told


@lru_cache
def unchanged(path: Path) -> frozenset[Told]:
    """The findings of a source as it is."""
    return frozenset(told(path.read_text(encoding="utf-8"), path.name))


def changed(text: str, mutant: dict[str, str]) -> str:
    """The source with one error: the first ``old`` behind the ``anchor`` becomes ``new``."""
    at = text.index(mutant["old"], text.index(mutant.get("anchor", "")))
    return text[:at] + mutant["new"] + text[at + len(mutant["old"]) :]


def _sources(place: Path) -> list[Path]:
    """The sources of a folder, or one source."""
    return [p for p in place.iterdir() if p.suffix in (".md", ".tex")] if place.is_dir() else [place]


def main(listed: str, *folders: str) -> None:
    """Print what is found of every error whose source is there, and the share."""
    sources = {p.stem: p for f in folders for p in _sources(Path(f))}
    found, drawn = 0, 0
    listing = tomllib.loads(Path(listed).read_text(encoding="utf-8"))["mutant"]
    for mutant in sorted(listing, key=lambda m: m["source"]):
        path = sources.get(mutant["source"])
        if path is None:
            continue
        new = told(changed(path.read_text(encoding="utf-8"), mutant), path.name)
        fresh = [d for key, d in new.items() if key not in unchanged(path)]
        drawn, found = drawn + 1, found + bool(fresh)
        print("found" if fresh else "missed", mutant["source"], mutant["kind"], mutant["what"], sep=" | ", flush=True)
        for defect in fresh:
            print(f"        {defect.kind}: {defect.place}: {defect.title}")
    print(f"{found} of {drawn}")


if __name__ == "__main__":
    with remembering():
        main(*sys.argv[1:])
