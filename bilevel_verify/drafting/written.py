"""A formula of a paper as it is read: macros written out, taken apart once for all who look at it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bilevel_verify.drafting.document import Document, Formula
from bilevel_verify.drafting.macros import written_out
from bilevel_verify.drafting.scanning import END_OF_PROOF
from bilevel_verify.errors import LatexError
from bilevel_verify.latex.source.items import Item
from bilevel_verify.latex.source.structure import build
from bilevel_verify.latex.source.tokens import LIMITS, Source

AWAY = re.compile(
    r"\\(?:label|tag|(?:ref)?stepcounter)\*?\s*\{[^{}]*\}|\\(?:addto|set)counter\s*\{[^{}]*\}\s*\{[^{}]*\}"
    r"|\\(?:begin|end)\{(?:subequations|small|footnotesize)\}"
    r"|\\(?:IEEEeqnarraynumspace|qedhere|smash|mathstrut)(?![A-Za-z])"
    rf"|{END_OF_PROOF}\s*\Z"
)


@dataclass(frozen=True)
class Written:
    """The LaTeX of a formula; ``changed`` says that a macro was written out, ``error`` why none could be."""

    latex: str
    changed: bool = False
    error: LatexError | None = None

    @cached_property
    def source(self) -> Source:
        """The text with its tokens."""
        return Source(self.latex, LIMITS)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Its symbols, groups and scripts before any notation; none where it cannot be taken apart."""
        try:
            return () if self.error is not None else tuple(build(self.source, list(self.source.tokens)))
        except (LatexError, RecursionError):
            return ()


def written(document: Document, formula: Formula) -> Written:
    """A formula of a paper as it is read; every place of the paper is looked at once."""
    if formula.at not in document.written:
        document.written[formula.at] = _written(document, formula)
    found = document.written[formula.at]
    assert isinstance(found, Written)
    return found


def _written(document: Document, formula: Formula) -> Written:
    latex = cleaned(formula.clean)
    try:
        latex, changed = written_out(latex, document.macros)
        return Written(cleaned(latex) if changed else latex, changed)
    except LatexError as error:
        return Written(formula.clean, True, error)


def cleaned(latex: str) -> str:
    """Spellings that mean the same to a reader of the page; what goes away leaves blanks, so that places stay."""
    latex = AWAY.sub(lambda m: " " * len(m[0]), latex)
    latex = latex.replace(r"\mathds", r"\mathbb").replace(r"\mathbbm", r"\mathbb ")
    latex = re.sub(r"\\rm\s*\{\s*([A-Za-z]+)\s*\}", r"\\mathrm{\1}", latex)
    return re.sub(r"\\(?:intertext|shortintertext)\s*\{[^{}]*\}", r"\\\\ ", latex)
