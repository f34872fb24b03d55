"""Tokens to nested items: braces, environments, ``\\left ... \\right``, arguments and scripts are found here.

Fonts are written on the letters, spacing is gone, invisible braces are taken away where they only group the source
(``{\\bm{x}}_{t}``), so that the grammar sees what the reader of the page sees.
"""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro, Script
from bilevel_verify.latex.source.tokens import Source, Token


def build(source: Source, tokens: list[Token]) -> list[Item]:
    """Nested and cleaned items of a token list.

    Raises
    ------
    LatexError : unbalanced, nested too deeply, an argument or script that is missing.
    """
    return _Cleaner(source).clean(_nest(source, _without_null_pairs(tokens)), "")


def _without_null_pairs(tokens: list[Token]) -> list[Token]:
    """``\\right.`` at the end of a line with ``\\left.`` on a later one: the fence goes on over the line breaks."""
    gone: set[int] = set()
    for place in range(len(tokens)):
        if place not in gone and _is(tokens, place, "right") and _null(tokens, place + 1):
            ahead = _resumed(tokens, place + 2)
            if ahead is not None:
                gone |= {place, place + 1, ahead, ahead + 1}
    return [token for place, token in enumerate(tokens) if place not in gone]


def _resumed(tokens: list[Token], place: int) -> int | None:
    """Where ``\\left.`` goes on with a fence left by ``\\right.``, with a line break between them."""
    depth, rows = 0, 0
    while place < len(tokens):
        token = tokens[place]
        if _is(tokens, place, "left"):
            if depth == 0 and rows and _null(tokens, place + 1):
                return place
            depth += 1
        elif token.kind in ("open", "begin"):
            depth += 1
        elif token.kind in ("close", "end") or _is(tokens, place, "right"):
            depth -= 1
            if depth < 0:
                return None
        rows += token.kind == "row" and depth == 0
        place += 1
    return None


def _is(tokens: list[Token], place: int, name: str) -> bool:
    return place < len(tokens) and tokens[place].kind == "command" and tokens[place].text == name


