"""Names of variables, knobs and data arrays, and blocks such as ``"x1 x2"`` or ``"x{1..d}"``."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping

import sympy

from bilevel_verify import language
from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.to_sympy import to_sympy
from bilevel_verify.problems.vocabulary import CONSTANTS, KNOWN_FUNCTIONS

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
BLOCK = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\{\s*(\d+)\s*\.\.\s*([^{}]+)\}")
RESERVED = (
    frozenset(dir(builtins))
    | frozenset(keyword.kwlist)
    | KNOWN_FUNCTIONS
    | frozenset(CONSTANTS)
    | {"oo", "True", "False"}
)
MAXIMUM_BLOCK = 5_000


def check_name(name: str, what: str) -> str:
    """A plain name that means nothing else; Python builtins and dunder names are refused."""
    if not isinstance(name, str):
        raise ProblemError(f"the name of a {what} must be text, not {type(name).__name__}")
    if not PLAIN.match(name) or "__" in name:
        several = '; several at once are "y{1..3}"' if ".." in name else ""
        said = f"{name[:40]!r} is not a name for a {what}; use letters, digits and single underscores"
        raise ProblemError(said + several)
    if name in RESERVED:
        raise ProblemError(f"{name!r} is a reserved name; choose another for the {what}")
    return name


def block_names(value: object, block: str, knobs: Mapping[str, sympy.Expr]) -> tuple[str, ...]:
    """Names of one block from ``"x1 x2"``, ``"x{1..d}"``, a list of names, or symbols.

    Raises
    ------
    ProblemError : missing, empty, not a name, repeated.
    """
    if value is None:
        raise ProblemError(f'missing field {block!r}: name the variables, for example {block} = "{block}1 {block}2"')
    if isinstance(value, str):
        names = _from_text(value, block, knobs)
    elif isinstance(value, sympy.Symbol):
        names = [value.name]
    elif isinstance(value, Iterable) and not isinstance(value, Mapping | bytes) and getattr(value, "shape", 1) != ():
        names = [v.name if isinstance(v, sympy.Symbol) else v for v in value]
    else:
        said = f"{block} must be names of variables, not {type(value).__name__}"
        raise ProblemError(f'{said}; write {block} = "{block}1 {block}2"')
    if not names:
        raise ProblemError(f"{block} is empty; name at least one variable")
    for name in names:
        check_name(name, f"variable of {block}")
    twice = {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else set()
    if twice:
        raise ProblemError(f"{block} names {sorted(twice)[0]!r} twice")
    return tuple(names)


def _from_text(text: str, block: str, knobs: Mapping[str, sympy.Expr]) -> list[str]:
    if len(text) > 100_000:
        raise ProblemError(f"{block} is longer than 100000 characters")
    names: list[str] = []
    for part in re.split(r"[\s,]+(?![^{]*\})", text.strip()):
        match = BLOCK.fullmatch(part)
        if match is None:
            names += [part] if part else []
            continue
        first, last = int(match[2]) if len(match[2]) < 8 else MAXIMUM_BLOCK, _count(match[3], block, knobs)
        if not 0 <= last - first < MAXIMUM_BLOCK:
            raise ProblemError(f"{block}: the range in {part[:40]!r} must have 1 to {MAXIMUM_BLOCK} entries")
        names += [f"{match[1]}{i}" for i in range(first, last + 1)]
    return names


def _count(text: str, block: str, knobs: Mapping[str, sympy.Expr]) -> int:
    value = to_sympy(language.parse(text), knobs, text=text)
    if not value.is_Integer:
        raise ProblemError(f"{block}: the end of a range must be an integer, not {str(value)[:40]}")
    return int(value)
