"""What was understood of a display, as trees, as text of the card language and as LaTeX again."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex.echo import statements_latex
from bilevel_verify.latex.notation import Notation
from bilevel_verify.latex.statements import Statement


@dataclass(frozen=True, slots=True)
class Reading:
    """A display as it was understood. ``displays`` are the letters met, name -> LaTeX."""

    statements: tuple[Statement, ...]
    source: str = field(compare=False, repr=False)
    notation: Notation = field(compare=False, repr=False)
    displays: dict[str, str] = field(compare=False, repr=False, default_factory=dict)

    @property
    def tree(self) -> tree.Node:
        """The tree of a formula that is one statement of the card language.

        Raises
        ------
        LatexError : several statements, or a relation that cards do not have.
        """
        found = self.statements[0].tree if len(self.statements) == 1 else None
        if found is None:
            what = "several statements" if len(self.statements) > 1 else "a relation that cards do not have"
            raise LatexError(f"{what}; read .statements", "syntax")
        return found

    @property
    def text(self) -> str:
        """Everything as text of the card language; statements are separated by semicolons."""
        return "; ".join(f"{s.word} {s.text}".strip() for s in self.statements)

    def latex(self) -> str:
        """Typeset echo, made from the trees alone; reading it again gives the same statements."""
        return statements_latex(self.statements, self.notation, self.displays)

    def __str__(self) -> str:
        return self.text
