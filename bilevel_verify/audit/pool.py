"""Work shared by several processes, results in the order of the tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Done = Callable[[int, int], None]
_TASKS: list[Any] = []


def shared(
    function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int = 1, done: Done | None = None
) -> list[Result]:
    """``[function(task) for task in tasks]``, in ``jobs`` processes.

    Parameters
    ----------
    function : a function of a module; its results must be picklable, the tasks need not be (the processes are forked).
    done : called with (number of the task, tasks done so far).
    """
    if jobs <= 1 or len(tasks) <= 1:
        results = []
        for number, task in enumerate(tasks):
            if done is not None:
                done(number, number)
            results.append(function(task))
        return results
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    _TASKS[:] = tasks
    found: dict[int, Result] = {}
    with ProcessPoolExecutor(min(jobs, len(tasks)), get_context("fork")) as pool:
        waiting = {pool.submit(_run, function, number): number for number in range(len(tasks))}
        for count, future in enumerate(as_completed(waiting), 1):
            found[waiting[future]] = future.result()
            if done is not None:
                done(waiting[future], count)
    _TASKS.clear()
    return [found[number] for number in range(len(tasks))]


def _run(function: Callable[[Task], Result], number: int) -> Result:
    return function(_TASKS[number])
