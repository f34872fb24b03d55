"""The API reference: every public name with its signature and docstring, as Markdown."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

HOMES = (
    ("bilevel_verify", "The front door: `import bilevel_verify as bv`."),
    ("bilevel_verify.plot", "Pictures: `bv.plot.NAME`."),
    ("bilevel_verify.campaign", "Grids of questions, their store, statistics over them."),
    ("bilevel_verify.testing", "For the test suites of solvers: strategies, assertions, relations."),
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MODULE = re.compile(r"<module '([^']+)' from '[^']*'>")
_QUOTED = re.compile(r"(: |-> )'([^']*)'")


def reference() -> str:
    """The whole reference; the same text on every machine."""
    lines = ["# API reference", "", "Made from the docstrings by `bilevel-verify list api`. Do not edit.", ""]
    for home, meaning in HOMES:
        module = importlib.import_module(home)
        names = sorted(n for n in module.__all__ if not n.startswith("__"))
        lines += [f"## {home}", "", meaning, ""]
        for name in names:
            lines += _entry(name, getattr(module, name))
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, thing: object) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    if callable(thing):
        yield from ("```text", f"{name}{_signature(thing)}", "```", "")
    yield from _documentation(thing)
    if inspect.isclass(thing):
        yield from _members(thing)


def _members(thing: type) -> Iterator[str]:
    own = [base for base in reversed(thing.__mro__) if base.__module__.startswith("bilevel_verify")]
    members = {name: member for base in own for name, member in vars(base).items()}
    for name, member in sorted(members.items()):
        if name.startswith("_") or not (callable(member) or isinstance(member, property | classmethod | staticmethod)):
            continue
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        summary = (inspect.getdoc(inner) or "").partition("\n\n")[0].replace("\n", " ")
        if summary:
            shown = name if isinstance(member, property) else f"{name}{_signature(inner)}"
            yield f"* `{shown}`: {summary}"
    yield ""


def _signature(thing: Any) -> str:
    try:
        text = _MODULE.sub(r"\1", _ADDRESS.sub("", str(inspect.signature(thing))))
        return _QUOTED.sub(r"\1\2", text)
    except (TypeError, ValueError):
        return "(...)"


def _documentation(thing: object) -> Iterator[str]:
    """The docstring; what is indented or underlined stays as it was written."""
    text = inspect.getdoc(thing) if callable(thing) or inspect.ismodule(thing) else None
    if not text:
        yield from ((f"A {type(thing).__name__}.", "") if not callable(thing) else ())
        return
    summary, _, rest = text.partition("\n\n")
    yield from (summary, "")
    if rest.strip():
        yield from ("```text", rest.rstrip(), "```", "")
