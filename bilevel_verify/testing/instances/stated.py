"""What every instance of the kit can do with its own text: be saved, read back as a problem, and printed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem


class Stated(ABC):
    """An instance that writes itself as a problem file; the SymPy form is built when it is asked for."""

    @abstractmethod
    def toml(self) -> str:
        """The text of a problem file."""

    def save(self, path: str | Path) -> Path:
        """Write the problem file; ``bilevel_verify.load`` reads it back."""
        target = Path(path)
        target.write_text(self.toml(), encoding="utf8")
        return target

    def problem(self) -> Problem:
        """The SymPy form, as the rest of the package takes it (built at the first call)."""
        return self._problem

    @cached_property
    def _problem(self) -> Problem:
        from bilevel_verify.problems import loads
        from bilevel_verify.problems.problem import Problem

        found = loads(self.toml())
        assert isinstance(found, Problem)  # the text belongs to no family
        return found

    def sympy(self) -> Mapping[str, object]:
        """The formulas as SymPy expressions."""
        stated = self.problem()
        return {"f": stated.f} if stated.g is None else {"f": stated.f, "g": stated.g}

    def _formulas(self) -> str:
        return ", ".join(f"{name} = {formula}" for name, formula in self.sympy().items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis and IPython print: the SymPy form."""
        printer.text(f"<{self}>")
