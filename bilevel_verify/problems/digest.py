"""A fingerprint of expressions that costs as much as reading each distinct subexpression once."""

from __future__ import annotations

import hashlib
from typing import Any

import sympy


def content_digest(expression: sympy.Expr) -> str:
    """SHA-256 of a SymPy expression by structure, each distinct subexpression once (``srepr`` of a dense quadratic in
    50 variables takes seconds)."""
    known: dict[Any, bytes] = {}
    stack = [expression]
    while stack:
        node = stack[-1]
        missing = [a for a in node.args if a not in known]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if node not in known:
            text = type(node).__qualname__ + ("" if node.args else f" {sympy.srepr(node)}")
            known[node] = hashlib.sha256(b"".join([text.encode(), *(known[a] for a in node.args)])).digest()
    return known[expression].hex()
