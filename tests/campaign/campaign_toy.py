"""Cells whose work is known in advance: for the tests of store, pool and resume (imported by worker processes)."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

from bilevel_verify.campaign import Campaign, Cell, Limits

BAD = 1_000_000


def campaign(folder: Path, count: int, limits: Limits | None = None) -> Campaign:
    """``count`` cells on two made-up problem files."""
    paths = []
    for name in ("first", "second"):
        path = folder / f"{name}.toml"
        if not path.exists():
            path.write_text(f'kind = "single_level"\nf = "x1**2"\nx = "x1"\nname = "{name}"\n')
        paths.append(str(path))
    cells = tuple(Cell(kind="solve", problem=paths[i % 2], replicate=i) for i in range(count))
    return Campaign(cells, name="toy", limits=limits or Limits())


def rows_of(cell: Cell) -> list[dict[str, Any]]:
    """The rows that the work produces, computable without doing it."""
    value = int(hashlib.sha256(str(cell.seed).encode()).hexdigest()[:8], 16) / 2**32
    texts = dict.fromkeys(("source", "method", "left", "right", "where", "reproduce", "reading", "printed"))
    verdict = {"verdict": "holds", "reason": None} if value < 0.9 else {"verdict": "undecided", "reason": "budget"}
    names = {"paper": "toy", "statement": "theorem-1", "claim": "size", "problem": Path(cell.problem or "").stem}
    numbers = {"measured": value, "bound": 1.0, "margin": 1.0 - value, "places": None, "kind": "run"}
    flags = {"certainty": "computed", "as_printed": True, "known_refuted": False, "details": {}}
    return [texts | verdict | names | numbers | flags]


def work(cell: Cell) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Answer a cell; the environment adds sleep, and replicates above ``BAD`` misbehave on purpose."""
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    if cell.replicate == BAD + 1:
        time.sleep(60)
    if cell.replicate == BAD + 2:
        hoard = [b"x" * (2**20 + i) for i in range(4000)]
        time.sleep(float(len(hoard)))
    if cell.replicate == BAD + 3:
        os._exit(7)
    if cell.replicate == BAD + 4:
        raise ValueError("two\nlines")
    if cell.replicate == BAD + 5 and not (flag := Path(os.environ["TOY_FLAG"])).exists():
        flag.touch()
        os.kill(os.getpid(), 9)
    shared = {"kind": "problem", "problem": cell.problem}
    print("noise on stdout must not disturb the protocol")
    return {"verdict": "holds", "rows": rows_of(cell)}, [shared]
