"""No import circles inside the room, wherever in a module the import stands."""

from __future__ import annotations

import ast
from pathlib import Path

import bilevel_verify

ROOM = Path(bilevel_verify.__file__).parent / "oracles"


def imports() -> dict[str, set[str]]:
    """Module -> modules of the room that it imports."""
    found: dict[str, set[str]] = {}
    names = {path.stem for path in ROOM.glob("*.py")} - {"__init__"}
    for name in names:
        wanted: set[str] = set()
        for node in ast.walk(ast.parse((ROOM / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                if node.module == "bilevel_verify.oracles":
                    wanted |= {alias.name for alias in node.names} & names
                elif node.module.startswith("bilevel_verify.oracles."):
                    wanted.add(node.module.rpartition(".")[2])
        found[name] = wanted
    return found


def test_modules_of_the_room_have_an_order() -> None:
    left = imports()
    while left:
        free = [name for name, wanted in left.items() if not wanted & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]
