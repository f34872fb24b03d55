"""The answers as two flat tables, a line per verdict row and a line per run, for other programs."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.campaign.cell import canonical
from bilevel_verify.campaign.statistics import oracle_calls
from bilevel_verify.campaign.store import Store
from bilevel_verify.checks.verdicts.columns import FIELDS, Kind
from bilevel_verify.errors import MissingExtraError

if TYPE_CHECKING:
    from bilevel_verify.campaign.store import StoredCell

CELL_FIELDS = ("key", "eps", "x0", "seed_replicate", "cell_seconds")
COLUMNS = (*FIELDS, *CELL_FIELDS)
KINDS = ("grad_f", "grad_g", "hvp_yy_g", "jvp_xy_g", "hess_f", "hess_g", "value_f", "value_g")
RUN_COLUMNS = (
    *("key", "problem", "method", "statement", "eps", "x0", "seed_replicate", "knobs", "given", "status"),
    *("iterations", "epochs", "calls", *KINDS, "counts", "x", "note", "cell_seconds"),
)
_CELL_KINDS: dict[str, Kind] = {"seed_replicate": "count", "cell_seconds": "number"}
_RUN_KINDS: dict[str, Kind] = {"eps": "number", **dict.fromkeys(("iterations", "epochs", "calls", *KINDS), "count")}
Line = dict[str, object]
"""A line of a table: column -> text, number, flag, or None."""
BATCH = 5000


def flat_rows(store: Store, keys: Iterable[str] | None = None) -> Iterator[Line]:
    """Every verdict row of every answer with the fields of its cell; nested values are JSON text."""
    for stored in store.cells(keys):
        own = {"eps": canonical(stored.cell.get("eps", [])), **_cell_fields(stored)}
        for row in stored.answer.get("rows", ()):
            values = {name: row.get(name) for name in FIELDS}
            yield {k: canonical(v) if isinstance(v, dict | list) else v for k, v in values.items()} | own


def flat_runs(store: Store, keys: Iterable[str] | None = None) -> Iterator[Line]:
    """Every run of every answer: how it ended and what it cost; ``pandas.DataFrame(flat_runs(store))`` is a table.

    ``calls`` are those of all kinds but stopping tests; ``cell_seconds`` is the time of the whole cell.
    """
    for stored in store.cells(keys):
        own = _cell_fields(stored) | {
            "statement": stored.cell.get("statement") or stored.cell.get("card"),
            "knobs": canonical(stored.cell.get("knobs") or {}),
            "given": canonical(stored.cell.get("parameters") or {}),
        }
        for run in stored.answer.get("runs", ()):
            counts = run["counts"]
            line = {
                name: run.get(name) for name in ("problem", "method", "eps", "status", "iterations", "epochs", "note")
            }
            line |= {"calls": oracle_calls(counts), **{kind: counts.get(kind, 0) for kind in KINDS}}
            line |= {"counts": canonical(counts), "x": canonical(run["x"])} | own
            yield {name: line[name] for name in RUN_COLUMNS}


def _cell_fields(stored: StoredCell) -> Line:
    cell = stored.cell
    x0 = canonical(cell["x0"]) if "x0" in cell else None
    return {"key": stored.key, "x0": x0, "seed_replicate": cell.get("replicate", 0), "cell_seconds": stored.seconds}


def export_csv(store: Store, path: str | Path, keys: Iterable[str] | None = None) -> int:
    """Write all rows as CSV (UTF-8, header line); returns the number of rows. The file appears only when complete."""
    return _write_csv(flat_rows(store, keys), COLUMNS, path)


def export_runs_csv(store: Store, path: str | Path, keys: Iterable[str] | None = None) -> int:
    """Write all runs as CSV, as :func:`export_csv` does the rows."""
    return _write_csv(flat_runs(store, keys), RUN_COLUMNS, path)


def _write_csv(lines: Iterator[Line], columns: Sequence[str], path: str | Path) -> int:
    count = 0
    partial = Path(f"{path}.partial")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        for line in lines:
            writer.writerow({k: _harmless(v) for k, v in line.items()})
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
    return _write_parquet(flat_rows(store, keys), COLUMNS, path)


def export_runs_parquet(store: Store, path: str | Path, keys: Iterable[str] | None = None) -> int:
    """Write all runs as Parquet, as :func:`export_parquet` does the rows."""
    return _write_parquet(flat_runs(store, keys), RUN_COLUMNS, path)


def _write_parquet(lines: Iterator[Line], columns: Sequence[str], path: str | Path) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'bilevel-verify[parquet]'") from None
    kinds = {name: column.kind for name, column in FIELDS.items()} | _CELL_KINDS
    if columns is RUN_COLUMNS:
        kinds |= _RUN_KINDS
    types = {"number": pyarrow.float64(), "count": pyarrow.int64(), "flag": pyarrow.bool_()}
    numbers = {name for name in columns if kinds.get(name) == "number"}
    schema = pyarrow.schema([(name, types.get(kinds.get(name, "text"), pyarrow.string())) for name in columns])
    count = 0
    partial = Path(f"{path}.partial")
    with pyarrow.parquet.ParquetWriter(partial, schema) as writer:
        for batch in _batches(lines):
            rows = [{k: _number(v) if k in numbers else v for k, v in row.items()} for row in batch]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    os.replace(partial, path)
    return count


def _batches(rows: Iterator[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _number(value: object) -> object:
    return float(value) if isinstance(value, str | int | float) else value


def _harmless(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets a leading apostrophe."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "@", "\t", "\r") else value
