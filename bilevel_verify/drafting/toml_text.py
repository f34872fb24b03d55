"""TOML as a person would write it: literal strings for LaTeX, one key a line, tables in the order of the paper."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def value(found: object) -> str:
    """A value on one line."""
    match found:
        case bool():
            return "true" if found else "false"
        case int() | float():
            return repr(found)
        case str():
            return string(found)
        case list() | tuple():
            return "[" + ", ".join(value(item) for item in found) + "]"
        case Mapping():
            inner = ", ".join(f"{key(name)} = {value(item)}" for name, item in found.items())
            return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"no TOML for {type(found).__name__}")


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if BARE.match(name) else string(name)


def string(text: str) -> str:
    """A string: as it stands between single quotes if that is possible, else with escapes."""
    text = "".join(" " if (ord(c) < 32 and c not in "\n\t") or ord(c) == 127 else c for c in text)
    if "\\" in text and "'" not in text and "\n" not in text and "\t" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def table(header: str, fields: Mapping[str, object], comment: str = "") -> str:
    """A table with its fields, one a line; a list of chain members is one a line too."""
    lines = [f"# {line}" for line in comment.splitlines()] + ([header] if header else [])
    for name, item in fields.items():
        if name == "chain" and isinstance(item, list) and len(item) > 2:
            inner = "".join(f"\n  {value(part)}," for part in item)
            lines.append(f"chain = [{inner}\n]")
        else:
            lines.append(f"{key(name)} = {value(item)}")
    return "\n".join(lines) + "\n"
