"""Short runs are interpreted: a compiler costs seconds, and most runs that a user waits for need none.

A run that leaves the choice to us begins in plain Python. If it ends within :data:`MOST_WORK`, that was the run; else
it is thrown away and begun anew in machine code, which is what it costs to know. Both forms agree bit for bit
(``tests/methods/test_methods_forms.py``); where they might not, the interpreted run is never the one that is kept.

Sums over data are passes of NumPy outside machine code and loops inside, which add in another order. There the number
of calls alone decides which form is kept, never what happened before in the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.methods.engine import Outcome, Setup, needed_oracles, oracles_of
from bilevel_verify.methods.forms import is_here, is_loaded
from bilevel_verify.methods.memory import Arithmetic
from bilevel_verify.methods.recorder import Block
from bilevel_verify.methods.registry import ESTIMATORS, SCHEMES, Method
from bilevel_verify.methods.run import Status
from bilevel_verify.oracles.convention import CALLS
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_WORK = 3_000_000
"""Most operations of a run that is interpreted, about half a second; a call of an oracle has those of its source."""
OF_A_CALL = 100
"""Operations that a call costs besides those of the oracle."""
OF_A_PASS = 250
"""Operations that a pass of NumPy over data costs besides its numbers (measured: 35 to 40 microseconds)."""
NUMBERS_OF_AN_OPERATION = 500
"""How many numbers of data a pass reads while plain Python does one operation."""
MORE_FOR_DATA = 4
"""Sums over data may take so many times more work: they take longer to compile, and less is won."""
LARGEST_DIMENSION = 24
"""Beyond, the sources of the oracles take longer to derive than machine code that is kept on disk takes to load."""
DIFFERENT = ("asinh",)
"""Functions whose last digit is not the same in both forms."""


ENOUGH = 2 * MOST_WORK
"""Operations that all runs of a loop on a problem may take before its machine code is made: it costs about as much."""
Place = tuple[str, str | None, str | None]
LONG: set[Place] = set()
"""Loops on problems (by content) that were found to run long in this process, or often: they are not tried again."""
SPENT: dict[Place, int] = {}
"""Operations of the runs that were kept."""


def _loop_on(problem: Problem, method: Method) -> Place:
    return oracles_of(problem).programs.digest, method.scheme or method.name, method.estimator


def found_long(problem: Problem, method: Method) -> None:
    """Somebody has interpreted a run of a method on a problem, and it was long."""
    LONG.add(_loop_on(problem, method))


def sums_over_data(problem: Problem) -> bool:
    """Whether plain Python and machine code may differ in the last digits: NumPy adds the samples in its own order."""
    return any(expression is not None and expression.has(DataSum) for expression in (problem.f, problem.g))


def may_be_short(setup: Setup) -> bool:
    """Whether a run should begin in plain Python: neither its machine code is at hand, nor is it surely too long."""
    method, letters, problem = setup.method, setup.letters, setup.problem
    own_loop = None if method.loop_of is None else method.loop_of(setup)
    if getattr(problem, "ready_oracles", None) is not None or (method.runner is not None and own_loop is None):
        return False
    held = oracles_of(problem)
    needs = needed_oracles(method, letters)
    summed = {name[-1] for name in needs if held.programs.has_data_sums(name[-1])}
    if summed:
        return all(held.programs.data_can_be_compiled(which) for which in summed)
    if problem.dx + problem.dy > LARGEST_DIMENSION:
        return False
    if own_loop is not None:
        return not (held.ready(needs) and is_here(own_loop)) and _loop_on(problem, method) not in LONG
    estimator = ESTIMATORS[method.estimator or ""]
    name_of = dict(method.renamed)
    inner = [letters.get(name_of.get(letter.name, letter.name), 0) for letter in estimator.lengths]
    if max((max(n) if isinstance(n, tuple) else int(n) for n in inner), default=0) * OF_A_CALL > MOST_WORK:
        return False
    if held.ready(needs) and is_loaded(SCHEMES[method.scheme or ""], estimator, setup.tested):
        return False
    return _loop_on(problem, method) not in LONG


class InterpretedFirst:
    """A stepper that interprets the run and, if it is long, hands it to another one from its start.

    Parameters
    ----------
    make : the stepper of a set-up; it says whether Python ``raised`` in it, and has its ``oracles``.
    """

    def __init__(self, setup: Setup, make: Callable[[Setup], Any]) -> None:
        self.setup, self.make = setup, make
        self.blocks: list[Block] = []
        self.outcome: Outcome | None = None
        self.begun = False
        needs = needed_oracles(setup.method, setup.letters)
        programs = oracles_of(setup.problem).programs
        sources = [programs.source(name) for name in sorted(needs)]
        numbers = max((programs.data_numbers(name[-1]) for name in needs), default=0)
        work = OF_A_CALL + max((source.size for source in sources), default=0)
        work += OF_A_PASS + numbers // NUMBERS_OF_AN_OPERATION if numbers else 0
        self.work = work
        self.most = min(setup.budget[0], (MORE_FOR_DATA if numbers else 1) * MOST_WORK // work)
        self.different = any(f"{name}(" in source.text for name in DIFFERENT for source in sources)
        short = replace(setup, arithmetic=Arithmetic("plain"), budget=(self.most, setup.budget[1]))
        self.stepper: Any = make(setup if self.different else short)
        self.begun = self.different

    @property
    def counts(self) -> NDArray[np.int64]:
        """Counters of the run."""
        found: NDArray[np.int64] = self.stepper.counts
        return found

    @property
    def compiled(self) -> bool:
        """Whether the run that is kept was machine code."""
        return bool(self.stepper.compiled)

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See :class:`Stepper`."""
        if not self.begun:
            self.begun = True
            if self._interpret():
                self._note_work()
            else:
                found_long(self.setup.problem, self.setup.method)
                self.blocks, self.outcome = [], None
                self.stepper = self.make(self.setup)
        if not self.blocks:
            answer: tuple[Block, Outcome | None] = self.stepper.advance(rows)
            return answer
        block = self.blocks.pop(0)
        return block, None if self.blocks else self.outcome

    def stop(self, status: Status) -> Outcome:
        """See :class:`Stepper`."""
        outcome: Outcome = self.stepper.stop(status)
        return outcome

    def _note_work(self) -> None:
        """Short runs that are asked for again and again are as good as a long one."""
        place = _loop_on(self.setup.problem, self.setup.method)
        SPENT[place] = SPENT.get(place, 0) + self.work * int(self.counts[CALLS])
        if SPENT[place] > ENOUGH:
            LONG.add(place)

    def _interpret(self) -> bool:
        """The whole run in plain Python; False if it is too long or left what both forms have in common."""
        stepper = self.stepper
        while self.outcome is None:
            block, self.outcome = stepper.advance(1024)
            self.blocks.append(block)
        # a loop that asks before a block of calls ends below its limit: what the user ends is told by the iterations
        theirs = self.outcome.iterations >= self.setup.budget[1] and stepper.counts[CALLS] <= self.most // 2
        cut = self.outcome.status == "budget" and self.most < self.setup.budget[0] and not theirs
        return not (cut or stepper.raised or any(getattr(oracle, "careful", ()) for oracle in stepper.oracles))
