"""Nested items of a formula's source: groups, fences, environments, macros with arguments, scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bilevel_verify.latex.source.tokens import Token


@dataclass(frozen=True, slots=True)
class Group:
    """``{...}`` that is an argument or carries a script."""

    items: tuple[Item, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Fence:
    """``\\left( ... \\right)``; ``left`` and ``right`` are delimiters, "." is none."""

    left: str
    right: str
    items: tuple[Item, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Environment:
    """``\\begin{name} ... \\end{name}``."""

    name: str
    items: tuple[Item, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A command with its arguments, and ``[optional]``."""

    name: str
    arguments: tuple[Group, ...]
    at: int
    option: Group | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """``_{...}``, ``^{...}`` or primes (``kind`` "'", as many as ``items``)."""

    kind: str
    items: tuple[Item, ...]
    at: int


Item = Token | Group | Fence | Environment | Macro | Script


def closing(items: Sequence[Item], start: int) -> int | None:
    """The place of the bracket that closes the one at ``start``, only its own kind counted; None if there is none."""
    first = items[start]
    opened = first.text if isinstance(first, Token) else ""
    depth = 0
    for place in range(start, len(items)):
        item = items[place]
        if isinstance(item, Token) and item.kind == "delimiter":
            depth += {opened: 1, {"(": ")", "[": "]"}.get(opened): -1}.get(item.text, 0)
            if depth == 0:
                return place
    return None


def opens(item: Item | None, brackets: str) -> bool:
    """Whether one of some brackets opens with an item, alone or as a fence."""
    text = item.left if isinstance(item, Fence) else item.text if isinstance(item, Token) else ""
    return text != "" and text in brackets
