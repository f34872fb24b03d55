"""Letters that a paper uses in one place only and introduces nowhere: slips of the pen, mostly."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import bound_by
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import ends_of_sums, uses
from bilevel_verify.proofreading.names.shape_reading import IDENTITY
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.vocabulary import NUMBERS, SCALAR_FUNCTIONS, VECTOR_FUNCTIONS

WORD = re.compile(r"\\(?:operatorname|mathrm)\{")
SCRIPT = re.compile(r"[A-Za-z]+_([a-z])(?:_\d+)?")
TRANSPOSED = re.compile(r"\^\{?T(?![a-z])")
DOTS = re.compile(r"\\(?:[lcd]?dots)\b|\.\.\.")
RANGES = (
    r"\\(?:max|min|sup|inf|sum|prod|bigcup|bigcap|operatorname\*?\{{[^{{}}]*\}})\s*(?:\\limits)?\s*_\s*(?:{0}|\{{[^{{}}]*"
    r"(?<![A-Za-z\\]){0})(?![A-Za-z])"
)
"""What binds an index in the formula itself: ``\\max_{0\\le j\\le k}``."""
OFTEN = 3
"""Formulas in which a letter with an index for a script stands before it counts as an entry of a sequence."""
OTHERS = frozenset({"_", "dots", "oo"})
INTRODUCING = frozenset({"==", ":=", "<-", "in", "distributed", "approx", "to"})


def letter_defects(paper: Paper) -> Iterator[Defect]:
    """Letters that stand in one claim of the whole paper and that nothing introduces; needs the words of the paper."""
    if not paper.guessed:
        return
    places: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in paper.sentences:
        names = {use.name for node in sentence.nodes() for use in uses(node)}
        names |= {p.base for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Index)}
        for name in names:
            places[name].append(sentence)
    unread = _bare(" ".join(s.latex for s in paper.unread))
    often = Counter({name: len(found) for name, found in places.items()})
    for name, found in places.items():
        sentence = found[0]
        if name.partition("_")[0] == "T" and TRANSPOSED.search(paper.text):
            continue
        if name in paper.entries or _is_function(paper, name):
            continue
        if len(found) > 1 or name in NUMBERS | OTHERS | paper.notation.indices or _introduced(name, sentence):
            continue
        if stranger := _strange_index(paper, name, sentence, often):
            yield stranger
            continue
        display = _display(paper, name)
        if not display or _bare(display) in unread or not _in_a_claim(sentence, name):
            continue
        title = f"{display} stands here and nowhere else in the paper, and nothing introduces it"
        yield Defect("letter", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _is_function(paper: Paper, name: str) -> bool:
    """``p'`` or ``p`` of a function ``p``: what stands without its argument."""
    entry = paper.notation.by_name.get((name, "letter"))
    alike = paper.notation.by_symbol.get(entry.atom.symbol, ()) if entry is not None else ()
    return any(e.role == "function" and not e.atom.primes for e in alike)


def _bare(latex: str) -> str:
    """LaTeX without what only groups and parts: ``\\dot X`` and ``\\dot{X}`` are one."""
    return re.sub(r"[{}\s]+", "", latex)


def _strange_index(paper: Paper, name: str, sentence: Sentence, often: Mapping[str, int]) -> Defect | None:
    """``x_n`` beside a sequence ``x_k``, where no other formula and no word has the letter n."""
    entry, index = paper.notation.by_name.get((name, "letter")), script_index(name)
    if entry is None or not index or index not in entry.display.partition("_")[2]:  # ``w_*`` has no letter
        return None
    base = name.partition("_")[0]
    mates = any(e.role == "sequence" for e in paper.notation.by_symbol.get(entry.atom.symbol, ()))
    if not mates and not any(n >= OFTEN and o != name and o == f"{base}_{script_index(o)}" for o, n in often.items()):
        return None
    alone = re.compile(rf"(?<![A-Za-z\\]){index}(?![A-Za-z])")
    if any(alone.search(s.latex) or alone.search(s.before) for s in paper.sentences if s is not sentence):
        return None
    if DOTS.search(sentence.latex):  # ``c_0, ..., c_n``: n is their number
        return None
    if re.search(RANGES.format(index), sentence.latex):
        return None
    title = f"the index {index} of {entry.display} stands nowhere else in the paper"
    grade = "breaks the statement" if sentence.read.formula.kind == "algorithm-line" else "local slip"
    return Defect("index", sentence.place, title, grade, sentence.latex, unit=sentence.unit)


def script_index(name: str) -> str:
    """The index letter in the script of a letter, ``t`` of ``s_t`` or ``s_t_1``; empty where there is none."""
    found = SCRIPT.fullmatch(name)
    return found[1] if found else ""


def _introduced(name: str, sentence: Sentence) -> bool:
    """Whether the one formula itself introduces the letter: defines, names, quantifies, binds it, ends sums with it."""
    if ends_of_sums(sentence.nodes(), name) > 1:
        return True
    for chain in sentence.chains():
        for condition in chain.conditions:
            if any(name in tree.letters(member) for member in condition.members):
                return True
        for place, member in enumerate(chain.members):
            if any(isinstance(p, tree.Call) and name in bound_by(p) for p in member.walk()):
                return True
            if place + 1 < len(chain.members) and _is_size(member, name):  # ``||tau|| <= B``: what it is
                return True
            word = chain.relations[place].word if place < len(chain.relations) else ""
            if word in INTRODUCING and (name in _named(member) or name in _unknowns(member)):
                return True
        if chain.word in ("where", "label"):
            return True
    return False


def _is_size(node: tree.Node, name: str) -> bool:
    """Whether a member is the absolute value or norm of the letter alone, or of a value of it."""
    match node:
        case tree.Call(function="abs" | "norm", arguments=(inner,)):
            return name in _named(inner)
    return False


def _named(node: tree.Node) -> set[str]:
    """Names that a member stands for: a letter, an entry, a function of the paper at letters, a list of them."""
    match node:
        case tree.Letter(name=name) | tree.Index(base=name):
            return {name}
        case tree.Call(function=name, arguments=arguments) if name not in VECTOR_FUNCTIONS | SCALAR_FUNCTIONS:
            return {name}.union(*(_named(a) for a in arguments))
        case tree.Power(base=base):  # ``||v||_A^2 := v^T A v``
            return _named(base)
    return set()


def _unknowns(node: tree.Node) -> set[str]:
    """Letters in the columns of a system of equations that is solved for them."""
    columns = (p for p in node.walk() if isinstance(p, tree.Call) and p.function == "matrix")
    return set().union(*(tree.letters(p) for p in columns))


def _in_a_claim(sentence: Sentence, name: str) -> bool:
    """Whether the formula claims something of the letter: inline it may introduce it, but not in a fraction."""
    words = [r.word for chain in sentence.chains() for r in chain.relations]
    if sentence.read.formula.kind == "display":
        return bool(words)
    parts = (p for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Divide))
    return ":=" in words or (bool(words) and any(name in tree.letters(p) for p in parts))


def _display(paper: Paper, name: str) -> str:
    entry = paper.notation.by_name.get((name, "letter")) or paper.notation.by_name.get((name, "sequence"))
    if entry is None or entry.kind == "set":
        return name if len(name) == 1 and not IDENTITY.match(name) else ""
    known = WORD.match(entry.atom.symbol) or IDENTITY.match(entry.atom.symbol)
    return "" if entry.atom.sub is not None or known else entry.display
