"""``bench``: the speed of the toolkit beside other ways to do the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError


def bench_command(arguments: Any) -> int:
    """Print the tables; missing a target is no error."""
    from bilevel_verify.benchmarks import as_text, run_benchmarks

    def progress(part: str) -> None:
        print(f"measuring: {part}", file=sys.stderr, flush=True)

    parts = arguments.only.replace(",", " ").split() if arguments.only else None
    sections = run_benchmarks(parts, arguments.quick, arguments.main_job, progress)
    text = as_text(sections)
    if arguments.out:
        path = Path(arguments.out)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}: choose another --out file") from None
    if arguments.json:
        output.print_json({"sections": [section.record() for section in sections]})
    else:
        print(text, end="")
    return 0
