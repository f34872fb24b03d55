"""Certificates of numbers as files, and what is said of them: what they show beside what is certified."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

from bilevel_verify.certificates.finding import write
from bilevel_verify.certificates.numbers.constants import Shown
from bilevel_verify.constants.bound.constant import safe_decimal
from bilevel_verify.numbers.rounding import float_above, float_below


def write_certificates(problem: str, numbers: Iterable[Shown], folder: Path) -> dict[str, dict[str, object]]:
    """Write ``PROBLEM-NAME-SIDE-1.json`` and so on for each number that has certificates.

    Returns
    -------
    Name and side -> ``value`` (certified), ``shown`` (by the certificates; None without), ``files``, ``reason``.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    said: dict[str, dict[str, object]] = {}
    for one in numbers:
        stem = re.sub(r"\W+", "-", f"{problem}-{one.letter}-{one.side}").strip("-")
        texts = enumerate((certificate.text for certificate in one.certificates), start=1)
        files = [write(folder, f"{stem}-{place}.json", f"{text}\n") for place, text in texts]
        lower = one.side == "lower"
        shown = None if one.bound is None else (float_below if lower else float_above)(one.bound)
        record: dict[str, object] = {"value": one.value, "shown": shown, "files": files, "reason": one.reason}
        said[f"{one.letter} {'>=' if lower else '<='}"] = record
    return said


def lines_of(said: dict[str, dict[str, object]], folder: Path) -> list[str]:
    """What is said on a terminal, a line for each number."""
    lines = []
    for name, record in said.items():
        files, shown = record["files"], record["value" if record["shown"] is None else "shown"]
        assert isinstance(files, list)
        assert isinstance(shown, float)
        count = f"{len(files)} file{'s' * (len(files) > 1)}" if files else f"no certificate ({record['reason']})"
        number = safe_decimal(shown, 9, down=">=" in name) if math.isfinite(shown) else shown
        lines.append(f"{name} {number}: {count}")
    return (
        [*lines, f"check them: python -m bilevel_check {folder}"] if any(r["files"] for r in said.values()) else lines
    )
