"""Mutants of one module: small slips that matter in code on which verdicts stand, each an exact span of its source.

Nothing is mutated in docstrings, annotations, imports, messages (f-strings, arguments of ``raise``), ``__repr__`` and
its kin, nor in ``if TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
import hashlib
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

ENDS = [
    ("lo", "hi"),
    ("low", "high"),
    ("lower", "upper"),
    ("lowest", "highest"),
    ("least", "most"),
    ("smallest", "largest"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("fmin", "fmax"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("up", "down"),
    ("float_below", "float_above"),
    ("left", "right"),
    ("leftmost", "rightmost"),
    ("below", "above"),
    ("infimum", "supremum"),
    ("inf", "sup"),
    ("all", "any"),
    ("logical_and", "logical_or"),
    ("mignitude", "magnitude"),
    ("hull", "meet"),
    ("greater", "less"),
    ("greater_equal", "less_equal"),
    ("x", "y"),
    ("dx", "dy"),
    ("rows", "columns"),
    ("union", "intersection"),
    ("strict", "weak"),
]
"""Names that are each other's mistake; ``left`` and ``right`` stand for ``left_x`` and ``x_right`` too."""

SWAPPED = {**dict(ENDS), **{b: a for a, b in ENDS}}

WORDS = {
    "holds": ["undecided", "refuted"],
    "undecided": ["holds"],
    "refuted": ["undecided"],
    "not applicable": ["holds"],
    "vacuous": ["holds"],
    "consistent": ["inconsistent"],
    "inconsistent": ["consistent"],
    "uninformative": ["consistent"],
    "proved": ["computed"],
    "certified": ["proved", "computed"],
    "computed": ["certified"],
    "sampled": ["certified"],
    "lower": ["upper"],
    "upper": ["lower"],
    "<": ["<="],
    "<=": ["<", ">="],
    ">": [">="],
    ">=": [">", "<="],
    "==": ["<="],
    "min": ["max"],
    "max": ["min"],
    "le": ["lt"],
    "lt": ["le"],
}
"""Strings that are verdicts, certainties, sides or relations, and what a slip makes of them."""

