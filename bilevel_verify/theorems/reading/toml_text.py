"""TOML as a person would write it: literal strings for LaTeX, one key a line, long values in several lines.

A line has at most :data:`WIDTH` signs where a value can go on in the next one: a list behind a comma, words at a blank
(``\"\"\"`` with a backslash at the end of the line), and a display, between ``'''``, before a relation or another sign.
The reader of cards takes the lines of a display together (``short.joined``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bilevel_verify.theorems.reading.from_print import DISPLAYS

WIDTH = 160
BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
ONE_EACH = frozenset({"chain", *DISPLAYS})
"""Lists that stand with one member a line where they do not fit into one."""
STEPS = "steps"
"""A text that stands line for line, as it is."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
RELATION = re.compile(r"\\(?:leq?|geq?|overset|stackrel|(?:q?q)?quad|[RL]?(?:long)?rightarrow)(?![A-Za-z])|[=<>]|&")
SIZED = re.compile(r"(?:\\(?:left|right|[bB]igg?[lrm]?)|[_^])\Z")


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
    text = _clean(text)
    if "\\" in text and "\n" not in text and "\t" not in text:
        if "'" not in text:
            return f"'{text}'"
        if _literal(text):
            return f"'''{text}'''"
    return json.dumps(text, ensure_ascii=False)


def table(header: str, fields: Mapping[str, object], comment: str = "") -> str:
    """A table with its fields, one a line where it fits."""
    lines = [f"# {line}" for line in comment.splitlines()] + ([header] if header else [])
    for name, item in fields.items():
        if name in DISPLAYS and isinstance(item, Mapping):
            lines += [field(f"{name}.{key(place)}", display, name) for place, display in item.items()]
        elif name == "given" and isinstance(item, Mapping) and len(item) > 1 and not _fits(name, item):
            lines += [field(f"{name}.{key(place)}", texts, name) for place, texts in item.items()]
        else:
            lines.append(field(key(name), item, name))
    return "\n".join(lines) + "\n"


def field(name: str, item: object, kind: str = "") -> str:
    """``name = value``, with a value that goes on in the next lines where it has to."""
    head = f"{name} = "
    if kind == STEPS and isinstance(item, str) and "\n" in item and not re.search(r'\\|"""', item):
        return f'{head}"""\n{item}"""'
    return head + wrapped(item, len(head), 2, kind)


def wrapped(item: object, column: int, indent: int, kind: str = "") -> str:
    """A value that begins in a column; its next lines begin at ``indent``."""
    short = value(item)
    if column + len(short) <= WIDTH:
        return short
    if isinstance(item, str):
        text = _clean(item)
        return _display(text, column, indent) if kind in DISPLAYS and _literal(text) else _words(text, column, indent)
    if isinstance(item, list | tuple) and item:
        return _list(item, column, indent, kind)
    if isinstance(item, Mapping):
        found = "{ "
        for number, (name, inner) in enumerate(item.items()):
            found += f"{', ' if number else ''}{key(name)} = "
            line = found.rsplit("\n", 1)
            found += wrapped(inner, len(line[-1]) + (column if len(line) == 1 else 0), indent, name)
        return found + " }"
    return short


def _fits(name: str, item: object) -> bool:
    return len(name) + 3 + len(value(item)) <= WIDTH


def _list(items: list[object] | tuple[object, ...], column: int, indent: int, kind: str) -> str:
    """Members behind each other, those of :data:`ONE_EACH` below each other; an empty one takes no line."""
    start = column + 1 if column < 40 else indent
    found, at = "[", column + 1
    for number, item in enumerate(items):
        whole = value(item)
        below = number > 0 and (kind in ONE_EACH or isinstance(item, Mapping)) and items[number - 1] != ""
        if (number or start != at) and (below or at + len(whole) + 2 > WIDTH):
            found, at = f"{found.rstrip(' ')}\n{' ' * start}", start
        text = wrapped(item, at, start + 2, kind) + (", " if number < len(items) - 1 else "")
        found += text
        at = at + len(text) if "\n" not in text else len(text.rsplit("\n", 1)[1])
    return f"{found}]"


def _words(text: str, column: int, indent: int) -> str:
    """A text cut at blanks; one without blanks in the right places stays in one line."""
    lines, line, room = [], "", WIDTH - column - 4
    for word in re.findall(r"\S* ?|\s", json.dumps(text, ensure_ascii=False)[1:-1]):
        if line.endswith(" ") and word.strip() and len(line) + len(word) > room:
            lines.append(line)
            line, room = "", WIDTH - indent - 1
        line += word
    between = "\\\n" + " " * indent
    return f'"""{between.join([*lines, line])}"""' if lines else json.dumps(text, ensure_ascii=False)


def _display(text: str, column: int, indent: int) -> str:
    """A display cut before its relations and signs; the first line is empty where it begins far to the right."""
    lines, rest, room = [], text, WIDTH - column - 3
    if column > 60 and text == text.strip():
        lines, room = [""], WIDTH - indent
    while len(rest) + 3 > room and (cut := _cut(rest, room)):
        lines.append(rest[:cut])
        rest, room = rest[cut:], WIDTH - indent
    between = "\n" + " " * indent
    return f"'''{between.join([*lines, rest])}'''"


def _cut(text: str, room: int) -> int:
    """The best place within ``room`` signs to cut a display, else the first one behind; 0 if there is none."""
    places = _places(text[: 2 * room]) or _places(text)
    inside = [(rank, -at) for rank, at in places if at <= room]
    wide = [pair for pair in inside if -pair[1] >= 0.45 * room] or inside
    return -min(wide)[1] if wide else min((at for _, at in places), default=0)


def _places(text: str) -> list[tuple[int, int]]:
    """Where a display may be cut, with a rank: before relations, then signs, then commands, outer ones first.

    The reader takes blanks at the ends of lines away, so there is no place beside one.
    """
    found, depth, at = [], 0, 0
    for token in TOKEN.findall(text):
        before = text[at - 1 : at]
        kept = before.strip() and token.strip() and not (before.isalnum() and token.isalnum())
        free = kept and not SIZED.search(text[max(at - 8, 0) : at])
        if free and depth == 0 and RELATION.match(text, at):
            found.append((0, at))
        elif free and token in ("+", "-") and before not in "{(=,":
            found.append((1 + 3 * depth, at))
        elif free and len(token) > 2 and token not in ("\\right", "\\end"):
            found.append((3 + 3 * depth, at))
        depth += (token == "{") - (token == "}")
        at += len(token)
    return found


def _literal(text: str) -> bool:
    """Whether a text can stand between ``'''``."""
    return "\\" in text and "'''" not in text and not text.endswith("'") and "\n" not in text and "\t" not in text


def _clean(text: str) -> str:
    return CONTROL.sub(" ", text)
