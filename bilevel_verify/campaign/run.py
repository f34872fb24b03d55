"""Run a campaign: what is done, what is to do, and doing it without ever losing an answer."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

from bilevel_verify.campaign.agenda import Agenda, Entry
from bilevel_verify.campaign.cell import Limits
from bilevel_verify.campaign.fingerprint import identity, key_of
from bilevel_verify.campaign.grids import Campaign
from bilevel_verify.campaign.pool import CellPool, executor_results
from bilevel_verify.campaign.store import Failure, Store
from bilevel_verify.campaign.worker import DEFAULT_WORK, Result
from bilevel_verify.errors import InputError

STORE_NAME = "results.sqlite"
Progress = Callable[["State"], None]


class PlanRecord(TypedDict):
    """A :class:`Plan` as JSON: how many cells are in which state, and the labels of those that are left."""

    done: int
    todo: int
    stale: int
    failed: int
    total: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """Every cell of a campaign in one of four states.

    Attributes
    ----------
    done : answered under the present sources, versions and texts.
    todo : never answered.
    stale : answered, but under other sources, versions or texts; will be answered anew.
    failed : ended without an answer under the same limits; left alone unless asked to ``retry``.
    """

    done: tuple[Entry, ...] = ()
    todo: tuple[Entry, ...] = ()
    stale: tuple[Entry, ...] = ()
    failed: tuple[Entry, ...] = ()

    @property
    def work(self) -> tuple[Entry, ...]:
        """What a run would work on."""
        return self.todo + self.stale

    def to_dict(self) -> PlanRecord:
        """Counts, with the labels of what is left; the form of ``--dry-run --json``."""
        done, todo, stale, failed = map(len, (self.done, self.todo, self.stale, self.failed))
        return {
            "done": done,
            "todo": todo,
            "stale": stale,
            "failed": failed,
            "total": done + todo + stale + failed,
            "cells": [e.cell.label for e in self.work[:1000]],
        }


@dataclass(slots=True)
class State:
    """How far a run is; handed to the progress callback after every answer and about twenty times a second.

    ``waiting`` says for whom and how long, where nothing but the cells of other processes is left.
    """

    total: int
    finished: int = 0
    failed: int = 0
    elsewhere: int = 0
    label: str = ""
    waiting: str = ""
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far; None before the first answer."""
        if not self.finished:
            return None
        return (time.monotonic() - self.began) / self.finished * (self.total - self.finished - self.elsewhere)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did. ``store`` has the answers; ``keys`` are those of the campaign's cells, in its order.

    ``altered`` names the rows of the store that the disk had changed; their cells were done again.
    """

    store: Path
    keys: tuple[str, ...]
    done: int
    answered: int
    failures: tuple[Failure, ...]
    interrupted: bool = False
    out_of_time: bool = False
    seconds: float = 0.0
    altered: tuple[str, ...] = ()


def plan(campaign: Campaign, store: Store | None, *, retry: bool = False) -> Plan:
    """Sort the cells of a campaign by what the store knows about them.

    Raises
    ------
    InputError
        A problem, card, statement or method named by the campaign does not exist.
    """
    from bilevel_verify.campaign.sources import check_names

    check_names(campaign.cells)
    answered = store.contents() if store else {}
    known = set(answered.values())
    failures = store.failures(damaged="skip") if store else {}
    groups: dict[str, list[Entry]] = {"done": [], "todo": [], "stale": [], "failed": []}
    for cell in campaign.cells:
        depends = identity(cell)
        entry = Entry(cell, key_of(cell, depends), depends)
        if entry.key in answered:
            state = "done"
        elif not retry and entry.key in failures and _same_limits(failures[entry.key], campaign.limits):
            state = "failed"
        else:
            state = "stale" if cell.content in known else "todo"
        groups[state].append(entry)
    return Plan(**{name: tuple(entries) for name, entries in groups.items()})


def run_campaign(
    campaign: Campaign,
    out: str | Path,
    *,
    jobs: int | None = None,
    limits: Limits | None = None,
    executor: Executor | None = None,
    retry: bool = False,
    progress: Progress | None = None,
    work: str = DEFAULT_WORK,
) -> Outcome:
    """Answer every cell that has no answer yet; start it again after any interruption and nothing is repeated.

    Parameters
    ----------
    campaign : the cells.
    out : folder of the store (``results.sqlite``), created if missing.
    jobs : local worker processes, one BLAS thread each; default: the number of processors.
    limits : of one cell; they win over the campaign's own.
    executor : any ``concurrent.futures`` executor (a cluster's, say) instead of local processes.
    retry : work again on cells that failed before.
    progress : called with the :class:`State` after every answer and about twenty times a second.
    work : ``module:function`` that answers a cell; only tests and extensions need another one.

    Returns
    -------
    Outcome
        ``interrupted`` after Ctrl-C: the answers so far are stored, only the cells in flight are lost.

    Raises
    ------
    InputError, StoreError
        The campaign or the store cannot be used; nothing was overwritten.
    ExecutorLostError
        The executor is gone; all earlier answers are kept.
    StoreUnavailableError
        The disk is full; all earlier answers are kept.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    if limits is not None:
        campaign = replace(campaign, limits=limits)
    began = time.monotonic()
    with Store(Path(out) / STORE_NAME) as store:
        altered = store.discard()
        planned = plan(campaign, store, retry=retry)
        state = State(len(planned.work))
        agenda = Agenda(planned.work, store, jobs or os.cpu_count() or 1)
        interrupted = out_of_time = False
        try:
            if planned.work:
                out_of_time = _work_off(agenda, campaign, executor, jobs, work, state, progress)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            store.release(agenda.owner)
        keys = tuple(e.key for e in _in_order(campaign, planned))
        failures = store.failures()
        lost = tuple(failures[k] for k in keys if k in failures)
    seconds = time.monotonic() - began
    path, done = Path(out) / STORE_NAME, len(planned.done)
    return Outcome(path, keys, done, state.finished, lost, interrupted, out_of_time, seconds, altered)


def _work_off(
    agenda: Agenda,
    campaign: Campaign,
    executor: Executor | None,
    jobs: int | None,
    work: str,
    state: State,
    progress: Progress | None,
) -> bool:
    """The main loop; True if the total time ran out first."""
    deadline = None if campaign.total_seconds is None else time.monotonic() + campaign.total_seconds
    if executor is not None:
        window = 2 * (jobs or os.cpu_count() or 1)
        return _consume(
            executor_results(executor, agenda, work, campaign.limits, window),
            agenda,
            campaign,
            state,
            progress,
            deadline,
        )
    with CellPool(min(agenda.jobs, state.total), work, campaign.limits) as pool:
        return _consume(pool.results(agenda), agenda, campaign, state, progress, deadline)


def _consume(
    results: Iterator[Result | None],
    agenda: Agenda,
    campaign: Campaign,
    state: State,
    progress: Progress | None,
    deadline: float | None,
) -> bool:
    for result in results:
        if result is not None:
            entry = agenda.finish(result["id"])
            _keep(agenda.store, entry, result, campaign.limits)
            state.finished += 1
            state.failed += result["status"] != "done"
            state.label = entry.cell.label
        agenda.attend()
        state.elsewhere, state.waiting = agenda.elsewhere, agenda.waiting
        if progress:
            progress(state)
        if deadline is not None and time.monotonic() > deadline:
            return True
    return False


def _keep(store: Store, entry: Entry, result: Result, limits: Limits) -> None:
    cell = entry.cell.to_dict()
    if result["status"] == "done":
        store.add(
            entry.key,
            entry.cell.content,
            cell,
            entry.depends,
            result["answer"],
            documents=result.get("documents", ()),
            seconds=result["seconds"],
            worker=socket.gethostname(),
        )
    elif result["status"] != "ready":
        record = {"seconds": limits.seconds, "megabytes": limits.megabytes, "fault": result.get("fault", "ours")}
        store.add_failure(entry.key, entry.cell.content, cell, result["status"], record, result["message"])


def _same_limits(failure: Failure, limits: Limits) -> bool:
    """Whether trying again under ``limits`` must end the same way: limits that were not the cause do not matter."""
    cause = {"time": "seconds", "memory": "megabytes"}.get(failure.status)
    return cause is None or failure.limits.get(cause) == getattr(limits, cause)


def _in_order(campaign: Campaign, planned: Plan) -> Iterator[Entry]:
    entries = {e.cell.content: e for e in planned.done + planned.todo + planned.stale + planned.failed}
    return (entries[cell.content] for cell in campaign.cells)
