"""Public signatures are pinned: a change here is a change for users and belongs into the changelog."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import bilevel_verify as bv

PINNED = Path(__file__).with_name("signatures.json")


def signature(value: Any) -> str:
    """Names, kinds and defaults of the parameters; annotations are left to the type checker."""
    if inspect.ismodule(value):
        return f"room: {' '.join(f'{name}({signature(getattr(value, name))})' for name in value.__all__)}"
    if inspect.isclass(value):
        ours = [base for base in value.__mro__ if base.__module__.startswith("bilevel_verify")]
        members = sorted({n for base in ours for n in vars(base) if not n.startswith("_")})
        return f"class: {' '.join(members)}"
    parameters = []
    for parameter in inspect.signature(value).parameters.values():
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        marker = "/" if parameter.kind is parameter.POSITIONAL_ONLY else ""
        keyword = "[kw] " if parameter.kind is parameter.KEYWORD_ONLY else ""
        parameters.append(f"{keyword}{star}{parameter.name}{marker}{default}")
    return ", ".join(parameters)


def current() -> dict[str, str]:
    """Signatures of everything that ``bilevel_verify`` offers."""
    return {name: signature(getattr(bv, name)) for name in bv.__all__ if name != "__version__"}


def test_signatures_are_those_pinned() -> None:
    pinned = json.loads(PINNED.read_text(encoding="utf8"))
    found = current()
    changed = {name: (pinned.get(name), found.get(name)) for name in pinned.keys() | found.keys()}
    changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
    assert not changed, f"public signatures changed; if that is meant, pin them anew: {changed}"
