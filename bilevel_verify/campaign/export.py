"""The answers as one flat table: a line per verdict row, for other programs."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bilevel_verify.campaign.cell import canonical
from bilevel_verify.campaign.store import Store
from bilevel_verify.checks.verdicts.verdict import FIELD_NAMES
from bilevel_verify.errors import MissingExtraError

CELL_FIELDS = ("key", "eps", "x0", "seed_replicate", "cell_seconds")
COLUMNS = (*FIELD_NAMES, *CELL_FIELDS)
BATCH = 5000


def flat_rows(store: Store, keys: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
    """Every verdict row of every answer with the fields of its cell; nested values are JSON text."""
    for stored in store.cells(keys):
        cell = stored.cell
        own = {
            "key": stored.key,
            "eps": canonical(cell.get("eps", [])),
            "x0": canonical(cell["x0"]) if "x0" in cell else None,
            "seed_replicate": cell.get("replicate", 0),
            "cell_seconds": stored.seconds,
        }
        for row in stored.answer.get("rows", ()):
            values = {name: row.get(name) for name in FIELD_NAMES}
            yield {k: canonical(v) if isinstance(v, dict | list) else v for k, v in values.items()} | own


def export_csv(store: Store, path: str | Path, keys: Iterable[str] | None = None) -> int:
    """Write all rows as CSV (UTF-8, header line); returns the number of rows. The file appears only when complete."""
    count = 0
    partial = Path(f"{path}.partial")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for row in flat_rows(store, keys):
            writer.writerow({k: _harmless(v) for k, v in row.items()})
            count += 1
    os.replace(partial, path)
    return count


def export_parquet(store: Store, path: str | Path, keys: Iterable[str] | None = None) -> int:
    """Write all rows as Parquet; returns the number of rows.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'bilevel-verify[parquet]'") from None
    numbers = {"measured": float, "bound": float, "margin": float, "cell_seconds": float}
    kinds = {"places": pyarrow.int64(), "seed_replicate": pyarrow.int64()}
    kinds |= dict.fromkeys(numbers, pyarrow.float64()) | dict.fromkeys(("as_printed", "known_refuted"), pyarrow.bool_())
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    count = 0
    partial = Path(f"{path}.partial")
    with pyarrow.parquet.ParquetWriter(partial, schema) as writer:
        for batch in _batches(flat_rows(store, keys)):
            rows = [{k: float(v) if k in numbers and v is not None else v for k, v in row.items()} for row in batch]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    os.replace(partial, path)
    return count


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _harmless(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets a leading apostrophe."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "@", "\t", "\r") else value
