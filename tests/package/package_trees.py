"""Modules of ours as these tests read them: parsed once for all of them, without what stands inside of statements.

Imports, classes and functions stand in no expression: nine nodes of ten need not be visited, and are not kept.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Where statements stand inside of others, in the order of ``ast.walk``."""
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Outline(NamedTuple):
    """The imports, classes and functions of a module, wherever they stand, and the assignments at its top.

    Of the body of a function its first statement is left, which may be a docstring.
    """

    found: list[ast.AST]
    top: list[ast.stmt]


def outline(path: Path) -> Outline:
    """The outline of a file."""
    return outline_of(path.read_text(encoding="utf8"))


@cache
def outline_of(text: str) -> Outline:
    """The outline of a text."""
    tree = ast.parse(text)
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # it grows
        for name in BLOCKS:
            nodes += getattr(node, name, ())
    found = [node for node in nodes if isinstance(node, KEPT)]
    for node in found:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            del node.body[1:]
    return Outline(found, [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)])
