"""Controls: deliberately broken solvers and estimators, and the matrix of which assertion catches which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bilevel_verify.testing import references as ref
from bilevel_verify.testing.assertions import gradients, inner_solvers, simple_solvers, solvers, statements
from bilevel_verify.testing.assertions.metamorphic import RELATIONS, SPELLING, assert_metamorphic
from bilevel_verify.testing.references.stated import BILEVEL, ROSENBROCK
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, profile

Function = Callable[..., object]


@dataclass(frozen=True)
class Control:
    """One broken callable. ``make`` gives a fresh one (some remember); ``catalogue`` : the reported bug it repeats."""

    name: str
    protocol: str
    make: Callable[[], Any]
    catalogue: str = ""


def _named(function: Function, name: str) -> Function:
    def named(*arguments: object) -> Any:
        return function(*arguments)

    named.__name__ = name
    return named


_FAULTS: tuple[tuple[str, str, Function, str], ...] = (
    (
        "hypergradient",
        "implicit",
        ref.implicit_hypergradient,
        """wrong sign of the implicit part|implicit part zero|factor 1/2 on the cross term|factor 2 on the cross term
        |direct part forgotten|transposed Jacobian|y not solved for|grad_y f at y = 0|Hessian at y = 0|one inner step
        |five inner steps|identity for the inverse Hessian|multiplies by the Hessian|damped Hessian
        |Hessian-vector product without symmetry|diagonal of the Hessian|three terms of the Neumann series
        |Neumann series without step|CG: direction from the old residual|CG: one step short|all zero|zero for scalars
        |gradient of -phi|overwrites x|a column instead of a vector|sum instead of vector|NaN|None
        |rounded to half precision|clipped|normalised|reversed order""",
    ),
    (
        "hypergradient",
        "penalty",
        ref.penalty_hypergradient,
        """lambda with the wrong sign|y and z exchanged|lambda forgotten|lambda twice|lambda/2|y taken for z
        |second gradient forgotten|grad_x f forgotten|lambda far too small""",
    ),
    (
        "linear",
        "CG",
        ref.conjugate_gradients,
        """direction from the old residual|beta inverted|no conjugation|beta without squares
        |residual with the wrong sign|step without the matrix|one step short|stops after one step
        |returns the residual|wrong sign of b|absolute tolerance|tolerance written 10e-4 for 1e-4
        |divides zero by zero|first direction not the residual|mutates b""",
    ),
    (
        "inner",
        "AGD",
        ref.accelerated_descent,
        """mu and L exchanged|no momentum|momentum sqrt(kappa) for (sqrt(kappa)-1)/(sqrt(kappa)+1)
        |momentum with the wrong sign|momentum with kappa for its root|step 1/mu|step 1/(2 L)|step 2.5/L|step 1
        |momentum of convex functions, k for k + 1|momentum off by one|gradient at the previous iterate
        |gradient at x instead of w|steps from x instead of w|ascent|returns w instead of x
        |one iterate late|asks twice""",
    ),
    (
        "descent",
        "GD",
        ref.descent,
        """step 1 without L|step 2.5/L|step 1/(10 L)|Polyak step with f* = 0|decaying step|gradient of the call before
        |first coordinate only|normalised gradient|ascent""",
    ),
    (
        "solver",
        "restarted",
        ref.restarted_descent,
        """theta for 1 - theta|gradient at x instead of y|sum forgotten|averages x instead of y|k + 1 for k in the test
        |test without k|B for B^2|missing restart|momentum kept at restart|restarts at the old point|k = 1 after restart
        |sum kept at restart|last iterate instead of the average|shortest step of the whole epoch|averages one too many
        |averages one too few|averages from k = 1""",
    ),
    (
        "counts",
        "counts",
        ref.reporting_solver,
        """half the calls counted|both parts counted twice|products not counted|lower level counted as upper level
        |counts of the last step only|stopping test not counted""",
    ),
    (
        "method",
        "minimax",
        ref.hyper_descent,
        """two steps|one inner step from zero, its error ignored|lower level solved for -y
        |squared norm against eps|tolerance written 10e-4|gives up
        |returns the point before|mean for sum in the norm""",
    ),
    (
        "two levels",
        "two levels",
        ref.two_level_descent,
        """stops after three steps|stops at sqrt(eps)|line search with the y of the start|no line search
        |single level: the lower level is forgotten|adjoint with the wrong sign|gives up on a long search
        |certifies a lower level that is not optimal|returns the y of the start|returns grad_y g for y""",
    ),
    (
        "simple bilevel",
        "regularised",
        ref.regularised,
        """sigma 1|f and g exchanged|sigma forgotten|twenty steps|f is maximised|leaves the set""",
    ),
    (
        "hyper-Hessian",
        "hyper-Hessian",
        ref.hyper_hessian,
        """second derivative through the solver is zero|coarse differences|direct part alone|one-sided, factor 2
        |upper triangle only|diagonal only|wrong sign""",
    ),
    (
        "constants",
        "constants",
        ref.constants_helper,
        """L of the Hessian at 0|mu of the Hessian at 0|mu and L exchanged|L is 1 whatever the function
        |rho from the largest eigenvalue|rho of a quadratic|trace for the largest eigenvalue, halved
        |mu without the curvature of concave terms""",
    ),
)
_BY_HAND = (
    ("rosenbrock", "without the square|factor 2 lost in the gradient"),
    (
        "bilevel",
        """1/2 on the cross term|a row of the KKT system with another sign|second derivative of the atom forgotten
        |max for min above|rows of the mixed block exchanged""",
    ),
)
_CATALOGUE = {
    "CG: direction from the old residual": "betty #15",
    "implicit: CG: direction from the old residual": "betty #15",
    "penalty: lambda with the wrong sign": "benchmark_bilevel #36",
    "penalty: lambda forgotten": "benchmark_bilevel #36",
    "implicit: rounded to half precision": "benchmark_bilevel #37",
    "implicit: factor 1/2 on the cross term": "benchmark_bilevel simulated.py",
    "bilevel by hand: 1/2 on the cross term": "benchmark_bilevel simulated.py",
    "AGD: gradient at the previous iterate": "optimistix #94",
    "GD: gradient of the call before": "optimistix #94",
    "rosenbrock by hand: without the square": "optimistix tests helper",
    "hyper-Hessian: second derivative through the solver is zero": "jaxopt #141/#143",
    "implicit: zero for scalars": "torchopt #222",
    "implicit: implicit part zero": "optimistix #54",
    "implicit: all zero": "optimistix #54",
    "GD: Polyak step with f* = 0": "PEPit #97",
    "GD: step 1 without L": "template_benchmark #49",
    "minimax: lower level solved for -y": "BilevelJuMP #182, #155, #82",
    "bilevel by hand: max for min above": "BilevelJuMP #182, #155, #82",
    "two levels: certifies a lower level that is not optimal": "discopt #638",
    "CG: tolerance written 10e-4 for 1e-4": "gtsam #2629",
    "minimax: tolerance written 10e-4": "gtsam #2629",
    "bilevel by hand: a row of the KKT system with another sign": "GAMS EMP library note",
    "constants: L is 1 whatever the function": "SymPy-based Lipschitz helper",
}


def _controls() -> tuple[Control, ...]:
    found = []
    for protocol, short, function, faults in _FAULTS:
        for fault in (" ".join(text.split()) for text in faults.split("|")):
            name = f"{short}: {fault}"
            make = partial(_named, partial(_with_fault, function, fault), name)
            found.append(Control(name, protocol, make, _CATALOGUE.get(name, "")))
    for problem, faults in _BY_HAND:
        for fault in (" ".join(text.split()) for text in faults.split("|")):
            name = f"{problem} by hand: {fault}"
            by_hand = partial(_ByHand, problem, fault, name)
            found.append(Control(name, f"by hand: {problem}", by_hand, _CATALOGUE.get(name, "")))
    for fault in ("x of the call before", "stale warm start", "few steps from a warm start"):
        found.append(Control(f"remembering: {fault}", "hypergradient", partial(ref.Remembering, fault)))
    found.append(Control("CG: a shared buffer", "linear", ref.shared_buffer))
    others = {
        "coarse finite differences": ref.finite_differences,
        "runs for ever": ref.runs_for_ever,
        "asks for ever": ref.asks_for_ever,
        "raises": ref.raises,
        "ends the process": ref.ends_the_process,
    }
    found += [Control(name, "hypergradient", partial(_named, other, name)) for name, other in others.items()]
    found.append(Control("diagonal solver", "linear", partial(_named, ref.jacobi, "diagonal solver")))
    return tuple(found)


class _ByHand:
    """A problem written by hand, as an object with its functions."""

    def __init__(self, problem: str, fault: str, name: str) -> None:
        self.__name__ = name
        for key, function in ref.written_by_hand(problem, fault).items():
            setattr(self, key, function)


def _with_fault(function: Function, fault: str, *arguments: object) -> object:
    return function(*arguments, fault=fault)


CONTROLS: tuple[Control, ...] = _controls()
REFERENCES: tuple[Control, ...] = (
    *(Control(f"{short}: correct", protocol, partial(_named, f, short)) for protocol, short, f, _ in _FAULTS),
    Control("remembering: correct", "hypergradient", ref.Remembering),
    *(
        Control(f"{name} by hand: correct", f"by hand: {name}", partial(_ByHand, name, "", f"{name} by hand"))
        for name, _ in _BY_HAND
    ),
)

Assertion = Callable[[Function, Profile, int | None], None]


def assertion(function: Callable[..., None], **options: object) -> Assertion:
    """An assertion with its options, to be asked of many subjects."""

    def asked(subject: Function, chosen: Profile, seed: int | None) -> None:
        function(subject, profile_=chosen, seed=seed, **options)

    return asked


_MINIMAX = ("minimax",)
SOLVER_RELATIONS = tuple(relation for relation in RELATIONS if relation != SPELLING)

ASSERTIONS: Mapping[str, Mapping[str, Assertion]] = {
    "hypergradient": {
        "assert_hypergradient": assertion(gradients.assert_hypergradient),
        **{f"metamorphic: {r}": assertion(assert_metamorphic, relation=r) for r in RELATIONS},
    },
    "linear": {"assert_linear_solver": assertion(inner_solvers.assert_linear_solver)},
    "inner": {
        "assert_inner_solver_rate": assertion(inner_solvers.assert_inner_solver_rate),
        "assert_same_iterates": assertion(solvers.assert_same_iterates, reference=ref.accelerated_descent),
    },
    "descent": {
        "assert_descent": assertion(solvers.assert_descent),
        **{f"metamorphic: {r}": assertion(assert_metamorphic, relation=r, protocol="solver") for r in SOLVER_RELATIONS},
    },
    "solver": {
        "assert_same_iterates": assertion(
            solvers.assert_same_iterates, reference=ref.restarted_descent, protocol="solver"
        )
    },
    "counts": {"assert_counts": assertion(solvers.assert_counts)},
    "method": {"assert_stationary": assertion(solvers.assert_stationary, kinds=_MINIMAX)},
    "two levels": {"assert_stationary": assertion(solvers.assert_stationary)},
    "simple bilevel": {"assert_simple_bilevel": assertion(simple_solvers.assert_simple_bilevel)},
    "hyper-Hessian": {"assert_hyper_hessian": assertion(gradients.assert_hyper_hessian)},
    "constants": {"assert_constants": assertion(statements.assert_constants)},
    "by hand: rosenbrock": {"assert_oracles": assertion(statements.assert_oracles, problem=ROSENBROCK)},
    "by hand: bilevel": {"assert_oracles": assertion(statements.assert_oracles, problem=BILEVEL)},
}
"""Protocol of a callable -> the assertions that apply to it."""


@dataclass(frozen=True)
class Matrix:
    """``cells[control][assertion]`` is the contract that broke, or an empty text; a missing assertion did not apply."""

    profile: str
    cells: Mapping[str, Mapping[str, str]]

    @property
    def caught(self) -> tuple[str, ...]:
        """Subjects that some assertion flagged."""
        return tuple(name for name, row in self.cells.items() if any(row.values()))

    @property
    def missed(self) -> tuple[str, ...]:
        """Subjects that no assertion flagged."""
        return tuple(name for name, row in self.cells.items() if not any(row.values()))

    def __str__(self) -> str:
        """One line per control: which assertion caught it, by which contract."""
        width = max((len(name) for name in self.cells), default=0)
        lines = [f"{len(self.caught)} of {len(self.cells)} caught ({self.profile})"]
        for name, row in self.cells.items():
            hits = [f"{assertion} ({contract})" for assertion, contract in row.items() if contract]
            lines.append(f"{name.ljust(width)}  {'; '.join(hits) or 'MISSED'}")
        return "\n".join(lines)


RELATED = 60
"""Most examples of a metamorphic relation in a matrix: they see what they see early, and take the larger part of it."""


def detection_matrix(
    profile_: Profile | str | None = None,
    subjects: tuple[Control, ...] | None = None,
    seed: int | None = None,
    seconds: float = 2.0,
    metamorphic: bool = True,
    assertions: Mapping[str, Mapping[str, Assertion]] | None = None,
) -> Matrix:
    """Which assertion catches which control.

    Parameters
    ----------
    subjects : ``CONTROLS`` by default; ``REFERENCES`` for false alarms. ``seconds`` : limit of one call.
    metamorphic : also the metamorphic relations, the larger part of the time. ``assertions`` : protocol -> assertions.
    """
    chosen = replace(profile(profile_), seconds=seconds, compile_seconds=seconds, simplify=0)
    cells: dict[str, dict[str, str]] = {}
    for control in CONTROLS if subjects is None else subjects:
        row = cells.setdefault(control.name, {})
        for name, asked in (assertions or ASSERTIONS)[control.protocol].items():
            trying = (
                replace(chosen, examples=min(chosen.examples, RELATED)) if name.startswith("metamorphic") else chosen
            )
            if name.startswith("metamorphic") and not metamorphic:
                continue
            row[name] = _broken(asked, control.make(), trying, seed)
            if row[name] in ("never returns", "ends its process"):
                break  # every other assertion would wait as long
    return Matrix(chosen.name, cells)


def _broken(asked: Assertion, subject: Function, chosen: Profile, seed: int | None) -> str:
    try:
        asked(subject, chosen, seed)
    except BrokenContract as failure:
        return failure.contract
    return ""
