"""``bench``: the speed of the toolkit beside other ways to do the same."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError


def bench_command(arguments: argparse.Namespace) -> int:
    """Print the tables; missing a target is no error."""
    from bilevel_verify.benchmarks import PARTS, as_text, run_benchmarks

    parts = arguments.only.replace(",", " ").split() if arguments.only else list(PARTS)
    sections = run_benchmarks(parts[:0])
    run_benchmarks([part for part in parts if part not in PARTS])  # an unknown part is an error before anything runs
    for part in parts:
        print(f"measuring: {part}", file=sys.stderr, flush=True)
        sections += run_benchmarks([part], arguments.quick, arguments.main_job)[1:]
        if arguments.out:
            _write(Path(arguments.out), as_text(sections))
    if arguments.json:
        output.print_json({"sections": [section.record() for section in sections]})
    else:
        print(as_text(sections), end="")
    return 0


def _write(path: Path, text: str) -> None:
    """What is known so far: an interrupted run leaves its finished parts."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}: choose another --out file") from None
