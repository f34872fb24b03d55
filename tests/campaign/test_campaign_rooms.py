"""The key of an answer covers the source of every room that computes it."""

from __future__ import annotations

import ast
from pathlib import Path

import bilevel_verify
from bilevel_verify.campaign.fingerprint import ROOMS

PACKAGE = Path(bilevel_verify.__file__).parent
TEXTS = {"latex"}
"""Rooms that read and write displays, by which no number changes."""


def imported(room: str) -> set[str]:
    """Rooms (folders and modules) that the modules of a room import from, lazily too."""
    single = PACKAGE / f"{room}.py"
    found = set()
    for path in [single] if single.is_file() else sorted((PACKAGE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bilevel_verify."):
                found.add(str(node.module).split(".")[1])
    return found


def test_every_room_behind_the_checks_is_part_of_the_key():
    seen: set[str] = set()
    todo = ["checks", "solving"]
    while todo:
        room = todo.pop()
        if room not in seen:
            seen.add(room)
            todo += imported(room)
    folders = {room for room in seen if (PACKAGE / room).is_dir()}
    assert folders - TEXTS <= set(ROOMS)
