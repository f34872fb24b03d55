"""Trees back to LaTeX with the symbols of a notation, such that reading the echo gives the same trees.

Made from the trees alone. More brackets than a paper prints, and a dot where a letter before a bracket could be taken
for a function: the echo is there to be unmistakable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bilevel_verify.language import letter_latex, tree
from bilevel_verify.language.latex import ATOM, CONDITION, POWER, PRODUCT, SUM, Echo
from bilevel_verify.latex.grammar.binding import bound_by, free_letters, open_factor
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.latex.notation import Entry, Notation
from bilevel_verify.latex.source.symbols import ELEMENTARY_LATEX, RELATION_LATEX
from bilevel_verify.latex.statements import Statement

BIG = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min", "sup": r"\sup", "inf": r"\inf",
       "argmin": r"\arg\min", "argmax": r"\arg\max"}  # fmt: skip
FENCES = {"abs": (r"\left|", r"\right|"), "count": (r"\left|", r"\right|"), "floor": (r"\lfloor ", r"\rfloor "),
          "ceil": (r"\lceil ", r"\rceil "), "dot": (r"\left\langle ", r"\right\rangle ")}  # fmt: skip
INTERVALS = {"interval_open": "()", "interval_closed": "[]", "interval_closed_open": "[)", "interval_open_closed": "(]"}
WORDS = {"for": r"\text{for } ", "if": r"\text{if } ", "for some": r"\text{for some } ", "where": r"\text{where } ",
         "and": r"\text{and } ", "or": r"\text{or } ", "s.t.": r"\text{s.t. } ", "iff": r"\Leftrightarrow ",
         "implies": r"\Rightarrow ", "otherwise": r"\text{otherwise } ", "label": "", "": ""}  # fmt: skip


class PaperEcho(Echo):
    """The echo of the language with the symbols of a paper, its iterates, derivatives, sets and matrices."""

    def __init__(self, notation: Notation, displays: Mapping[str, str]) -> None:
        super().__init__({**displays})
        self.notation = notation
        self.norms = {name: index for index, name in notation.norms.items() if index} | {"norm": ""}

    def entry(self, name: str, *roles: str) -> Entry | None:
        """The declaration of a name in one of the roles."""
        for role in roles:
            found = self.notation.by_name.get((name, role))
            if found is not None:
                return found
        return None

    def symbol(self, name: str, *roles: str) -> str:
        """A name as the paper prints it."""
        found = self.entry(name, *roles)
        if found is not None:
            return found.atom.latex()
        return self.display.get(name) or letter_latex(name)

    def _plain(self, node: tree.Node) -> tuple[str, int]:
        match node:
            case tree.Letter(name="_"):
                return r"\cdot", ATOM
            case tree.Letter(name="dots"):
                return r"\dots", ATOM
            case tree.Letter(name="oo"):
                return r"\infty", ATOM
            case tree.Letter(name="E") if self.entry("E", "letter") is None and "E" not in self.display:
                return r"\mathrm{e}", ATOM
            case tree.Letter(name=name):
                return self._letter(name)
            case tree.Number(value=value):
                return _decimal(value.numerator, value.denominator), ATOM
            case tree.Index():
                return self._index(node)
            case tree.Negate(operand=inner):
                return f"-{self.of(inner, PRODUCT)}", SUM
            case tree.MatrixMultiply(left=left, right=right):
                own = PRODUCT if isinstance(left, tree.MatrixMultiply) else POWER
                return rf"{self.factor(left, own)}\,{self.factor(right, POWER)}", PRODUCT
            case tree.Divide(numerator=top, denominator=bottom):
                return rf"\frac{{{self.of(top, CONDITION)}}}{{{self.of(bottom, CONDITION)}}}", POWER
            case tree.Modulo(left=left, right=right):
                return rf"{self.factor(left, POWER)} \bmod {self.factor(right, POWER)}", PRODUCT
        return super()._plain(node)

    def _letter(self, name: str) -> tuple[str, int]:
        found = split_name(name, self.notation.functions)
        if found is not None and self.entry(name, "letter", "sequence", "function") is None:
            nabla, function = found
            return f"{_nabla(nabla.accent, nabla.order, nabla.blocks)} {self.symbol(function, 'function')}", ATOM
        return self.symbol(name, "letter", "sequence", "function"), ATOM

    def _index(self, node: tree.Index) -> tuple[str, int]:
        """An entry of a sequence, its indices where the paper puts them."""
        found = self.entry(node.base, "sequence", "function")
        symbol = self.symbol(node.base, "sequence", "letter", "function")
        texts = [self.of(i, SUM) for i in node.indices]
        if found is not None and "split" in found.flags and len(texts) > 1:
            return f"{symbol}_{{{''.join(texts)}}}", ATOM
        if found is None or "upper" not in found.flags:
            return f"{symbol}_{{{','.join(texts)}}}", ATOM
        apart = 1 if found.flags & {"lower-component", "upper-component"} and len(texts) > 1 else 0
        first, last = texts[: len(texts) - apart], texts[len(texts) - apart :]
        upper, lower = (last, first) if "upper-component" in found.flags else (first, last)
        bare = found.atom.symbol + "'" * found.atom.primes
        below = f"_{{{','.join(lower)}}}" if lower else ""
        above = ",".join(upper)
        return f"{bare}{below}" + (f"^{{{above}}}" if above else ""), ATOM

    def factor(self, node: tree.Node, level: int) -> str:
        """A factor that others may follow: operators with an open end are bracketed."""
        return self.of(node, CONDITION + 100) if _open_ended(node) else self.of(node, level)

    def _product(self, factors: tuple[tree.Node, ...]) -> str:
        text = ""
        for place, factor in enumerate(factors):
            last = place == len(factors) - 1
            free = last and isinstance(factor, tree.MatrixMultiply)
            plain = last and _open_ended(factor)
            part = self.of(factor, PRODUCT if free or plain else POWER) if last else self.factor(factor, POWER)
            dotted = part[:1].isdigit() or (place > 0 and part.startswith((r"\left(", r"\left[")))
            text += ("" if not place else r" \cdot " if dotted else r"\,") + part
        return text

    def _sum(self, terms: tuple[tree.Node, ...]) -> str:
        parts = []
        for place, term in enumerate(terms):
            negative = isinstance(term, tree.Negate)
            inner = term.operand if isinstance(term, tree.Negate) else term
            later = frozenset().union(*(free_letters(t) for t in terms[place + 1 :]))
            last = place == len(terms) - 1
            caught = not last and _caught(
                inner, later, wide=bool(self.notation.options.keys() & {"open_sums", "open_minima"})
            )
            caught = caught or (isinstance(inner, tree.Modulo) and (negative or place > 0))
            text = self.of(inner, CONDITION + 100 if caught else PRODUCT)
            parts.append(f"- {text}" if negative else f"+ {text}" if place else text)
        return " ".join(parts)

    def _power(self, base: tree.Node, exponent: tree.Node) -> str:
        text = self.of(base, ATOM)
        scripted = isinstance(base, tree.Letter | tree.Index) and ("^" in text or "'" in text)
        called = isinstance(base, tree.Call) and base.function in ELEMENTARY_LATEX
        if scripted or called or isinstance(base, tree.Divide):
            text = rf"\left({self.of(base, CONDITION)}\right)"
        return f"{text}^{{{self.of(exponent, CONDITION)}}}"

    def _call(self, name: str, arguments: tuple[tree.Node, ...]) -> tuple[str, int]:
        call = tree.Call(name, arguments)
        if name in BIG and bound_by(call):
            return self._operator(name, arguments), PRODUCT
        special = getattr(self, f"_call_{name}", None)
        if special is not None:
            text: str = special(arguments)
            return text, ATOM
        inner = ", ".join(self.of(a, CONDITION) for a in arguments)
        if name in INTERVALS:
            left, right = INTERVALS[name][0], INTERVALS[name][1]
            return f"{left}{inner}{right}", ATOM
        if name in self.norms and self.entry(name, "function") is None:
            index = self.norms[name]
            return rf"\left\|{inner}\right\|" + (f"_{{{index}}}" if index else ""), ATOM
        if name in FENCES:
            left, right = FENCES[name]
            return f"{left}{inner}{right}", ATOM
        if name in ("T", "inv", "component", "entry"):
            return self._scripted(name, arguments), POWER
        return self._applied(name, arguments), ATOM

    def _applied(self, name: str, arguments: tuple[tree.Node, ...]) -> str:
        """A function with its arguments; a derivative with its nabla; the index of a family below it."""
        found = split_name(name, self.notation.functions)
        nabla, function = "", name
        if found is not None and self.entry(name, "function") is None:
            nabla, function = f"{_nabla(found[0].accent, found[0].order, found[0].blocks)} ", found[1]
        entry = self.entry(function, "function")
        symbol = self.symbol(function, "function") if entry else self._plain_function(function)
        if entry is not None and entry.flags & {"first", "last"} and len(arguments) > 1:
            index = arguments[-1] if "last" in entry.flags else arguments[0]
            arguments = arguments[:-1] if "last" in entry.flags else arguments[1:]
            symbol = f"{symbol}_{{{self.of(index, CONDITION)}}}"
        inner = ", ".join(self.of(a, CONDITION) for a in arguments)
        return rf"{nabla}{symbol}\left({inner}\right)"

    def _plain_function(self, name: str) -> str:
        if name in ELEMENTARY_LATEX:
            return ELEMENTARY_LATEX[name]
        if name in ("max", "min"):
            return f"\\{name}"
        return self.display.get(name) or rf"\operatorname{{{name.replace('_', ' ')}}}"

    def _operator(self, name: str, arguments: tuple[tree.Node, ...]) -> str:
        """``\\sum_{i=a}^{b}``, ``\\min_{x \\in X}``, ``\\max_{a \\le i \\le b}``."""
        span = arguments[-1]
        assert isinstance(span, tree.Tuple)
        items = [self.of(i, CONDITION) for i in span.items]
        if len(items) == 3 and name in ("sum", "prod"):
            below = f"_{{{items[0]}={items[1]}}}^{{{items[2]}}}"
        elif len(items) == 3:
            below = rf"_{{{items[1]}\le {items[0]}\le {items[2]}}}"
        elif len(items) == 2:
            below = rf"_{{{items[0]}\in {items[1]}}}"
        else:
            below = f"_{{{items[0]}}}"
        loose = open_factor(name, arguments[0], bound_by(tree.Call(name, arguments)))
        return f"{BIG[name]}{below} {self.of(arguments[0], CONDITION + 100 if loose else PRODUCT)}"

    def _scripted(self, name: str, arguments: tuple[tree.Node, ...]) -> str:
        base = self.of(arguments[0], ATOM)
        if isinstance(arguments[0], tree.Letter | tree.Index) and "^" in base:
            base = rf"\left({base}\right)"
        if isinstance(arguments[0], tree.Divide):
            base = rf"\left({base}\right)"
        rest = ",".join(self.of(a, CONDITION) for a in arguments[1:])
        if name == "component" and _is_gradient(arguments[0], self.notation.functions):
            return self._gradient_component(arguments[0], rest)
        if name == "component":
            return rf"\left({self.of(arguments[0], CONDITION)}\right)^{{{rest}}}"
        if name == "entry":
            return rf"\left({self.of(arguments[0], CONDITION)}\right)_{{{rest}}}"
        return base + {"T": r"^{\top}", "inv": "^{-1}"}[name]

    def _gradient_component(self, node: tree.Node, index: str) -> str:
        assert isinstance(node, tree.Call)
        found = split_name(node.function, self.notation.functions)
        assert found is not None
        plain = self._applied(node.function, node.arguments)
        head = _nabla(found[0].accent, found[0].order, found[0].blocks)
        return f"{head}_{{{index}}}{plain.removeprefix(head)}"

    def _call_sqrt(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\sqrt{{{self.of(arguments[0], CONDITION)}}}"

    def _call_plus(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\left({self.of(arguments[0], CONDITION)}\right)_{{+}}"

    def _call_factorial(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\left({self.of(arguments[0], CONDITION)}\right)!"

    def _call_binomial(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\binom{{{self.of(arguments[0], CONDITION)}}}{{{self.of(arguments[1], CONDITION)}}}"

    def _call_mode(self, arguments: tuple[tree.Node, ...]) -> str:
        left, index, right = arguments
        chained = isinstance(left, tree.Call) and left.function == "mode"
        head = self.of(left, CONDITION) if chained else self.factor(left, POWER)
        return rf"\left({head} \times_{{{self.of(index, CONDITION)}}} {self.factor(right, POWER)}\right)"

    def _call_union(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\left({self.of(arguments[0], POWER)} \cup {self.of(arguments[1], POWER)}\right)"

    def _call_intersection(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\left({self.of(arguments[0], POWER)} \cap {self.of(arguments[1], POWER)}\right)"

    def _call_outer(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\left({self.factor(arguments[0], POWER)} \circ {self.factor(arguments[1], POWER)}\right)"

    def _call_integral(self, arguments: tuple[tree.Node, ...]) -> str:
        span = arguments[-1]
        assert isinstance(span, tree.Tuple)
        name, low, high = (self.of(i, CONDITION) for i in span.items)
        return rf"\left(\int_{{{low}}}^{{{high}}} {self.of(arguments[0], CONDITION)}\,\mathrm{{d}}{name}\right)"

    def _call_jacobian(self, arguments: tuple[tree.Node, ...]) -> str:
        top, below = (self.of(a, ATOM) for a in arguments)
        return rf"\frac{{\partial {top}}}{{\partial {below}}}"

    def _call_indicator(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\mathbf{{1}}_{{{self.of(arguments[0], CONDITION)}}}"

    def _call_matrix(self, arguments: tuple[tree.Node, ...]) -> str:
        rows = [row.items if isinstance(row, tree.Tuple) else (row,) for row in arguments]
        body = r" \\ ".join(" & ".join(self.of(i, CONDITION) for i in row) for row in rows)
        return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"

    def _call_Piecewise(self, arguments: tuple[tree.Node, ...]) -> str:
        rows = []
        for branch in arguments:
            assert isinstance(branch, tree.Tuple)
            value, test = branch.items
            said = r"\text{otherwise}" if isinstance(test, tree.Truth) else self.of(test, CONDITION)
            rows.append(rf"{self.of(value, CONDITION)} & {said}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def _call_reals(self, arguments: tuple[tree.Node, ...]) -> str:
        power = r"\times ".join(self.of(a, POWER) for a in arguments)
        return r"\mathbb{R}" + (f"^{{{power}}}" if power else "")

    def _call_set(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\{{{', '.join(self.of(a, CONDITION) for a in arguments)}\}}" if arguments else r"\emptyset"

    def _call_list(self, arguments: tuple[tree.Node, ...]) -> str:
        return ", ".join(self.of(a, SUM) for a in arguments)

    def _call_member(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"{self.of(arguments[0], SUM)} \in {self.of(arguments[1], SUM)}"

    def _call_not_member(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"{self.of(arguments[0], SUM)} \notin {self.of(arguments[1], SUM)}"

    def _call_such_that(self, arguments: tuple[tree.Node, ...]) -> str:
        return rf"\{{{self.of(arguments[0], CONDITION)} : {self.of(arguments[1], CONDITION)}\}}"

    def _call_family(self, arguments: tuple[tree.Node, ...]) -> str:
        head = rf"\{{{self.of(arguments[0], CONDITION)}\}}"
        if len(arguments) == 1:
            return head
        if isinstance(arguments[1], tree.Tuple):
            name, low, high = (self.of(i, CONDITION) for i in arguments[1].items)
            return f"{head}_{{{name}={low}}}^{{{high}}}"
        return f"{head}_{{{self.of(arguments[1], CONDITION)}}}"


def _is_gradient(node: tree.Node, functions: frozenset[str]) -> bool:
    if not isinstance(node, tree.Call):
        return False
    found = split_name(node.function, functions)
    return found is not None and not found[0].blocks


def _nabla(accent: str, order: int, blocks: str) -> str:
    text = rf"\{accent}{{\nabla}}" if accent else r"\nabla"
    return text + (f"_{{{blocks}}}" if blocks else "") + (f"^{{{order}}}" if order > 1 else "")


def _open_ended(node: tree.Node) -> bool:
    """Ends with an operator whose body would take what follows."""
    match node:
        case tree.Call():
            return node.function in BIG and bool(bound_by(node))
        case tree.Multiply(factors=factors):
            return _open_ended(factors[-1])
        case tree.MatrixMultiply(right=right):
            return _open_ended(right)
        case tree.Negate(operand=inner):
            return _open_ended(inner)
    return False


def _caught(node: tree.Node, later: frozenset[str], *, wide: bool) -> bool:
    """Whether an operator at the end of a term would be asked about, or would take, the terms after it."""
    if not _open_ended(node):
        return False
    if wide:
        return True
    last = node
    while isinstance(last, tree.Multiply | tree.MatrixMultiply):
        last = last.factors[-1] if isinstance(last, tree.Multiply) else last.right
    if not isinstance(last, tree.Call) or last.function in ("argmin", "argmax"):
        return True
    names = bound_by(last) | _inner_bound(last.arguments[0])
    return bool(names & later)


def _inner_bound(node: tree.Node) -> frozenset[str]:
    while isinstance(node, tree.Multiply):
        node = node.factors[-1]
    if isinstance(node, tree.Call) and node.function in BIG:
        return bound_by(node) | _inner_bound(node.arguments[0])
    return frozenset()


def _decimal(top: int, bottom: int) -> str:
    """A literal as it is typed."""
    digits = 0
    while (top * 10**digits) % bottom:
        digits += 1
        if digits > 60:
            return rf"\frac{{{top}}}{{{bottom}}}"
    scaled = top * 10**digits // bottom
    if not digits:
        return str(scaled)
    whole, part = divmod(abs(scaled), 10**digits)
    return f"{'-' if scaled < 0 else ''}{whole}.{part:0{digits}d}"


def statements_latex(statements: Sequence[Statement], notation: Notation, displays: Mapping[str, str]) -> str:
    """Statements one after the other, with their words and conditions."""
    echo = PaperEcho(notation, displays)
    return r",\quad ".join(_statement(echo, s) for s in statements if s.word != "label")


def _statement(echo: PaperEcho, statement: Statement) -> str:
    text = WORDS[statement.word]
    for goal in statement.goals:
        if goal.range is None:
            text += rf"\{goal.operator}\quad "
            continue
        marked = echo._operator(goal.operator, (tree.Letter("dots"), goal.range))
        text += marked.removesuffix(r"\dots")
    members = [echo.of(member, SUM) for member in statement.members]
    if not statement.continues:
        text += members.pop(0)
    for relation, member in zip(statement.relations, members, strict=True):
        sign = RELATION_LATEX[relation.word]
        text += f" \\overset{{{relation.label}}}{{{sign}}} {member}" if relation.label else f" {sign} {member}"
    for condition in statement.conditions:
        text += r"\quad " + _statement(echo, condition)
    return text