COMPARISONS = {
    ast.Lt: ["<="],
    ast.LtE: ["<"],
    ast.Gt: [">="],
    ast.GtE: [">"],
    ast.Eq: ["!="],
    ast.NotEq: ["=="],
    ast.In: ["not in"],
    ast.NotIn: ["in"],
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
WRAPPERS = {
    "abs",
    "fabs",
    "absolute",
    "up",
    "down",
    "clean",
    "sqrt",
    "square",
    "negative",
    "float_below",
    "float_above",
}
"""Calls of one argument that a slip forgets (or, of a method without arguments, that it skips)."""
GATHERERS = {"min", "max", "minimum", "maximum", "fmin", "fmax", "weakest", "hull", "meet", "logical_and", "logical_or"}
"""Calls whose every argument counts."""
SHAPES = {"len", "zeros_like", "ones_like", "full_like", "empty_like", "shape", "size", "ndim"}
"""Where only the shape of an argument matters, the other end is no slip."""
SILENT = {
    "__repr__",
    "__str__",
    "_repr_html_",
    "_repr_latex_",
    "_repr_markdown_",
    "__rich__",
    "_latex",
    "_latex_head",
    "_latex_argument",
}
TALK = {"say_once", "warn", "debug", "info", "warning", "log", "print"}
MANY = 100
"""A named limit of so many and more: one more or one less is no slip."""
A_LINE = 3
"""At most so many mutants a line: siblings on one long line are mostly seen by the same test."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One slip: ``source[start:end]`` (bytes) becomes ``text``."""

    start: int
    end: int
    text: str
    operator: str


class Module:
    """A source file and its mutants."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source, self.raw = path, source, source.encode()
        self.lines = self.raw.split(b"\n")
        self.diffs: dict[Mutant, tuple[str, str]] = {}
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line) + 1)

    @cached_property
    def mutants(self) -> list[Mutant]:
        """At most :data:`A_LINE` mutants of every line, of different operators first, chosen by the hash of the change
        (so that the choice does not move when other lines do)."""
        lines: dict[int, list[Mutant]] = {}
        for mutant in self.every:
            lines.setdefault(self.line(mutant), []).append(mutant)
        return [mutant for line in lines.values() for mutant in self._thinned(line)]

    def _thinned(self, line: list[Mutant]) -> list[Mutant]:
        ranked = sorted(line, key=lambda m: hashlib.sha256("\0".join((self.path, *self.diff(m))).encode()).digest())
        rounds: dict[str, int] = {}
        turn = []
        for mutant in ranked:
            rounds[mutant.operator] = rounds.get(mutant.operator, 0) + 1
            turn.append(rounds[mutant.operator])
        chosen = [m for _, m in sorted(zip(turn, ranked), key=lambda pair: pair[0])[:A_LINE]]
        return sorted(chosen, key=lambda m: (m.start, m.end, m.text))

    @cached_property
    def every(self) -> list[Mutant]:
        """Every mutant, in the order of the source; no two make the same text."""
        found = sorted(_Finder(self).found, key=lambda m: (m.start, m.end, m.text))
        seen: dict[tuple[int, int, str], Mutant] = {}
        for mutant in found:
            if self.raw[mutant.start : mutant.end].decode() != mutant.text:
                seen.setdefault(self._essence(mutant), mutant)
        return list(seen.values())

    def _essence(self, mutant: Mutant) -> tuple[int, int, str]:
        """The same change has one description: common beginnings and ends are taken off."""
        old, new = self.raw[mutant.start : mutant.end], mutant.text.encode()
        head = 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        return mutant.start + head, mutant.end - tail, new[head : len(new) - tail].decode(errors="replace")

    def mutated(self, mutant: Mutant) -> str:
        """The whole source with the slip in it."""
        return (self.raw[: mutant.start] + mutant.text.encode() + self.raw[mutant.end :]).decode()

    def line(self, mutant: Mutant) -> int:
        """Number (from 1) of the line on which the slip begins."""
        return self.line_of(mutant.start)

    def line_of(self, offset: int) -> int:
        """Number (from 1) of the line of a byte."""
        return bisect_right(self.offsets, offset)

    def _lines(self, mutant: Mutant) -> tuple[int, int]:
        return self.line_of(mutant.start) - 1, self.line_of(mutant.end) - 1

    def diff(self, mutant: Mutant) -> tuple[str, str]:
        """The lines touched, before and after, each as one line with single blanks (how equivalents are named)."""
        if mutant in self.diffs:
            return self.diffs[mutant]
        first, last = self._lines(mutant)
        begin, end = self.offsets[first], self.offsets[last + 1] - 1
        before = self.raw[begin:end].decode()
        after = (self.raw[begin : mutant.start] + mutant.text.encode() + self.raw[mutant.end : end]).decode()
        found = self.diffs[mutant] = " ".join(before.split()), " ".join(after.split())
        return found

    def readers(self, line: int) -> set[int]:
        """Lines that read a name which the statement of the module at a line binds."""
        tree = ast.parse(self.source)
        here = [s for s in tree.body if s.lineno <= line <= (s.end_lineno or s.lineno)]
        names = {n for s in here if isinstance(s, (ast.Assign, ast.AnnAssign)) for n in _names_of(s)}
        return {
            n.lineno
            for n in ast.walk(tree)
            if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
        }

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Byte offsets of a node, its brackets not included."""
        start = self.offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()


class _Finder(ast.NodeVisitor):
    """Walks the tree and notes mutants; ``found`` has them in the order of the walk."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.found: list[Mutant] = []
        tree = ast.parse(module.source)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.scopes = [_names_of(tree)]
        self.three_valued = self.limits = False
        self.visit(tree)

    # --- notes

    def note(self, node: ast.AST, text: str, operator: str) -> None:
        self.found.append(Mutant(*self.module.span(node), text, operator))

    def inner(self, node: ast.AST) -> str:
        """Text of an expression that is put in another's place."""
        text = self.module.text(node)
        simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant))
        return text if simple else f"({text})"

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str, operator: str) -> None:
        """Replace the operator sign that stands between two operands."""
        start, end = self.module.span(left)[1], self.module.span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), self.module.raw[start:end].decode())
        at = re.search(r"\s+".join(map(re.escape, old.split())) if old.isalpha() or " " in old else re.escape(old), gap)
        if at is not None and gap.isascii():
            self.found.append(Mutant(start + at.start(), start + at.end(), new, operator))

    # --- what is left alone

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            if _called(node.value) in TALK:
                return
            self.note(node, "pass", "statement dropped")
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None: ...
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...
    def visit_Assert(self, node: ast.Assert) -> None: ...

    def visit_Raise(self, node: ast.Raise) -> None:
        self.note(node, "pass", "statement dropped")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in SILENT or any(_is_overload(d) for d in node.decorator_list):
            return
        returns = ast.unparse(node.returns) if node.returns else ""
        before, self.three_valued = self.three_valued, "Answer" in returns or ("bool" in returns and "None" in returns)
        self.scopes.append(_names_of(node))
        read = {n.id for statement in node.body for n in ast.walk(statement) if isinstance(n, ast.Name)}
        for parameter, default in _defaults(node.args):
            if parameter.arg in read:  # what the body does not read has a default for others' sake
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()
        self.three_valued = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Name) and t.id in ("__all__", "__slots__") for t in node.targets):
            return
        if any(isinstance(t, ast.Attribute) and t.attr == "name" for t in node.targets):
            return
        self.limits = any(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets)
        self.visit(node.value)
        self.limits = False

    # --- conditions

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test):
            return
        self.condition(node.test)
        self.generic_visit(node)

    def condition(self, test: ast.expr) -> None:
        for value in ("True", "False"):
            self.note(test, value, "condition dropped")

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self.note(node.test, "False", "condition dropped")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.note(node, self.inner(node.body), "condition dropped")
        self.note(node, self.inner(node.orelse), "condition dropped")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.note(test, "True", "condition dropped")
        for child in (node.iter, *node.ifs):
            self.visit(child)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self.note(node.guard, "True", "condition dropped")
            self.visit(node.guard)
        for statement in node.body:
            self.visit(statement)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:]):
            self.between(left, right, old, new, "and for or")
        for k in range(len(node.values)):
            rest = [self.inner(v) for i, v in enumerate(node.values) if i != k]
            self.note(node, f" {old} ".join(rest), "condition dropped")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.note(node, self.inner(node.operand), "not dropped")
        elif isinstance(node.op, (ast.USub, ast.Invert)):
            self.note(node, self.inner(node.operand), "sign")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:]):
            for new in COMPARISONS.get(type(op), ()):
                self.between(left, right, _sign_of(op), new, "comparison")
        if len(node.ops) > 1:
            for k in range(len(node.ops)):
                kept = operands[:-1] if k == len(node.ops) - 1 else operands[1:] if k == 0 else []
                if kept:
                    self.note(node, self.module.raw[slice(*self._hull(kept))].decode(), "condition dropped")
        self.generic_visit(node)

    def _hull(self, nodes: list[ast.expr]) -> tuple[int, int]:
        return self.module.span(nodes[0])[0], self.module.span(nodes[-1])[1]

    # --- numbers

    def visit_BinOp(self, node: ast.BinOp) -> None:
        signs = ARITHMETIC.get(type(node.op))
        texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp)
        if signs and not any(isinstance(side, texts) or _is_text(side) for side in (node.left, node.right)):
            self.between(node.left, node.right, *signs, "arithmetic")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        signs = ARITHMETIC.get(type(node.op))
        if signs:
            self.between(node.target, node.value, signs[0] + "=", signs[1] + "=", "arithmetic")
        self.note(node, "pass", "statement dropped")
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.note(node, str(not value), "truth value")
            if self.three_valued and isinstance(self.parents.get(node), (ast.Return, ast.IfExp)):
                self.note(node, "None", "truth value")
        elif value is None and self.three_valued and isinstance(self.parents.get(node), (ast.Return, ast.IfExp)):
            self.note(node, "True", "truth value")
            self.note(node, "False", "truth value")
        elif isinstance(value, int):
            if self.limits and value >= MANY:
                return  # a limit of boxes, bits, terms
            self.note(node, str(value + 1), "number")
            if value > 0:
                self.note(node, str(value - 1), "number")
        elif isinstance(value, float):
            self.note(node, repr(2 * value) if value else "1.0", "number")
        elif isinstance(value, str) and value in WORDS:
            for word in WORDS[value]:
                self.note(node, f'"{word}"', "word")

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.note(bound, "", "slice")
                if not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                    self.note(bound, f"{self.inner(bound)} + 1", "slice")
        self.generic_visit(node)

    # --- names, calls, returns

    def visit_Name(self, node: ast.Name) -> None:
        other = swapped(node.id)
        known = other is not None and (
            any(other in scope for scope in self.scopes) or other in ("min", "max", "any", "all")
        )
        if known and isinstance(node.ctx, ast.Load) and not self.only_shape(node):
            self.note(node, str(other), "end for end")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        other = swapped(node.attr)
        if other is not None and isinstance(node.ctx, ast.Load) and not self.only_shape(node):
            end = self.module.span(node)[1]
            self.found.append(Mutant(end - len(node.attr), end, other, "end for end"))
        self.visit(node.value)

    def only_shape(self, node: ast.expr) -> bool:
        """Whether nothing but the shape of an array is asked for."""
        parent = self.parents[node]
        if isinstance(parent, ast.Attribute):
            return parent.attr in SHAPES
        return isinstance(parent, ast.Call) and _called(parent) in SHAPES and node is parent.args[0]

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if name in TALK:
            return
        if name in WRAPPERS:
            if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
                self.note(node, self.inner(node.args[0]), "wrapper dropped")
            elif not node.args and isinstance(node.func, ast.Attribute):
                self.note(node, self.inner(node.func.value), "wrapper dropped")
        if name in GATHERERS and len(node.args) > 1:
            for k in range(len(node.args)):
                self.without(node, node.args, k)
        if name in ("all", "any", "weakest", "min", "max") and len(node.args) == 1:
            self.elements(node.args[0])
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg.startswith(("strict", "closed", "exact", "certif", "side")):
                self.dropped(node, keyword)
        self.generic_visit(node)

    def without(self, call: ast.Call, arguments: list[ast.expr], k: int) -> None:
        """A call without its ``k``-th argument; what is left of two stands alone (a star keeps the call)."""
        rest = [a for i, a in enumerate(arguments) if i != k]
        name = _called(call)
        if len(rest) == 1 and not isinstance(rest[0], ast.Starred) and name != "weakest":
            self.note(call, self.inner(rest[0]), "argument dropped")
        else:
            keywords = [self.module.text(word) for word in call.keywords]
            text = ", ".join([*(self.module.text(a) for a in rest), *keywords])
            self.note(call, f"{self.module.text(call.func)}({text})", "argument dropped")

    def dropped(self, call: ast.Call, keyword: ast.keyword) -> None:
        parts = [*call.args, *(word for word in call.keywords if word is not keyword)]
        text = ", ".join(self.module.text(part) for part in parts)
        self.note(call, f"{self.module.text(call.func)}({text})", "argument dropped")

    def elements(self, node: ast.expr) -> None:
        """A list given to all, any, weakest: each element counts."""
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
            for element in node.elts:
                rest = ", ".join(self.module.text(e) for e in node.elts if e is not element)
                self.note(node, f"[{rest}]", "argument dropped")

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.iter, (ast.Tuple, ast.List)) and len(node.iter.elts) > 1:
            texts = [self.module.text(e) for e in node.iter.elts]
            for k in range(len(texts) - 1):
                turned = [*texts[:k], texts[k + 1], texts[k], *texts[k + 2 :]]
                self.note(node.iter, f"({', '.join(turned)})", "order")
            self.elements(node.iter)
        self.visit(node.iter)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_Continue(self, node: ast.Continue) -> None:
        if not self.ends_its_loop(node):
            self.note(node, "pass", "statement dropped")

    def ends_its_loop(self, node: ast.AST) -> bool:
        """Whether nothing of the body of its loop comes after a statement."""
        parent = self.parents[node]
        if isinstance(parent, ast.Try) and (parent.finalbody or (parent.orelse and node in parent.body)):
            return False
        if not isinstance(node, (ast.ExceptHandler, ast.match_case)):
            blocks = [block for name in ("body", "orelse") if isinstance(block := getattr(parent, name, None), list)]
            if not any(block and block[-1] is node for block in blocks):
                return False
        return isinstance(parent, (ast.For, ast.While)) or self.ends_its_loop(parent)

    def visit_Break(self, node: ast.Break) -> None:
        self.note(node, "pass", "statement dropped")


