"""The nearest true form beside the printed one: what changed is underlined, a changed hypothesis is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import parse, to_latex, tree
from bilevel_verify.language.latex import CONDITION, Echo
from bilevel_verify.proofreading.errata.erratum import Repair
from bilevel_verify.theorems.card import Card, Claim, Derivation, Entry, Identity, Inequality, Statement, Step
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.notation import symbols_of
from bilevel_verify.theorems.rewrite import rebuild


class Marked(Echo):
    """LaTeX of a tree in which some sub-trees, by identity, are underlined."""

    def __init__(self, display: Mapping[str, str], marked: set[int]) -> None:
        super().__init__(display)
        self.marked = marked

    def of(self, node: tree.Node, level: int) -> str:
        """As the echo without marks writes it, underlined where it is marked."""
        text = super().of(node, level)
        return rf"\underline{{{text}}}" if id(node) in self.marked else text


def marked_latex(printed: tree.Node, repaired: tree.Node, display: Mapping[str, str]) -> str:
    """The repaired form with what the printed one does not have underlined."""
    printed, repaired = _signs_in_front(printed), _signs_in_front(repaired)
    return Marked(display, set(_changed(printed, repaired))).of(repaired, CONDITION)


def _signs_in_front(node: tree.Node) -> tree.Node:
    """The same with the sign of a product or quotient before it: ``-3 a/b`` for ``((-3) a)/b``."""
    node = rebuild(node, _signs_in_front)
    match node:
        case tree.Multiply(factors=(tree.Negate(operand=first), *rest)):
            return tree.Negate(tree.Multiply((first, *rest)))
        case tree.Multiply(factors=(tree.Number(value=value), *rest)) if value < 0:
            return tree.Negate(tree.Multiply((tree.Number(-value), *rest)))
        case tree.Divide(numerator=tree.Negate(operand=top), denominator=below):
            return tree.Negate(tree.Divide(top, below))
        case tree.Divide(numerator=tree.Number(value=value), denominator=below) if value < 0:
            return tree.Negate(tree.Divide(tree.Number(-value), below))
    return node


def _changed(old: tree.Node, new: tree.Node) -> Iterable[int]:
    """Identities of the smallest sub-trees of ``new`` that are not in their place in ``old``."""
    if old == new:
        return
    before, after = tuple(old.children()), tuple(new.children())
    if not after or not _alike(old, new):
        yield id(new)
    elif len(before) == len(after) and not isinstance(new, tree.Add | tree.Multiply):
        for one, other in zip(before, after, strict=True):
            yield from _changed(one, other)
    else:
        yield from _aligned(before, after, new)


def _aligned(before: Sequence[tree.Node], after: Sequence[tree.Node], new: tree.Node) -> Iterable[int]:
    """Changed ones among terms or factors; the whole where one is only missing."""
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "delete":
            yield id(new)
        elif tag == "replace" and b - a == d - c:
            for one, other in zip(before[a:b], after[c:d], strict=True):
                yield from _changed(one, other)
        elif tag != "equal":
            yield from (id(part) for part in after[c:d])


def _alike(old: tree.Node, new: tree.Node) -> bool:
    """Whether the heads agree, so that the difference is below."""
    if type(old) is not type(new):
        return False
    if isinstance(old, tree.Call) and isinstance(new, tree.Call):
        return old.function == new.function
    if isinstance(old, tree.Compare) and isinstance(new, tree.Compare):
        return old.operators == new.operators
    if isinstance(old, tree.Index) and isinstance(new, tree.Index):
        return old.base == new.base
    return True


def repair_of(card: Card, findings: Sequence[Finding], everything: Sequence[Finding]) -> Repair | None:
    """The recorded repaired form of the first row that has one, else the neighbour that the search found."""
    for finding in findings:
        entry = card.entries.get(finding.row.statement or "")
        claim = _claim(entry, finding)
        found = (claim, claim.repaired) if claim is not None else (entry, entry.repaired if entry else None)
        if found[0] is not None and found[1] is not None:
            return _recorded(card, found[0], found[1], finding, everything)
    for finding in findings:
        if finding.repaired:
            return _searched(card, finding)
    return None


def _claim(entry: Entry | None, finding: Finding) -> Claim | None:
    name = (finding.row.claim or "").partition("/")[0]
    if isinstance(entry, Statement):
        return next((claim for claim in entry.claims if claim.id == name), None)
    return None


def _recorded(
    card: Card, printed: Entry | Claim, repaired: Entry | Claim, finding: Finding, everything: Sequence[Finding]
) -> Repair:
    display, before, after = symbols_of(card), _relations(printed), _relations(repaired)
    lines = [
        marked_latex(before[n] if n < len(before) else tree.Truth(False), node, display)
        for n, node in enumerate(after)
    ]  # fmt: skip
    latex = "\n".join(dict.fromkeys(lines))
    if before == after and not isinstance(printed, Identity):
        latex = ""
    rows = [f.row for f in everything if f.row.statement == finding.row.statement
            and any(mark.startswith("repaired") for mark in f.row.marks)]  # fmt: skip
    if isinstance(printed, Claim):
        rows = [row for row in rows if (row.claim or "").partition("/")[0] == printed.id]
    words = ", ".join(dict.fromkeys(f"{r.verdict}{f' ({r.certainty})' if r.certainty else ''}" for r in rows))
    old = "\n".join(to_latex(node, display) for node in before) if before != after else ""
    return Repair(latex, old, tuple(dict.fromkeys(_conditions(card, printed, repaired))), repaired.why or "", words)


def _searched(card: Card, finding: Finding) -> Repair:
    """A neighbour that was proved: ``relation where hypothesis [change]``."""
    text, _, change = (finding.repaired or "").partition(" [")
    relation, _, hypothesis = text.partition(" where ")
    display, row = symbols_of(card), finding.row
    op = str(row.details.get("op", "<="))
    new = parse(relation)
    old = parse(f"{row.left} {op} {row.right}") if row.left and row.right else new
    added = (f"added: ${to_latex(parse(hypothesis), display)}$",) if hypothesis else ()
    return Repair(marked_latex(old, new, display), to_latex(old, display), added, change.rstrip("]"), "holds (proved)")


def _relations(item: Entry | Claim) -> list[tree.Node]:
    """The relations of a claim or an entry, one for each link, with the names that the card gives to its functions."""
    match item:
        case Claim() | Inequality() | Step():
            sides = [(k.left, k.op, k.right) for k in item.chain]
        case Derivation():
            sides = [(item.result, "<=", item.gives)]
        case Identity():
            sides = [(item.left, "==", item.right)]
        case _:
            sides = []
    return [tree.Compare((_as_written(left), _as_written(right)), (op,)) for left, op, right in sides]


def _as_written(side: Expression) -> tree.Node:
    """The tree of what the card says, before definitions were put in."""
    try:
        return parse(side.text)
    except BilevelVerifyError:  # read from LaTeX
        return side.tree


def _range(domain: Domain | None, display: Mapping[str, str]) -> str:
    """An interval as print has it; what is none in the words of the card."""
    if domain is None or domain.kind != "interval":
        return str(domain or "none")
    low, high = (to_latex(e.tree, display) if e is not None else "" for e in (domain.lower, domain.upper))
    return f"${'[' if domain.lower_closed else '('}{low}, {high}{']' if domain.upper_closed else ')'}$"


def _conditions(card: Card, printed: Entry | Claim, repaired: Entry | Claim) -> Iterable[str]:
    """Hypotheses, ranges and definitions in which the two differ."""
    display = symbols_of(card)
    old, new = list(printed.where), [*repaired.where, *repaired.added]
    if isinstance(printed, Derivation) and isinstance(repaired, Derivation):
        old, new = [*old, *printed.regime], [*new, *repaired.regime]
    yield from (f"hypothesis added: ${to_latex(c.tree, display)}$" for c in new if c not in old)
    yield from (f"hypothesis dropped: ${to_latex(c.tree, display)}$" for c in old if c not in new)
    ranges = {**repaired.for_, **repaired.narrowed}
    for name in dict.fromkeys([*printed.for_, *ranges]):
        spec = card.letters.get(name)
        usual = spec.domain if spec is not None else None  # what the paper says of a letter once holds everywhere
        one, two = printed.for_.get(name, usual), ranges.get(name, usual)
        if str(one or "") != str(two or ""):
            letter = to_latex(tree.Letter(name), display)
            yield f"range of ${letter}$: {_range(two, display)}, printed: {_range(one, display)}"
    for name, value in repaired.define.items():
        if name not in printed.define or printed.define[name] != value:
            yield f"definition: ${to_latex(tree.Letter(name), display)} := {to_latex(value.tree, display)}$"
    if isinstance(printed, Entry) and isinstance(repaired, Entry):
        for name, made in repaired.parameters.items():
            if name not in printed.parameters or printed.parameters[name].expression != made.expression:
                symbol, value_of = tree.Letter(name), made.expression.tree
                yield f"definition: ${to_latex(symbol, display)} := {to_latex(value_of, display)}$"
