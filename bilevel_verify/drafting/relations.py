"""Every relation that a paper prints: read, with its place, words and role; what could not be read, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from bilevel_verify.drafting.document import ASSUMED, Document, Formula, Unit
from bilevel_verify.drafting.positions import Position, Remark
from bilevel_verify.drafting.sentences import Context, contexts
from bilevel_verify.drafting.spoken import Spoken, of_chain, spoken
from bilevel_verify.drafting.written import written
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement, read_latex
from bilevel_verify.latex.statements import open_ends
from bilevel_verify.theorems.rewrite import infinite

Role = Literal["claim", "given", "cited", "definition", "for all"]
RELATION = re.compile(
    r"\\(?:leq?slant|geq?slant|leq?|geq?|coloneqq|triangleq|lt|gt|neq?|in|subset|subseteq|preceq|succeq|approx|sim"
    r"|lesssim|gtrsim|equiv|propto)(?![A-Za-z])|:=|[<>=]"
)
STARTS = re.compile(
    r"[&\s\x00]*(?:\\(?:quad|qquad|,|;|!|hspace\{[^}]*\}|displaystyle)[&\s]*)*(?:\\(?:overset|stackrel)|"
    + RELATION.pattern + ")"
)  # fmt: skip
WRAP = re.compile(
    r"\A\s*\\begin\{(aligned|split|gathered|array|alignedat)\}(?:\[[a-z]\]|\{[^{}]*\})?(.*)\\end\{\1\}(.*)\Z", re.S
)


@dataclass(frozen=True, slots=True)
class Printed:
    """One relation of the print: both sides, its sign, and what stands around it.

    ``chain`` numbers the chains of the paper; ``where`` are the conditions in the formula itself.
    """

    unit: int
    context: Context
    chain: int
    left: tree.Node
    op: str
    right: tree.Node
    latex: str
    role: Role
    where: tuple[tree.Node, ...] = ()
    quantified: frozenset[str] = frozenset()

    @property
    def of_all(self) -> bool:
        """Whether it is the range of a letter that may have any value of it; of several, of a natural number."""
        return self.role == "for all" or (self.op == ">=" and self.context.quantifies_also)


@dataclass(frozen=True, slots=True)
class Unread:
    """A formula, or rows of one, that could not be read; ``relations`` is the number of signs in it."""

    unit: int
    formula: Formula
    latex: str
    remark: Remark
    relations: int


@dataclass
class Reader:
    """Reads the formulas of a paper one after the other.

    ``named`` are letters that words introduce, ``spoken`` ranges that words or the end of a definition give.
    """

    document: Document
    notation: Notation
    printed: list[Printed] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    spoken: list[Spoken] = field(default_factory=list)
    formulas: int = 0
    chains: int = 0

    def document_labels(self) -> dict[str, str]:
        """Label -> the number that the paper prints for it."""
        return self.document.labels

    def read(self) -> None:
        """Fill ``printed`` and ``unread``."""
        for number, unit in enumerate(self.document.units):
            last: tree.Node | None = None
            for context in contexts(unit):
                self.formulas += 1
                last = self._formula(number, unit, context, last)

    def _formula(self, number: int, unit: Unit, context: Context, last: tree.Node | None) -> tree.Node | None:
        """Read one formula; the last member of its last chain, with which the next display may go on."""
        formula = context.formula
        one = written(self.document, formula)
        latex, changed = one.latex, one.changed
        if one.error is not None:
            self._note(number, formula, latex, one.error, True)
            return None
        if MAPPING.match(latex) and not formula.display:
            return None
        try:
            found = read_latex(one.source, self.notation).statements
            return self._statements(number, unit, context, found, latex, last)
        except LatexError as error:
            groups = row_groups(latex) if error.reason not in ("macro", "picture") or formula.display else []
            if len(groups) < 2:
                self._note(number, formula, latex, error, changed)
                return None
        return self._rows(number, unit, context, groups, last)

    def _rows(
        self, number: int, unit: Unit, context: Context, groups: list[str], last: tree.Node | None
    ) -> tree.Node | None:
        """The rows of a display that cannot be read as a whole, each by itself."""
        for group in groups:
            try:
                found = read_latex(group, self.notation).statements
            except LatexError as error:
                self._note(number, context.formula, group, error, True)
                last = None
                continue
            last = self._statements(number, unit, context, found, group, last)
        return last

    def _statements(
        self, number: int, unit: Unit, context: Context, found: tuple[Statement, ...], latex: str,
        last: tree.Node | None,
    ) -> tree.Node | None:  # fmt: skip
        """Keep the relations of a formula's statements; the last member, as the next formula may go on from it.

        ``last`` is the member before this formula: a chain that begins with a relation continues it, and without one
        its first relation has no left side.
        """
        pieces = slices(latex, [s.start for s in found if s.word != "label"])
        for place, statement in enumerate(found):
            self.chains += 1
            if not statement.relations:
                self._names(context, statement)
                said = list(spoken(context, statement, number))
                self.spoken += said
                self.named |= {one.name for one in said}
            if not statement.relations or statement.goals:
                last = statement.members[-1] if not statement.goals else None
                continue
            members = statement.members
            if statement.continues:
                if last is None:
                    members, relations = members, statement.relations[1:]
                else:
                    members, relations = (last, *members), statement.relations
            else:
                relations = statement.relations
            where, quantified = _conditions(statement)
            piece = pieces[place] if place < len(pieces) else ""
            role = self._role(unit, context, statement)
            if role == "definition" and not context.formula.display:
                self.spoken += of_chain(statement, number)
            if len(members) <= len(relations):
                last = members[-1]
                continue
            for step, relation in enumerate(relations):
                one, other = members[step], members[step + 1]
                own: Role = "definition" if relation.word == ":=" else role
                if role == "definition" and step > 0 and unit.kind != "algorithm":
                    own = "claim" if context.formula.display else "given"
                self.printed.append(
                    Printed(number, context, self.chains, one, relation.word, other, piece, own, where, quantified)
                )
            last = members[-1]
        return last

    def _names(self, context: Context, statement: Statement) -> None:
        """A formula that is one letter, after words that introduce it."""
        if context.formula.display or context.role != "given":
            return
        for member in statement.members:
            for part in member.walk():
                if isinstance(part, tree.Letter):
                    self.named.add(part.name)
                elif isinstance(part, tree.Index):
                    self.named.add(part.base)

    def _role(self, unit: Unit, context: Context, statement: Statement) -> Role:
        opens = context.opens and statement.relations[0].word != "=="
        if (context.quantifies or opens) and not context.formula.display:
            return "for all"
        if unit.kind == "algorithm" or statement.word in ("where", "s.t.", "label"):
            return "definition"
        role = "given" if unit.kind in ASSUMED else context.role
        if role == "given" or (context.names and role != "claim"):
            first = statement.members[0]
            if statement.relations[0].word == "==" and _nameable(first):
                return "definition"
            return "given"
        return role  # type: ignore[return-value]

    def _note(self, number: int, formula: Formula, latex: str, error: LatexError, moved: bool) -> None:
        """Remember what cannot be read, with line and column in the paper."""
        text = self.document.text
        place = formula.at
        if not moved and error.column:
            lines = formula.clean.split("\n")
            offset = sum(len(line) + 1 for line in lines[: (error.line or 1) - 1]) + error.column - 1
            place = formula.offset(min(offset, max(len(formula.clean) - 1, 0)))
        elif moved:
            lead = len(formula.clean) - len(formula.clean.lstrip())
            place = formula.offset(min(lead, max(len(formula.clean) - 1, 0)))
        remark = Remark(text.where(place), error.reason, error.message)
        self.unread.append(Unread(number, formula, latex, remark, len(RELATION.findall(_no_scripts(latex)))))

    def where(self, formula: Formula) -> Position:
        """The place of a formula in its file."""
        lead = len(formula.clean) - len(formula.clean.lstrip())
        return self.document.text.where(formula.offset(min(lead, max(len(formula.clean) - 1, 0))))


OPENING = re.compile(r"(?:\\[A-Za-z]+\*?\s*(?:\[[^\]]*\])?\s*\{?|\\left\s*(?:\\?[(|.{\[])?|\{|\\[|]|[(|\[&\s-])*\Z")
TRAILING = re.compile(r"(?:[,;.&\s]|\\(?:quad|qquad|,|;|:|!| )|\\\\|\\(?:text|mbox|textrm)\{[^{}]*\}|\\tag\*?\{[^{}]*\}"
                      r"|\\label\{[^{}]*\}|\\(?:nonumber|notag)|\\end\{aligned\})+\Z")  # fmt: skip


def slices(latex: str, starts: list[int]) -> list[str]:
    """The LaTeX of the statements of a formula, given where the first symbol of each stands."""
    begins = [0]
    for start in starts[1:]:
        opening = OPENING.search(latex, 0, start)
        begins.append(max(opening.start() if opening else start, begins[-1]))
    found = []
    for begin, end in zip(begins, [*begins[1:], len(latex)], strict=True):
        piece = TRAILING.sub("", latex[begin:end]).strip().lstrip("&").strip()
        balanced = piece.count("{") == piece.count("}") and piece.count("\\begin") == piece.count("\\end")
        found.append(piece if balanced else latex.strip())
    return [" ".join(piece.split()) for piece in found]


def _conditions(statement: Statement) -> tuple[tuple[tree.Node, ...], frozenset[str]]:
    """Conditions that stand in the formula, and the letters that it quantifies itself."""
    where: list[tree.Node] = []
    quantified: set[str] = set()
    for condition in statement.conditions:
        found = list(as_conditions(condition))
        where += found
        if condition.word == "for":
            for member in condition.members:
                if isinstance(member, tree.Letter):
                    quantified.add(member.name)
    return tuple(where), frozenset(quantified)


def as_conditions(statement: Statement) -> Iterator[tree.Node]:
    """A chain as single comparisons; memberships and lists written out where they say a range."""
    for one, relation, other in statement.links():
        yield from comparisons(one, relation.word, other)


def comparisons(one: tree.Node, op: str, other: tree.Node) -> Iterator[tree.Node]:
    """One relation as comparisons that a card may hold: ``a, b > 0``, ``theta in (0, 1)``."""
    if isinstance(one, tree.Call) and one.function == "list":
        for item in one.arguments:
            yield from comparisons(item, op, other)
        return
    if op in ("<", "<=", ">", ">=", "=="):
        if not any(isinstance(p, tree.Call) and p.function in ("list", "set") for p in (one, other)):
            yield tree.Compare((one, other), (op,))
        return
    if (
        op == "in"
        and isinstance(other, tree.Call)
        and other.function.startswith("interval")
        and len(other.arguments) == 2
    ):
        low, high = other.arguments
        left_open, right_open = open_ends(other.function)
        if not infinite(low):
            yield tree.Compare((one, low), (">" if left_open else ">=",))
        if not infinite(high):
            yield tree.Compare((one, high), ("<" if right_open else "<=",))


def _nameable(node: tree.Node) -> bool:
    """Whether a formula may give this a name: a letter, an entry, a function at a point, a list of them."""
    if isinstance(node, tree.Call) and node.function in ("list",):
        return all(_nameable(a) for a in node.arguments)
    return isinstance(node, tree.Letter | tree.Index) or (
        isinstance(node, tree.Call) and all(isinstance(a, tree.Letter | tree.Index) for a in node.arguments)
    )


MAPPING = re.compile(r"\s*[^=<>]{1,60}?(?::|\\colon(?![A-Za-z]))[^=<>]*\\(?:to|rightarrow|mapsto)(?![A-Za-z])")


def _no_scripts(latex: str) -> str:
    """The formula without its scripts, so that only its own relations are counted."""
    for _ in range(4):
        latex = re.sub(r"[_^]\{[^{}]*\}", "", latex)
    return latex


def row_groups(latex: str) -> list[str]:
    """The rows of a display, those together that belong to one relation."""
    wrapped = WRAP.match(latex)
    inner = wrapped[2] + wrapped[3] if wrapped else latex
    rows = _rows_of(inner)
    groups: list[str] = []
    for row in rows:
        if groups and not (STARTS.match(row) and _balanced(groups[-1])) and not _ended(groups[-1]):
            groups[-1] += " " + row
        else:
            groups.append(row)
    return [g for g in (_bare(group) for group in groups) if g]


def _bare(row: str) -> str:
    return re.sub(r"(?<!\\)&", " ", row).strip()


def _ended(row: str) -> bool:
    return bool(re.search(r"[.,;]\s*(?:\\quad|\\qquad|\s)*\Z", row)) and _balanced(row)


def _balanced(row: str) -> bool:
    depth = len(re.findall(r"\\left(?![A-Za-z])", row)) - len(re.findall(r"\\right(?![A-Za-z])", row))
    plain = re.sub(r"\\left\s*.|\\right\s*.|\\[{}]", "", row)
    return depth == 0 and plain.count("(") == plain.count(")") and plain.count("[") == plain.count("]")


def _rows_of(latex: str) -> list[str]:
    """Cut at the line breaks of the outer level."""
    rows, depth, start = [], 0, 0
    for found in re.compile(r"\\begin\{|\\end\{|\\\\|\\[{}]|[{}]").finditer(latex):
        sign = found[0]
        if sign == "\\\\" and depth == 0:
            rows.append(latex[start : found.start()])
            start = found.end()
        elif sign in ("\\begin{", "{"):
            depth += 2 if sign == "\\begin{" else 1
        elif sign == "\\end{":
            depth += 0
        elif sign == "}":
            depth -= 1
            if latex[: found.start()].rfind("\\end{") > latex[: found.start()].rfind("}"):
                depth -= 1
    rows.append(latex[start:])
    return [row for row in rows if row.strip()]