def _null(tokens: list[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].kind == "mark" and tokens[place].text == "."


def _nest(source: Source, tokens: list[Token]) -> list[Item]:
    """Match braces, environments and ``\\left ... \\right`` with one explicit stack."""
    stack: list[tuple[Token, str, list[Item]]] = []
    items: list[Item] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        opener = _opener(token)
        if opener:
            name = token.text
            if opener == "left":
                name, place = _delimiter(source, tokens, place, token)
            stack.append((token, name, items))
            items = []
            if len(stack) > source.limits.depth:
                raise source.error("too large", f"nested deeper than {source.limits.depth} levels", token.at)
        elif token.kind in ("close", "end") or _is([token], 0, "right"):
            right = ""
            if token.kind == "command":
                right, place = _delimiter(source, tokens, place, token)
            if not stack:
                raise source.error("unbalanced", f"{_name(token)} closes what was never opened", token.at)
            start, name, outer = stack.pop()
            outer.append(_closed(source, start, name, items, token, right))
            items = outer
        else:
            items.append(token)
    if stack:
        raise source.error("unbalanced", f"{_name(stack[-1][0])} is not closed", stack[-1][0].at)
    return items


def _opener(token: Token) -> str:
    if token.kind in ("open", "begin"):
        return token.kind
    return "left" if token.kind == "command" and token.text == "left" else ""


def _name(token: Token) -> str:
    return {"open": "'{'", "close": "'}'"}.get(token.kind, f"\\{token.kind if token.kind != 'command' else token.text}")


def _delimiter(source: Source, tokens: list[Token], place: int, token: Token) -> tuple[str, int]:
    """The delimiter after ``\\left`` or ``\\right``."""
    if place < len(tokens):
        after = tokens[place]
        if after.kind == "delimiter" or (after.kind == "mark" and after.text in "./"):
            return after.text, place + 1
        if after.kind == "mark" and after.text in "<>":
            return {"<": "dot(", ">": "dot)"}[after.text], place + 1
    raise source.error("missing", f"\\{token.text} without a delimiter", token.at)


def _closed(source: Source, start: Token, name: str, items: list[Item], end: Token, right: str) -> Item:
    kind = {"open": "close", "begin": "end", "command": "command"}[start.kind]
    if kind != end.kind:
        message = f"{_name(end)} closes {_name(start)} of column {start.at + 1}"
        raise source.error("unbalanced", message, end.at)
    if start.kind == "open":
        return Group(tuple(items), start.at)
    if start.kind == "begin":
        if name != end.text:
            raise source.error("unbalanced", f"\\end{{{end.text}}} closes \\begin{{{name}}}", end.at)
        return Environment(name, tuple(items), start.at)
    return Fence(name, right, tuple(items), start.at)


class _Cleaner:
    """Arguments, fonts, scripts; one pass over each list, the next item decides what a brace is for."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def clean(self, items: list[Item] | tuple[Item, ...], font: str) -> list[Item]:
        """A list with arguments attached and spacing, empty and idle braces taken away."""
        out: list[Item] = []
        rest = list(items)
        place = 0
        while place < len(rest):
            item = rest[place]
            if isinstance(item, Token) and item.kind == "command" and item.text in symbols.SWITCHES:
                font = symbols.SWITCHES[item.text] if font != "mathrm" else font
                place += 1
                continue
            place = self._one(item, rest, place, font, out)
        return _operators(_upright(out))

    def _one(self, item: Item, rest: list[Item], place: int, font: str, out: list[Item]) -> int:
        """Clean one item, with what it takes of the items after it; returns the place after them."""
        if isinstance(item, Group):
            inner = self.clean(item.items, font)
            if self._carries(inner, rest, place):
                out.append(Group(tuple(inner), item.at))
            else:
                out += inner
            return place + 1
        if isinstance(item, Fence | Environment):
            inside = _without_columns(item) if isinstance(item, Environment) else item.items
            out.append(replace(item, items=tuple(self.clean(inside, font))))
            return place + 1
        if isinstance(item, Token) and item.kind == "mark" and item.text in "^_":
            group, place = self._argument(rest, place + 1, font if font == "mathrm" else "", item)
            if item.text == "^" and group.items and all(_prime(i) for i in group.items):
                out += [Script("'", (i,), item.at) for i in group.items]
            else:
                out.append(Script(item.text, group.items, item.at))
            return place
        if isinstance(item, Token) and item.kind == "command":
            return self._command(item, rest, place + 1, font, out)
        if isinstance(item, Token) and item.kind == "prime":
            out.append(Script("'", (item,), item.at))
        elif isinstance(item, Token):
            out.append(_token(item, font))
        else:
            out.append(item)
        return place + 1

    def _carries(self, inner: list[Item], rest: list[Item], place: int) -> bool:
        """A brace with several items that a script follows binds them; any other brace is idle."""
        after = rest[place + 1] if place + 1 < len(rest) else None
        scripted = isinstance(after, Token) and after.text in ("^", "_", "'") and after.kind in ("mark", "prime")
        return scripted and len(inner) != 1

    def _command(self, item: Token, rest: list[Item], place: int, font: str, out: list[Item]) -> int:
        name = item.text
        if name in symbols.DROPPED:
            _, place = self._argument(rest, place, font, item)
        elif name in symbols.FONTS:
            named = name == "mathit" and _is_name(rest[place : place + 1])
            group, place = self._argument(rest, place, "mathrm" if named else symbols.FONTS[name] or font, item)
            out += group.items
        elif name in symbols.ARGUMENTS:
            option = None
            if name == "sqrt":
                option, place = self._option(rest, place, font, item)
            arguments = []
            for _ in range(symbols.ARGUMENTS[name]):
                group, place = self._argument(rest, place, font, item)
                arguments.append(group)
            out += _stacked(self.source, Macro(name, tuple(arguments), item.at, option))
        elif name == "not":
            group, place = self._argument(rest, place, font, item)
            negated = {"=": "!=", "==": "!=", "in": "not in"}
            if len(group.items) != 1 or getattr(group.items[0], "text", "") not in negated:
                raise self.source.error("macro", r"\not before this sign", item.at)
            out.append(Token("relation", negated[group.items[0].text], item.at))  # type: ignore[union-attr]
        else:
            out.append(_token(item, font))
        return place

    def _option(self, rest: list[Item], place: int, font: str, owner: Token) -> tuple[Group | None, int]:
        """``[3]`` of ``\\sqrt[3]{x}``."""
        if not (place < len(rest) and isinstance(rest[place], Token) and getattr(rest[place], "text", "") == "["):
            return None, place
        for stop in range(place + 1, len(rest)):
            if getattr(rest[stop], "text", "") == "]":
                return Group(tuple(self.clean(rest[place + 1 : stop], font)), owner.at), stop + 1
        raise self.source.error("unbalanced", "'[' is not closed", owner.at)

    def _argument(self, rest: list[Item], place: int, font: str, owner: Token) -> tuple[Group, int]:
        """The argument of a command or script: a brace, or a single sign (one digit of a number)."""
        while place < len(rest) and isinstance(rest[place], Token) and rest[place].kind == "space":  # type: ignore[union-attr]
            place += 1
        if place >= len(rest) or isinstance(rest[place], Script):
            raise self.source.error("missing", f"nothing follows {owner.text!r}", owner.at)
        item = rest[place]
        if isinstance(item, Group):
            return Group(tuple(self.clean(item.items, font)), item.at), place + 1
        if isinstance(item, Token) and item.kind == "digits" and len(item.text) > 1:
            rest[place] = replace(item, text=item.text[1:], at=item.at + 1)
            return Group((replace(item, text=item.text[0]),), item.at), place
        if isinstance(item, Token) and (item.kind in ("row", "cell", "gap") or item.text in ("^", "_")):
            raise self.source.error("missing", f"nothing follows {owner.text!r}", owner.at)
        out: list[Item] = []
        place = self._one(item, rest, place, font, out)
        return Group(tuple(_operators(_upright(out))), item.at), place


def _without_columns(item: Environment) -> tuple[Item, ...]:
    """The inside of an array without its ``[position]`` and ``{columns}``."""
    items = item.items
    if item.name not in ("array", "alignedat", "alignat", "alignat*"):
        return items
    if items and isinstance(items[0], Token) and items[0].text == "[":
        close = next((p for p, i in enumerate(items) if isinstance(i, Token) and i.text == "]"), 0)
        items = items[close + 1 :]
    return items[1:] if items and isinstance(items[0], Group) else items


def _is_name(items: list[Item]) -> bool:
    """Whether an argument is one name of several letters: ``\\mathit{loss}``."""
    inside = items[0].items if items and isinstance(items[0], Group) else ()
    return len(inside) > 1 and all(isinstance(i, Token) and i.kind == "letter" for i in inside)


def _prime(item: Item) -> bool:
    return isinstance(item, Token) and item.kind == "command" and item.text == "prime"


def _token(token: Token, font: str) -> Token:
    """A single token with its font, or as the relation that it is."""
    if token.kind == "command":
        if token.text in symbols.RELATIONS:
            return Token("relation", symbols.RELATIONS[token.text], token.at)
        if token.text in symbols.CONNECTIVES:
            return Token("connective", symbols.CONNECTIVES[token.text], token.at)
        if token.text in symbols.GREEK:
            return replace(token, kind="letter", text="\\" + token.text, font="" if font == "mathrm" else font)
    if token.kind == "mark" and token.text in symbols.RELATIONS:
        return Token("relation", symbols.RELATIONS[token.text], token.at)
    if token.kind in ("letter", "digits") and font:
        return replace(token, font=font)
    return token


def _stacked(source: Source, macro: Macro) -> list[Item]:
    """``\\overset{(a)}{\\le}`` is a relation with a label, ``\\underset{x}{\\arg\\min}`` an operator with its range."""
    if macro.name in ("overset", "stackrel"):
        label, sign = macro.arguments
        if len(sign.items) == 1 and isinstance(sign.items[0], Token) and sign.items[0].kind == "relation":
            return [replace(sign.items[0], label=flat(label.items), at=macro.at)]
        raise source.error("syntax", f"\\{macro.name} over something that is not a relation", macro.at)
    if macro.name == "underset":
        below, sign = macro.arguments
        if len(sign.items) == 1 and isinstance(sign.items[0], Token) and sign.items[0].kind == "relation":
            return [replace(sign.items[0], label=flat(below.items), at=macro.at)]
        if all(isinstance(i, Token) and i.kind == "letter" and i.font != "mathrm" for i in sign.items):
            raise source.error("syntax", "\\underset under a letter", macro.at)
        return [*sign.items, Script("_", below.items, macro.at)]
    return [macro]


def _upright(items: list[Item]) -> list[Item]:
    """Neighbouring upright letters are one word: ``{\\rm AGD}``; ``:`` and ``=`` side by side are a definition."""
    out: list[Item] = []
    for item in items:
        last = out[-1] if out else None
        if isinstance(item, Token) and isinstance(last, Token):
            if item.kind == "letter" and item.font == "mathrm" and last.kind == "word" and last.font == "mathrm":
                out[-1] = replace(last, text=last.text + item.text)
                continue
            if item.kind == "relation" and item.text == "==" and last.kind == "mark" and last.text == ":":
                out[-1] = replace(item, text=":=", at=last.at)
                continue
            if item.kind == last.kind == "relation" and item.text == "==" and item.at == last.at + 1:
                joined = {"<": "<=", ">": ">=", "==": "=="}.get(last.text)
                if joined and not last.label:
                    out[-1] = replace(last, text=joined)
                    continue
        if isinstance(item, Token) and item.kind == "letter" and item.font == "mathrm":
            item = replace(item, kind="word")
        out.append(item)
    return out


def _operators(items: list[Item]) -> list[Item]:
    """``\\arg\\min``, ``\\operatorname{argmin}`` and ``\\min`` as operators, ``\\log`` as an elementary function."""
    out: list[Item] = []
    for item in items:
        if isinstance(item, Token) and item.kind in ("command", "word"):
            name = item.text.replace(" ", "")
            last = out[-1] if out else None
            if name in ("min", "max") and isinstance(last, Token) and last.text in ("arg", "\\arg"):
                out[-1] = Token("operator", "arg" + name, last.at)
                continue
            if name in symbols.OPERATORS and (item.kind == "command" or name in symbols.NAMED_OPERATORS):
                item = Token("operator", symbols.OPERATORS[name], item.at)
            elif name in symbols.ELEMENTARY:
                item = Token("elementary", symbols.ELEMENTARY[name], item.at)
        out.append(item)
    return out


def flat(items: tuple[Item, ...] | list[Item]) -> str:
    """Items as one short string without spaces: labels, and subscripts that belong to a name."""
    out = []
    for item in items:
        match item:
            case Token(kind="space" | "gap" | "row" | "cell"):
                continue
            case Token(font=font) if font and font != "mathrm":
                out.append(f"\\{font}{{{item.text}}}")
            case Token(text=text):
                out.append(text)
            case Script(kind="'"):
                out.append("'")
            case Script():
                out.append(f"{item.kind}{{{flat(item.items)}}}")
            case Macro():
                out.append(f"\\{item.name}" + "".join(f"{{{flat(a.items)}}}" for a in item.arguments))
            case Fence():
                out.append(f"{item.left}{flat(item.items)}{item.right}")
            case _:
                out.append(flat(item.items))
    return "".join(out)
