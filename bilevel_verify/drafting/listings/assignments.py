"""What a line of a printed algorithm says: the range of a loop, a test, assignments."""

from __future__ import annotations

import re
from fractions import Fraction

from bilevel_verify.drafting.listings.lines import HOLE, MADE_OF, Line, NotUnderstood, Told, chain_of
from bilevel_verify.drafting.listings.obtained import obtained
from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.theorems import algorithm as script

DRAWN = frozenset({"distributed", "in"})
DRAWS = re.compile(
    r"\b(?:samples?|draws?|generates?|picks?|chooses?|observes?|receives?|let|updates?|computes?|finds?)\b[^.;]*\Z",
    re.I,
)
"""What has its value from these words, or from outside: it needs no relation."""
RANGES = frozenset({"<", "<=", ">", ">=", "in", "subset"})
RANGES_OVER = re.compile(r"\bfor(?: all| each| every)?\s*\Z", re.I)
SOLVES = re.compile(
    r"\bsolv(?:es?|ing)\b(?: the| a)?(?: [\w-]+)?(?: systems?| equations?)?(?: of equations)?\s*\Z", re.I
)
COMPARES = frozenset({"<", "<=", ">", ">=", "=="})


def range_of(line: Line) -> tuple[str, tree.Node, tree.Node]:
    """The letter of a ``for`` and its range, the end excluded."""
    formulas = line.formulas
    if not formulas:
        raise NotUnderstood(f"line {line.label}: a loop without a range")
    members = chain_of(formulas[0], line)[0].members
    if len(members) == 2 and isinstance(members[0], tree.Letter):
        letter, span = members[0].name, members[1]
        if isinstance(span, tree.Call) and span.function in ("list", "set") and len(span.arguments) > 1:
            last = span.arguments[-1]
            stop = tree.Letter("oo") if last == tree.Letter("dots") else plus_one(last)
            return letter, span.arguments[0], stop
        if len(formulas) > 1:
            return letter, span, plus_one(chain_of(formulas[1], line)[0].members[0])
    raise NotUnderstood(f"line {line.label}: the range of the loop cannot be told")


def plus_one(node: tree.Node) -> tree.Node:
    """``node + 1``, with ``K - 1 + 1`` as ``K``."""
    match node:
        case tree.Number(value=value):
            return tree.Number(value + 1)
        case tree.Add(terms=(*rest, tree.Negate(operand=tree.Number(value=value)))) if value == 1 and rest:
            return rest[0] if len(rest) == 1 else tree.Add(tuple(rest))
    return tree.Add((node, tree.Number(Fraction(1))))


DIVIDES, DIVIDED = re.compile(r"\s*divides\s*"), re.compile(r"\s*is (?:divisible by|a multiple of)\s*")


def _divides(parts: list[str | Told], line: Line) -> tree.Node | None:
    """``H divides t + 1`` and ``t + 1 is divisible by H`` in words."""
    for place in range(1, len(parts) - 1):
        one, said, other = parts[place - 1 : place + 2]
        if isinstance(said, str) and not isinstance(one, str) and not isinstance(other, str):
            if DIVIDED.fullmatch(said):
                one, other = other, one
            elif not DIVIDES.fullmatch(said):
                continue
            by, whole = (chain_of(part, line)[0].members[0] for part in (one, other))
            return tree.Compare((tree.Modulo(whole, by), tree.Number(Fraction(0))), ("==",))
    return None


def test_of(parts: list[str | Told], line: Line, loose: bool) -> tree.Node:
    """The condition of a test: comparisons with ``or`` and ``and`` between them; if ``loose``, ``a != b`` as two."""
    found: list[tree.Node] = []
    words: list[str] = []
    if (divided := _divides(parts, line)) is not None:
        return divided
    for part in parts:
        if isinstance(part, str):
            words += re.findall(r"\b(or|and)\b", part) if found else []
            continue
        for chain in chain_of(part, line):
            if loose and [r.word for r in chain.relations] == ["!="] and not chain.continues:
                found.append(tree.Logical("or", tuple(tree.Compare(chain.members, (sign,)) for sign in ("<", ">"))))
            elif chain.relations and {r.word for r in chain.relations} <= COMPARES and len(chain.members) > len(
                chain.relations
            ):  # fmt: skip
                found.append(tree.Compare(chain.members, tuple(r.word for r in chain.relations)))
                if chain.word in ("or", "and") and len(found) > 1:
                    words.append(chain.word)
    if not found or len(set(words)) > 1 or (len(found) > 1 and len(words) != len(found) - 1):
        raise NotUnderstood(f"line {line.label}: the test cannot be told")
    return found[0] if len(found) == 1 else tree.Logical(words[0], tuple(found))


