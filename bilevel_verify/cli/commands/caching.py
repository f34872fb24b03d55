"""``cache``: the folder of compiled code."""

from __future__ import annotations

import argparse

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError


def cache_command(arguments: argparse.Namespace) -> int:
    """Say what the folder holds, after removing what was asked for."""
    from bilevel_verify.oracles.store import FOLDER_VARIABLE, LIMIT_VARIABLE, size_limit, store

    if arguments.clear and arguments.limit is not None:
        raise InputError("--clear and --limit: give one of them")
    megabyte = 1024 * 1024
    kept = store()
    if arguments.clear:
        found = kept.trim(0)
    elif arguments.limit is not None:
        found = kept.trim(arguments.limit * megabyte)
    else:
        found = kept.contents()
    if arguments.json:
        record = {"folder": found.folder and str(found.folder), "files": found.files, "bytes": found.size}
        output.print_json(record | {"removed": found.removed, "removed_bytes": found.removed_size})
    elif found.folder is None:
        output.line(f"no cache is kept; {FOLDER_VARIABLE} names a folder")
    else:
        removed = f"; removed {found.removed} ({found.removed_size / megabyte:.1f} MB)" if found.removed else ""
        limit = f"at most {size_limit() / megabyte:g} MB are kept ({LIMIT_VARIABLE})"
        output.line(f"{found.folder}: {found.files} files, {found.size / megabyte:.1f} MB{removed}; {limit}")
    return 0
