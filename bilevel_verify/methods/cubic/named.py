"""Second-order methods that papers name: FSBA, LFSBA, LMCN, MCN and their one-level originals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from bilevel_verify.methods.cubic.arithmetic import Array, norm, square_root
from bilevel_verify.methods.cubic.looped import NEEDS, loop_of_cubic, make_cubic
from bilevel_verify.methods.cubic.loops import DANSKIN, LAZY, SINGLE_LEVEL, SMALL_GRADIENT, SMALL_STEP
from bilevel_verify.methods.cubic.loops import PENALTY as PENALTY_KIND
from bilevel_verify.methods.cubic.models import Danskin, Penalty, SingleLevel
from bilevel_verify.methods.cubic.stepper import Iteration, Plan
from bilevel_verify.methods.registry import Letter, Method, Reading, register

FSBA_SHEET = "fsba"


def small_step(letters: Mapping[str, float], seen: Iteration) -> bool:
    """Line 8 of Algorithm 2: ``|s_t| <= sqrt(eps/M)/2``; not asked without eps."""
    if "eps" not in letters:
        return False
    return bool(norm(seen.step.s) <= square_root(letters["eps"] / letters["M"]) / 2)


def lazy_test(letters: Mapping[str, float], seen: Iteration) -> bool:
    """Line 10 of Algorithms 4 and 5, with the snapshot and the iterate before the step."""
    if "eps" not in letters:
        return False
    M, rho_bar = letters["M"], letters["rho_bar"]
    moved = (M + 2 * rho_bar) / square_root(0 * M + 2) * norm(seen.step.s)
    away = rho_bar * norm(seen.snapshot - seen.x)
    return bool(letters["eps"] >= (moved + away) ** 2 * 288**2 / (M * 287**2))


def small_gradient(letters: Mapping[str, float], gradient: Array) -> bool:
    """``|grad| <= eps`` before the step; not asked without eps."""
    return "eps" in letters and bool(norm(gradient) <= letters["eps"])


M, T, EPS = Letter("M"), Letter("T", "count"), Letter("eps", optional=True)
SNAPSHOT, RHO_BAR = Letter("m", "count", default=1), Letter("rho_bar", "nonnegative")
PENALTY = (
    Letter("lam"), Letter("K1", "count"), Letter("K2", "count"), Letter("l1"), Letter("l2"), Letter("kappa1"),
    Letter("kappa2"),
)  # fmt: skip
ASCENT = (Letter("K", "count"), Letter("l1"), Letter("kappa1"))

BREAK = Reading(
    "Algorithm 2, lines 8-11",
    "break, then output x_{t+1}",
    "x_{t+1} = x_t + s_t is formed also in the iteration that ends the run",
    "x_{t+1} is not assigned where the loop is left by line 8",
)
STOPPING = Reading(
    "stopping",
    "not given for one level",
    "before a step, where the gradient norm is at most eps",
    "line 8 of Algorithm 2 (a small step ends the run) is the other reading: cubic-newton-step",
)
AGD_INDEX = Reading("Algorithm 1, line 4", "z_{t+1}", "z_{k+1}", "t is the outer index; no z_{t+1} exists")


def _register(
    name: str, title: str, kind: str, letters: tuple[Letter, ...], plan: Plan, statement: str, **more: Any
) -> None:
    sequences = {"x": "own", **dict.fromkeys(plan.sequences, "own")}
    register(
        Method(
            name=name,
            title=title,
            kinds=(kind,),  # type: ignore[arg-type]
            letters=letters,
            sequences=MappingProxyType(sequences),
            paper=FSBA_SHEET,
            statement=statement,
            restarts=False,
            oracles=frozenset(NEEDS[plan.kind]),
            runner=partial(make_cubic, plan=plan),
            loop_of=loop_of_cubic,
            **more,
        )
    )


_LEVELS = {"y": "y", "w": "y", "u": "x", "s": "x"}
_ASCENT = {"y": "y", "u": "x", "s": "x"}
_ONE = {"u": "x", "s": "x"}

_FSBA = Plan(Penalty, False, None, small_step, _LEVELS, PENALTY_KIND, SMALL_STEP)
_LFSBA = Plan(Penalty, True, None, lazy_test, _LEVELS, PENALTY_KIND, LAZY)
_LMCN = Plan(Danskin, True, None, lazy_test, _ASCENT, DANSKIN, LAZY)
_MCN = Plan(Danskin, False, None, small_step, _ASCENT, DANSKIN, SMALL_STEP)
_NEWTON = Plan(SingleLevel, True, small_gradient, None, _ONE, SINGLE_LEVEL, SMALL_GRADIENT)
_SMALL_STEP = Plan(SingleLevel, True, None, small_step, _ONE, SINGLE_LEVEL, SMALL_STEP)

_register(
    "fsba", "FSBA", "bilevel", (M, T, EPS, *PENALTY), _FSBA, "theorem-3-4",
    readings=(BREAK, AGD_INDEX), source="fsba, Algorithm 2",
)  # fmt: skip
_register(
    "lfsba", "LFSBA (lazy Hessians)", "bilevel", (M, T, EPS, SNAPSHOT, RHO_BAR, *PENALTY),
    _LFSBA, "theorem-4-3", readings=(AGD_INDEX,), source="fsba, Algorithm 4",
)  # fmt: skip
_register(
    "lmcn", "LMCN (lazy minimax cubic Newton)", "minimax", (M, T, EPS, SNAPSHOT, RHO_BAR, *ASCENT),
    _LMCN, "theorem-4-7", readings=(AGD_INDEX,), source="fsba, Algorithm 5",
)  # fmt: skip
_register(
    "mcn", "MCN (minimax cubic Newton)", "minimax", (M, T, EPS, *ASCENT),
    _MCN, "theorem-4-7", source="Luo, Li, Chen 2022, as recalled",
)  # fmt: skip
_register(
    "cubic-newton", "Cubic Newton", "single_level", (M, T, EPS, SNAPSHOT), _NEWTON, "section-1-7",
    readings=(STOPPING,), source="Nesterov, Polyak 2006, as recalled",
)  # fmt: skip
_register(
    "cubic-newton-step", "Cubic Newton, ended by a small step", "single_level", (M, T, EPS, SNAPSHOT),
    _SMALL_STEP, "section-1-7", source="FSBA, Algorithm 2, for one level",
)  # fmt: skip
_register(
    "lazy-cubic-newton", "Lazy cubic Newton", "single_level", (M, T, EPS, SNAPSHOT), _NEWTON, "section-4-1",
    source="Doikov, Chayti, Jaggi 2023, as recalled",
)  # fmt: skip