def assigned(sentence: Told, line: Line, told: str = "") -> list[script.Statement]:
    """The assignments that a formula prints: ``a = b = value``; what is drawn from a set or distribution too.

    ``told`` are the words before it: what is sampled needs no relation.
    """
    found: list[script.Statement] = []
    drawn: list[script.Statement] = []
    for chain in chain_of(sentence, line):
        words = [r.word for r in chain.relations]
        sampled = DRAWS.search(told) is not None and words[:1] in ([], ["in"], ["distributed"])
        if (not words and not sampled) or chain.word in ("for", "if", "s.t.") or chain.continues:
            continue
        targets: list[tree.Letter | tree.Index] = []
        members = chain.members
        if words[-1:] == ["in"] and not sampled and _space(members[-1]):
            members, words = members[:-1], words[:-1]
        value = members[-1] if words else tree.Call("drawn", ())
        if words[:1] == ["distributed"]:
            value = tree.Call("drawn", (value,))
        for member, word in zip(members, words or ["in"], strict=False):
            if word not in EQUATES | DRAWN:
                break
            if word == "in" and not targets and not sampled and not _chosen(value):
                break
            targets += [t for t in targets_of(member) if t not in targets]
        if targets:
            made = _each(members, targets, value, line)
            early = words[:1] == ["distributed"] or sampled or chain.word == "where"
            (drawn if early else found).extend(made)
    return [*drawn, *found]


def _chosen(value: tree.Node) -> bool:
    """Whether a set is there to choose from: where something is smallest or largest."""
    return isinstance(value, tree.Call) and value.function in ("argmin", "argmax")


def _space(node: tree.Node) -> bool:
    """Whether a set is no more than where a letter lives: what it holds is not chosen from it."""
    return isinstance(node, tree.Letter) or (
        isinstance(node, tree.Call) and (node.function == "reals" or node.function.startswith("interval"))
    )


def _each(
    members: tuple[tree.Node, ...], targets: list[tree.Letter | tree.Index], value: tree.Node, line: Line
) -> list[script.Statement]:
    """One assignment; of several names at once one for each: ``(a, b) = (c, d)``, ``(a, b) = F(c)``."""
    if not isinstance(members[0], tree.Tuple) or len(members) != 2:
        return [script.Assign(tuple(targets), value, label=line.label)]
    items = tuple(value.children()) if isinstance(value, tree.Tuple) else ()
    if items and len(items) == len(targets):
        read = [tree.letters(item) for item in items]
        if any(_name(t) in later for n, t in enumerate(targets) for later in read[n + 1 :]):
            raise NotUnderstood(f"line {line.label}: names that are assigned at once are read there, too")
        values: list[tree.Node] = list(items)
    else:
        values = [tree.Call("item", (value, tree.Number(Fraction(n + 1)))) for n in range(len(targets))]
    return [script.Assign((t,), v, label=line.label) for t, v in zip(targets, values, strict=True)]


def _name(node: tree.Letter | tree.Index) -> str:
    return node.name if isinstance(node, tree.Letter) else node.base


def line_assignments(line: Line) -> list[script.Statement]:
    """The assignments of a line; what stands after ``where`` or ``with``, or is drawn, comes before what uses it."""
    first: list[script.Statement] = []
    then: list[script.Statement] = []
    told, said, behind, also = "", "", False, False
    for place, part in enumerate(line.parts):
        if isinstance(part, str):
            told, behind = part, behind or re.search(r"\b(?:where|with)\b", part) is not None
            said += f" {part}"
            continue
        if RANGES_OVER.search(told) and (span := _span(part, line)) is not None:
            then = _for_each(then, *span, line)
            continue
        drawn = any(r.word == "distributed" for chain in part.chains() for r in chain.relations)
        made = assigned(part, line, told)
        after = line.parts[place + 1] if place + 1 < len(line.parts) else ""
        also = obtained(said, after if isinstance(after, str) else "", also)
        if also and not made:
            made = _named(part, line)
        if not made and SOLVES.search(told):
            made = _solved(part, line)
        also = also or bool(made)
        said += f" {HOLE}"
        (first if drawn or behind else then).extend(made)
    return _in_order(first, then)