def swapped(name: str) -> str | None:
    """The name that a slip would write instead (``lo`` for ``hi``, ``upper_bound`` for ``lower_bound``)."""
    if name in SWAPPED:
        return SWAPPED[name]
    parts = name.split("_")
    for k in (0, len(parts) - 1):
        if len(parts) > 1 and parts[k] in SWAPPED and len(parts[k]) > 1:
            return "_".join([*parts[:k], SWAPPED[parts[k]], *parts[k + 1 :]])
    return None


def _names_of(node: ast.AST) -> frozenset[str]:
    """The names bound anywhere below a node."""
    names: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(ctx=ast.Store()):
                names.add(one.id)
            case ast.arg():
                names.add(one.arg)
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name for alias in one.names)
            case ast.FunctionDef() | ast.ClassDef():
                names.add(one.name)
    return frozenset(names)


def _defaults(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    usual = [*arguments.posonlyargs, *arguments.args]
    last = usual[len(usual) - len(arguments.defaults) :]
    named = [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None]
    return [*zip(last, arguments.defaults), *named]


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _is_overload(node: ast.expr) -> bool:
    return "overload" in ast.dump(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _sign_of(op: ast.cmpop) -> str:
    names = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!=", "In": "in", "NotIn": "not in"}
    return names[type(op).__name__]
