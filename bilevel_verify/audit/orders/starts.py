"""Where a family sets out: a point at which every hypothesis holds, and no logarithm begins at 0."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from bilevel_verify.audit.orders.monomials import Bound, Clauses, NoOrder, Regime

if TYPE_CHECKING:
    from z3 import ArithRef, BoolRef, CheckSatResult, Context, Solver


class Directions(Protocol):
    """What a question about starts needs of the directions that it belongs to (:mod:`rays`)."""

    z3: ModuleType
    context: Context
    direction: dict[str, ArithRef]
    regime: Regime

    def number(self, value: Fraction) -> ArithRef: ...
    def slope(self, clauses: Clauses, direction: dict[str, ArithRef]) -> ArithRef: ...
    def written(self) -> list[BoolRef]: ...
    def solver(self) -> Solver: ...
    def ask(self, solver: Solver) -> CheckSatResult: ...


def inside(directions: Directions, strictly: bool) -> dict[str, int]:
    """Whole exponents of 2 at which every condition of the regime holds, as many as are not 0.

    ``strictly`` asks for a point inside of the regime with no letter at 1 (where logarithms begin), if there is
    one.

    Raises
    ------
    NoOrder : no such point was found.
    """
    z3 = directions.z3
    whole = {name: z3.Int(f"w_{name}", directions.context) for name in directions.direction}
    bounds = directions.regime.bounds or tuple(Bound(row) for row in directions.regime.rows)
    bounds = tuple(sorted(bounds, key=lambda bound: (sorted(bound.row.items()), bound.size, bound.strict)))
    sums = [
        z3.Sum([directions.number(b.size), *(directions.number(v) * whole[n] for n, v in sorted(b.row.items()))])
        for b in bounds
    ]
    holds = [row > 0 if b.strict else row >= 0 for row, b in zip(sums, bounds)]
    apart = [w != 0 for w in whole.values()]
    above = [directions.slope(clauses, whole) >= 1 for clauses in directions.written()]
    tries = [[*(row >= 1 for row in sums), *apart, *above], [*holds, *apart, *above], [*holds, *above]]
    tries += [[*(row >= 1 for row in sums), *apart], [*holds, *apart], holds]
    if not strictly:
        tries = [[*holds, *(w == 0 for w in whole.values())], [row >= 1 for row in sums], holds]
    for constraints in tries:
        solver = directions.solver()
        solver.add(*constraints, *(z3.And(w >= -64, w <= 64) for w in whole.values()))
        if directions.ask(solver) == z3.sat:
            model = solver.model()
            found = {name: model.eval(w, model_completion=True).as_long() for name, w in whole.items()}
            return {name: value for name, value in found.items() if value}
    raise NoOrder("no starting point at which every hypothesis holds was found")
