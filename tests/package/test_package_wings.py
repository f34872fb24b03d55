"""Wings of a room: each imports only from wings that do not import it, types and lazy imports included."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from package_trees import outline

import bilevel_verify as bv

PACKAGE = Path(bv.__file__).parent
ROOMS = ("truth", "constants", "checks", "theorems", "audit", "manuscript", "proofreading", "testing")
MOST = 24
"""Modules that a newcomer is asked to hold in the head at once: of one folder."""


def wings_of(folder: Path) -> dict[str, Path]:
    """Module names inside a room (``lower_level.newton``) and where they stand."""
    found = sorted(folder.rglob("*.py"))
    return {".".join(p.relative_to(folder).with_suffix("").parts): p for p in found if "__pycache__" not in p.parts}


def arrows(folder: Path, package: str) -> dict[str, set[str]]:
    """Wing -> wings it imports from; modules that stand in no wing are left out."""
    modules = wings_of(folder)
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        for node in outline(path).found:
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(f"{package}."):
                continue
            inside = str(node.module)[len(package) + 1 :]
            names = [inside] if inside in modules else [f"{inside}.{alias.name}" for alias in node.names]
            found[name.partition(".")[0]] |= {n.partition(".")[0] for n in names if n in modules and "." in n}
    return {wing: others - {wing} for wing, others in found.items() if (folder / wing).is_dir()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Wings that stand in a circle: what is left when floors are taken off from below."""
    left = dict(graph)
    while floor := [wing for wing, others in left.items() if not others & left.keys()]:
        for wing in floor:
            del left[wing]
    return sorted(left)


@pytest.mark.parametrize("room", ROOMS)
def test_wings_have_no_circles(room: str) -> None:
    assert circle(arrows(PACKAGE / room, f"bilevel_verify.{room}")) == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_wing_says_what_it_is_and_none_is_a_drawer(room: str) -> None:
    folders = [PACKAGE / room, *(p for p in sorted((PACKAGE / room).iterdir()) if (p / "__init__.py").is_file())]
    for folder in folders:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf8"))), folder
        modules = [p for p in folder.glob("*.py") if p.name != "__init__.py"]
        most = 30 if folder.name == "scalar" else MOST
        assert len(modules) <= most, f"{folder}: {len(modules)} modules in one folder"


def test_a_planted_circle_is_seen(tmp_path: Path) -> None:
    for wing, text in {"a": "from p.b.two import x", "b": "def f():\n    from p.a import one", "c": ""}.items():
        (tmp_path / wing).mkdir()
        (tmp_path / wing / ("two.py" if wing == "b" else "one.py")).write_text(text, encoding="utf8")
        (tmp_path / wing / "__init__.py").write_text("", encoding="utf8")
    assert circle(arrows(tmp_path, "p")) == ["a", "b"]
    (tmp_path / "b" / "two.py").write_text("from p.c import one", encoding="utf8")
    assert circle(arrows(tmp_path, "p")) == []


def test_the_picture_names_every_wing() -> None:
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf8")
    missing = [
        f"{room}/{wing.name}"
        for room in ROOMS
        for wing in sorted((PACKAGE / room).iterdir())
        if (wing / "__init__.py").is_file() and wing.name not in text
    ]
    assert not missing
