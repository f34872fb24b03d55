"""Runs of experiments by the campaign engine: tuning over the printed grids, then the seeds, all kept in one store.

Tuning is the same for every method: from the middle of each printed list, the first two letters (the learning rates)
take all pairs of their printed values, then one letter after the other all its values while the others stay; the lowest
value of the experiment's measure is kept (at a target that is a value: the fewest calls), in as many passes as the
size says. The seed of the tuning is 0, those of the
comparison are 1, 2, ....
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.cell import Cell, Limits
from bilevel_verify.campaign.grids import Campaign
from bilevel_verify.campaign.run import Progress, run_campaign
from bilevel_verify.campaign.store import Store
from bilevel_verify.errors import InputError
from bilevel_verify.experiments.data import digest_of
from bilevel_verify.experiments.files import Entry, Experiment, experiment
from bilevel_verify.experiments.targets import cost, goals

if TYPE_CHECKING:
    from bilevel_verify.experiments.work import RunAnswer

WORK = "bilevel_verify.experiments.work:work"
Knobs = dict[str, float]


@dataclass
class Search:
    """The tuning of one method on one variant.

    Attributes
    ----------
    best : knobs with the best score so far. ``tried`` : every point with its answer (None where a cell failed).
    """

    experiment: Experiment
    size: str
    variant: str
    entry: Entry
    best: Knobs = field(default_factory=dict)
    tried: list[tuple[Knobs, RunAnswer | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best = {knob: values[(len(values) - 1) // 2] for knob, values in self.values().items()}

    def values(self) -> dict[str, tuple[float, ...]]:
        """Knob -> values that are tried: those that the size names, or the printed ones, evenly thinned."""
        size = self.experiment.size[self.size]
        return {knob: size.lists.get(knob) or thinned(values, size.points) for knob, values in self.entry.grid.items()}

    def round(self, number: int) -> list[Knobs]:
        """Points of a round: all pairs of the first two letters, then all values of one; none after the last."""
        grid = self.values()
        letters = [knob for knob, values in grid.items() if len(values) > 1]
        groups = [letters[:2], *([knob] for knob in letters[2:])] if letters else []
        if number >= len(groups) * self.experiment.size[self.size].passes:
            return []
        chosen = groups[number % len(groups)]
        values = itertools.product(*(grid[knob] for knob in chosen))
        return [{**self.best, **dict(zip(chosen, point))} for point in values]

    def learn(self, answers: Sequence[tuple[Knobs, RunAnswer | None]]) -> None:
        """Keep the best point that was tried; where nothing worked, the first value of the round.

        Below a target that is a value nothing is better: there the fewest calls decide, and elsewhere between equals.
        """
        known = [point for point, _ in self.tried]
        self.tried += [(point, answer) for point, answer in answers if point not in known]
        measure = self.experiment.measure
        aim = goals(self.experiment.size[self.size].target)[-1].get("value", -math.inf)
        scored = [
            (max(a["score"], aim), cost(a, measure, max(a["score"], aim))[1], place)
            for place, (_, a) in enumerate(self.tried)
            if a and a["score"] is not None
        ]
        if scored:
            self.best = self.tried[min(scored)[-1]][0]
        elif answers:
            self.best = answers[0][0]


def thinned(values: tuple[float, ...], most: int) -> tuple[float, ...]:
    """At most so many of the values, evenly spread, both ends kept."""
    if len(values) <= most:
        return values
    if most == 1:
        return (values[(len(values) - 1) // 2],)
    return tuple(values[round(i * (len(values) - 1) / (most - 1))] for i in range(most))


@dataclass(frozen=True)
class Finished:
    """An experiment that was run: its searches, and the answers of seeds: (variant, entry) -> one a seed."""

    experiment: Experiment
    size: str
    searches: tuple[Search, ...]
    answers: dict[tuple[str, str], list[RunAnswer | None]]
    failures: dict[str, str]
    complete: bool


def cell_of(search: Search, knobs: Knobs, seed: int, folder: str | None) -> Cell:
    """The cell of one run."""
    said: dict[str, Any] = {"size": search.size, "variant": search.variant, "entry": search.entry.name}
    if folder is not None:
        said |= {"data": folder, "files": digest_of(folder)}
    return Cell(
        kind="experiment", problem=f"experiment:{search.experiment.name}", method=search.entry.method, knobs=said,
        parameters=knobs, replicate=seed,
    )  # fmt: skip


class Runner:
    """Works off cells through one store.

    Parameters
    ----------
    out : folder of the store. ``folder`` : of data that the user has.
    """

    def __init__(
        self, out: Path, jobs: int | None = None, folder: str | None = None, progress: Progress | None = None,
        retry: bool = False,
    ) -> None:  # fmt: skip
        self.out, self.jobs, self.folder, self.progress, self.retry = out, jobs, folder, progress, retry
        self.failures: dict[str, str] = {}
        self.interrupted = False

    def answers(self, cells: Sequence[Cell], seconds: float) -> dict[str, RunAnswer]:
        """Content of a cell -> its answer; those that failed are kept in ``failures``."""
        unique = {cell.content: cell for cell in cells}
        if not unique or self.interrupted:
            return {}
        campaign = Campaign(tuple(unique.values()), "experiments", limits=Limits(seconds=seconds))
        done = run_campaign(
            campaign, self.out, jobs=self.jobs, work=WORK, progress=self.progress, retry=self.retry
        )  # fmt: skip
        self.interrupted = done.interrupted
        self.failures |= {
            Cell.from_dict(failure.cell).content: f"{failure.status}: {failure.message}" for failure in done.failures
        }
        wanted = set(done.keys)
        with Store(done.store, read_only=True) as store:
            return {c.content: c.answer for c in store.cells() if c.key in wanted}


def run_experiments(names: Sequence[str], size: str, runner: Runner) -> list[Finished]:
    """Tune and run experiments; all that is stored already is not run again.

    Raises
    ------
    InputError : an experiment has no such size.
    """
    found = [experiment(name) for name in names]
    for one in found:
        if size not in one.size:
            raise InputError(f"{one.name} has no size {size!r}; it has {', '.join(one.size)}")
    searches = [
        Search(one, size, variant, entry) for one in found for variant in one.variants for entry in one.entries_at(size)
    ]
    seconds = max(one.size[size].seconds for one in found)
    number = 0
    while any(s.round(number) for s in searches):
        asked = [(s, knobs, cell_of(s, knobs, 0, runner.folder)) for s in searches for knobs in s.round(number)]
        answered = runner.answers([cell for _, _, cell in asked], seconds)
        for search in searches:
            search.learn([(knobs, answered.get(cell.content)) for s, knobs, cell in asked if s is search])
        number += 1
    last = [(s, cell_of(s, s.best, seed, runner.folder)) for s in searches for seed in _seeds(s)]
    answered = runner.answers([cell for _, cell in last], seconds)
    return [_finished(one, size, searches, last, answered, runner) for one in found]


def _seeds(search: Search) -> Iterator[int]:
    return iter(range(1, search.experiment.size[search.size].seeds + 1))


def _finished(
    one: Experiment,
    size: str,
    searches: list[Search],
    last: list[tuple[Search, Cell]],
    answered: Any,
    runner: Runner,
) -> Finished:
    own = tuple(s for s in searches if s.experiment is one)
    answers: dict[tuple[str, str], list[RunAnswer | None]] = {}
    failures: dict[str, str] = {}
    for search, cell in last:
        if search.experiment is one:
            answers.setdefault((search.variant, search.entry.name), []).append(answered.get(cell.content))
            if cell.content in runner.failures:
                failures[cell.label] = runner.failures[cell.content]
    return Finished(one, size, own, answers, failures, not runner.interrupted)
