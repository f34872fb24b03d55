"""The search for the largest share of a bound over families: all of them sampled first, then the best ones worked on.

Sobol points of every family, each judged for all claims at once; then, claim by claim, differential evolution from the
best points of the best family and Nelder-Mead from its best, in rounds that grow. The order of the candidates depends
on the seed alone: time and interrupts only decide where it ends, and a search that is resumed goes on where it was.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from bilevel_verify.checks.requests.request import Request
from bilevel_verify.errors import ProblemError
from bilevel_verify.worst.family import Candidate, Family
from bilevel_verify.worst.memory import Memory
from bilevel_verify.worst.screening import Screened, Share, Target, screen

SAMPLED = 32
"""Sobol points of a family in the first round; a power of two."""
PROBED = 8
"""Candidates after which a family that decided nothing is left out."""
POPULATION = 10
EVOLVED = 40
POLISHED = 60
"""Evaluations of differential evolution and of Nelder-Mead for one claim in the first round; later ones double them."""
SILENT = 3
"""Rounds after which a search gives up whose candidates decide nothing."""
ATTAINED = 1 - 1e-9
"""A claim whose share is this large is not searched any further."""
NUMBERS = re.compile(r"(?<![\w-])(?<!\bline )-?\d[\d./e+-]*")
"""Reasons that differ in their numbers alone are counted together."""
Progress = Callable[[int, float], None]
"""Called after each candidate: how many were tried, seconds."""


class Exhausted(Exception):
    """Candidates or time are used up."""


@dataclass(frozen=True, slots=True)
class Best:
    """The largest share of one claim so far."""

    share: Share
    family: Family
    u: tuple[float, ...]


@dataclass
class Search:
    """A search over families for one statement.

    Attributes
    ----------
    eps : one tolerance for all candidates, or None where ``with_eps`` says that it is searched too.
    most : different candidates, ``deadline`` : on the clock of ``time.monotonic``; the first of them ends the search.
    best : claim -> its largest share. ``history`` : (number of the candidate, claim, family, share) of every one.
    """

    request: Request
    targets: Sequence[Target]
    families: Sequence[Family]
    memory: Memory
    eps: float | None = None
    with_eps: bool = False
    most: int | None = None
    deadline: float = inf
    seed: int = 0
    progress: Progress | None = None
    tried: int = 0
    places: int = 0
    decided: int = 0
    interrupted: bool = False
    best: dict[str, Best] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    decided_on: Counter[str] = field(default_factory=Counter)
    seen: set[tuple[str, tuple[float, ...]]] = field(default_factory=set)
    history: list[tuple[int, str, str, float]] = field(default_factory=list)
    elite: dict[tuple[str, str], list[tuple[float, tuple[float, ...]]]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Search until candidates or time are used up, every claim is attained, or an interrupt."""
        try:
            with suppress(Exhausted):
                rounds = 0
                while rounds < SILENT if not self.best else self._open():
                    self._sample(rounds)
                    for name in self._open():
                        self._evolve(name, rounds)
                        self._polish(name, rounds)
                    rounds += 1
        except KeyboardInterrupt:
            self.interrupted = True

    def sample(self) -> None:
        """Sobol points alone, as long as candidates are left."""
        with suppress(Exhausted):
            for rounds in range(SILENT):
                self._sample(rounds)

    def _open(self) -> list[str]:
        """Claims with a share below one, the loosest last: what is nearly attained is decided soonest."""
        found = [name for name, best in self.best.items() if best.share.ratio < ATTAINED]
        return sorted(found, key=lambda name: (-self.best[name].share.ratio, name))

    # --- candidates ---------------------------------------------------------------------------------------------------

    def shares(self, family: Family, point: Iterable[float]) -> Screened:
        """What a candidate uses up of every claim; remembered candidates cost nothing.

        Raises
        ------
        Exhausted : nothing is left.
        """
        u = tuple(round(min(1.0, max(0.0, float(value))), 12) for value in point)
        known = self.memory.get(family.name, u)
        if known is not None and (family.name, u) in self.seen:
            return known
        if (self.most is not None and self.tried >= self.most) or time.monotonic() > self.deadline:
            raise Exhausted
        found = known or self._screen(family, u)
        if known is None:
            self.memory.put(family.name, u, found)
        self.seen.add((family.name, u))
        self.tried += 1
        self.places += found.places
        self._take(family, u, found)
        if self.progress is not None:
            self.progress(self.tried, time.monotonic() - self.started)
        return found

    def _screen(self, family: Family, u: tuple[float, ...]) -> Screened:
        try:
            candidate = family.candidate(u, self.eps, self.with_eps)
        except ProblemError as error:
            return Screened(skipped=str(error).splitlines()[0][:200])
        return screen(self.request, self.targets, candidate)

    def _take(self, family: Family, u: tuple[float, ...], found: Screened) -> None:
        if found.skipped:
            self.skipped[NUMBERS.sub("#", found.skipped)] += 1
            return
        self.decided += 1
        self.decided_on[family.name] += 1
        for name, share in found.shares.items():
            self.history.append((self.tried, name, family.name, share.ratio))
            old = self.best.get(name)
            if old is None or share.ratio > old.share.ratio:
                self.best[name] = Best(share, family, u)
            elite = self.elite.setdefault((name, family.name), [])
            elite.append((share.ratio, u))
            elite.sort(key=lambda pair: -pair[0])
            del elite[POPULATION:]

    def candidate(self, best: Best) -> Candidate:
        """The candidate behind a share."""
        return best.family.candidate(best.u, self.eps, self.with_eps)

    # --- stages -------------------------------------------------------------------------------------------------------

    def _sample(self, rounds: int) -> None:
        """The next Sobol points of all families in turn; one that decides nothing is left out where others do."""
        from scipy.stats import qmc

        many = SAMPLED * 2**rounds
        first = many // 2 if rounds else 0
        points = [
            qmc.Sobol(family.size(self.with_eps), seed=np.random.default_rng([self.seed, place])).random(many)
            for place, family in enumerate(self.families)
        ]
        for number in range(first, many):
            for family, us in zip(self.families, points):
                if number < PROBED or not self.best or self.decided_on[family.name]:
                    self.shares(family, us[number])

    def _objective(self, name: str, family: Family) -> Callable[[np.ndarray], float]:
        """What is minimised: minus the share; a candidate that is skipped is worse than any."""

        def objective(u: np.ndarray) -> float:
            outside = float(np.sum(np.maximum(0, np.abs(np.asarray(u) - 0.5) - 0.5)))
            share = self.shares(family, u).shares.get(name)
            return (1e6 if share is None else -min(share.ratio, 1e6)) + outside

        return objective

    def _evolve(self, name: str, rounds: int) -> None:
        """Differential evolution of one claim on the family where its share is largest."""
        from scipy.optimize import Bounds, differential_evolution

        family = self.best[name].family
        size = family.size(self.with_eps)
        rng = np.random.default_rng([self.seed, 1, rounds])
        first = [u for _, u in self.elite[name, family.name]]
        near = [np.clip(first[0] + 0.1 * rng.standard_normal(size), 0, 1) for _ in range(max(0, 5 - len(first)))]
        most = max(1, EVOLVED * 2**rounds // max(5, len(first)))
        differential_evolution(
            self._objective(name, family), Bounds(np.zeros(size), np.ones(size)), init=np.array([*first, *near]),
            maxiter=most, mutation=(0.4, 0.9), rng=rng, polish=False, tol=0.0, atol=0.0,
        )  # fmt: skip

    def _polish(self, name: str, rounds: int) -> None:
        """Nelder-Mead from the best candidate of a claim."""
        from scipy.optimize import minimize

        best = self.best[name]
        start = np.array(best.u)
        steps = 0.08 / 2**rounds * np.diag(np.where(start < 0.5, 1.0, -1.0))
        options: Any = {"maxfev": POLISHED * 2**rounds, "xatol": 1e-9, "fatol": 1e-13}
        options["initial_simplex"] = np.vstack([start, start + steps])
        minimize(self._objective(name, best.family), start, method="Nelder-Mead", options=options)
