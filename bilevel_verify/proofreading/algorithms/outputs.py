"""What an algorithm puts out: names that no line assigns, no input has and the text gives nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES, ORDERED
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems import algorithm as script

GIVES = re.compile(r"\b(?:let|denot\w*|defin\w*|where|set|with|choose|pick|draw|take|for|fix|given?)\W*\Z", re.I)
MEANS = re.compile(r"\A\W*(?:denotes?|be|(?:is|are) (?:defined|the|chosen|drawn|given|taken|set)|stands?)\b", re.I)
UNNAMED = re.compile(r"([A-Za-z]+)_(?:[a-z]+_)?(hat|tilde|bar|check)\Z")
ACCENTED = re.compile(r"_(?:hat|tilde|bar|check)\Z")
UNREAD = re.compile(r"\\(?:wide)?(hat|tilde|bar|check)[\s{]*(?:\\(?:bm|boldsymbol|math[a-z]+|bf)[\s{]*)*\\?([A-Za-z]+)")
INDEX = re.compile(r"(?:_(?!(?:hat|tilde|bar|check|star|bf|cal|bb|fr|scr|sf)(?:_|\Z))[^_]+)+\Z")


def said_in(paper: Paper) -> frozenset[str]:
    """Names that the text around the algorithms gives; ``L[]`` of a family of constants, ``x?`` of what it mentions."""
    return frozenset(n for s in paper.sentences if s.read.formula.kind != "algorithm-line" for n in _said(s))


def _said(sentence: Sentence) -> Iterator[str]:
    yield from (f"{name}?" for name in sentence.names())
    yield from (f"{m[2]}_{m[1]}!" for m in UNREAD.finditer(sentence.latex) if not sentence.read.statements)
    worded = GIVES.search(sentence.before) is not None or MEANS.match(sentence.after) is not None
    for chain in sentence.chains():
        words = {r.word for r in chain.relations}
        yield from (n for side in chain.members if worded or words & EQUATES for n in _named(side))
        if words and words <= ORDERED and any(tree.rational(m) is not None for m in chain.members):
            yield from (f"{m.base}[]" for m in chain.members if isinstance(m, tree.Index))


def _named(side: tree.Node) -> Iterator[str]:
    """A letter or sequence that is a side of its own, or one of a list or pair."""
    match side:
        case tree.Letter(name=name) | tree.Index(base=name):
            yield name
        case tree.Call(function="list", arguments=parts) | tree.Tuple(items=parts):
            for part in parts:
                yield from _named(part)


def unmade(program: script.Program, given: frozenset[str]) -> Iterator[tuple[script.Statement, str, str]]:
    """Line and name of what is put out, or read with an accent, and that no line assigns; which of the two it is."""
    statements = list(program.walk())
    targets = [t for s in statements if isinstance(s, script.Assign) for t in s.targets]
    known = given.union(*map(_named, targets), (s.index for s in statements if isinstance(s, script.For)))
    known |= {INDEX.sub("", name) for target in targets for name in _named(target)}
    for statement in statements:
        if isinstance(statement, script.Return):
            for name in (n for v in statement.values if not isinstance(v, tree.Tuple) for n in _named(v)):
                if not {name, INDEX.sub("", name), UNNAMED.sub(r"\1_\2!", name)} & known:  # x_K may be an entry of x
                    yield statement, name, "put out"
                    known |= {name}
        letters = {n for node in script.expressions_of(statement) for n in tree.letters(node)}
        for name in sorted(
            n for n in letters if ACCENTED.search(n) and not {n, f"{n}?", UNNAMED.sub(r"\1_\2!", n)} & known
        ):
            yield statement, name, "read"
            known |= {name}