def _in_order(first: list[script.Statement], then: list[script.Statement]) -> list[script.Statement]:
    """What stands after ``where`` before what uses it, but behind what is drawn without it."""
    names = {_name(t) for s in first if isinstance(s, script.Assign) for t in s.targets}
    free = [
        s for s in then if isinstance(s, script.Assign) and _is_drawn(s.value) and not tree.letters(s.value) & names
    ]
    return [*free, *first, *(s for s in then if s not in free)]


def _is_drawn(value: tree.Node) -> bool:
    """Whether a value is no formula: drawn, or one of a set."""
    return isinstance(value, tree.Call) and value.function in ("drawn", "set")


def _span(sentence: Told, line: Line) -> tuple[str, tree.Node, tree.Node] | None:
    """The letter and range of ``for i = 1, ..., n`` behind an assignment."""
    try:
        return range_of(Line(line.label, "", [sentence]))
    except NotUnderstood:
        return None


def _for_each(
    made: list[script.Statement], letter: str, start: tree.Node, stop: tree.Node, line: Line
) -> list[script.Statement]:
    """The statements with those that have the letter in a loop over its range."""
    inside = [s for s in made if isinstance(s, script.Assign) and _has_letter(s, letter)]
    loop = script.For(letter, start, stop, tuple(inside), label=line.label)
    return [*(s for s in made if s not in inside), loop] if inside else made


def _has_letter(statement: script.Assign, letter: str) -> bool:
    names = tree.letters(tree.Tuple((statement.value, *statement.targets)))
    return any(letter in name.split("_") for name in names)  # v_0_i may be an entry of v


def _solved(sentence: Told, line: Line) -> list[script.Statement]:
    """What an equation that is solved gives: the last factor of its left side, ``p`` of ``H p = -g``."""
    found: list[script.Statement] = []
    for chain in chain_of(sentence, line):
        node = chain.members[0]
        if [r.word for r in chain.relations] != ["=="]:
            continue
        while isinstance(node, tree.MatrixMultiply | tree.Multiply):
            node = node.right if isinstance(node, tree.MatrixMultiply) else node.factors[-1]
        if isinstance(node, tree.Letter | tree.Index) and node != chain.members[0]:
            found.append(script.Assign((node,), tree.Call("drawn", ()), label=line.label))
    return found


def _named(sentence: Told, line: Line) -> list[script.Statement]:
    """What a formula names that words say is made: ``a``, ``(a, b)``, of a range the name in it (``0 < a <= 1``)."""
    found: list[script.Statement] = []
    for chain in chain_of(sentence, line):
        if chain.word in ("where", "for", "if", "s.t.") or chain.continues:
            continue
        if not chain.relations:
            targets = targets_of(chain.members[0]) if not isinstance(chain.members[0], tree.Call) else []
        elif {r.word for r in chain.relations} <= RANGES:
            targets = [m for m in chain.members if isinstance(m, tree.Letter | tree.Index)][:1]
        else:
            targets = []
        # "take N steps" makes no N: of what has no index, nobody asks which line makes it
        moving = [t for t in targets if isinstance(t, tree.Index) or "_" in t.name]
        found += [script.Assign((t,), tree.Call("drawn", ()), label=line.label) for t in moving]
    return found


def targets_of(node: tree.Node) -> list[tree.Letter | tree.Index]:
    if isinstance(node, tree.Letter | tree.Index):
        return [node]
    if isinstance(node, tree.Tuple) or (isinstance(node, tree.Call) and node.function == "list"):
        return [t for part in node.children() for t in targets_of(part)]
    if isinstance(node, tree.Call) and node.function == "component":  # x_{t,i}: of the vector that it is an entry of
        return targets_of(node.arguments[0])
    entry = value_entry(node) if isinstance(node, tree.Call) else None
    return [] if entry is None else [entry]


def value_entry(call: tree.Call) -> tree.Index | None:
    """The value of a function at entries as an entry: ``d(x[t])`` is ``d_at_x[t]``, ``d(x[t], k)`` none."""
    entries = [a for a in call.arguments if isinstance(a, tree.Index)]
    if not entries or len(entries) < len(call.arguments) or call.function == MADE_OF:
        return None
    indices = dict.fromkeys(i for entry in entries for i in entry.indices)
    return tree.Index("_".join([call.function, "at", *(entry.base for entry in entries)]), tuple(indices))
