"""One group of interacting variables as formulas: its structure, its model, the terms that have rules of their own."""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.constants.calculus.data import data_terms
from bilevel_verify.constants.calculus.quadratic_radial import quadratic_radials
from bilevel_verify.constants.calculus.specials import Special, specials_of
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.gathering import gathered
from bilevel_verify.constants.formula.model import Model
from bilevel_verify.constants.formula.quotients import over_denominators
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.constants.groups.sparse import Analyse, sparse_terms
from bilevel_verify.numbers.rounding import Array


class Group:
    """What the rules of a group look at.

    Attributes
    ----------
    structure, domain, name, effort : as given; the rest is gathered.
    is_x : for every variable whether it belongs to x; ``n`` : how many there are.
    only_specials : sums over data are never expanded: without their rules nothing here is the whole function.
    model : everything but the sums over data. ``plain`` : the same without the terms that have rules of their own.
    specials : those terms.
    """

    def __init__(
        self, structure: Structure, is_x: tuple[bool, ...], domain: Domain, name: str, effort: float, analyse: Analyse
    ) -> None:
        self.is_x, self.domain, self.name, self.effort = is_x, domain, name, effort
        self.n = len(is_x)
        structure = replace(structure, rest=over_denominators(gathered(structure.rest, structure.variables)))
        self.structure = structure
        data, rest = data_terms(structure.rest, structure.variables, is_x)
        self.only_specials = bool(data)
        self.model = Model(replace(structure, rest=rest) if data else structure, is_x)
        self.specials: list[Special] = []
        if structure.rest is not None:
            self.specials, remaining = specials_of(rest, structure.variables) if rest is not None else ([], None)
            radial, remaining = quadratic_radials(remaining, structure.variables)
            sparse, remaining = sparse_terms(remaining, structure.variables, is_x, domain, name, effort, analyse)
            self.specials += [*radial, *sparse, *data]
            self.plain = Model(replace(structure, rest=remaining), is_x) if self.specials else self.model

    def whole(self) -> tuple[Array, Array]:
        """The domain as one box, shape (1, n) each."""
        return self.domain.lo[None, :], self.domain.hi[None, :]

    def label(self, slots: str) -> str:
        """What is bounded: ``sup |nabla^2_yy g|``."""
        names = {1: "nabla", 2: "nabla^2", 3: "D^3", 4: "D^4"}
        block = "" if set(slots) == {"z"} else f"_{slots}"
        return f"sup |{names[len(slots)]}{block} {self.name}|"

    def named(self, point: Array) -> dict[str, float]:
        """A point by the names of its variables."""
        return {v.name: float(x) for v, x in zip(self.structure.variables, point)}
