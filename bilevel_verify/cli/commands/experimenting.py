"""``experiments``: the experiments of the papers, listed, run, resumed, reported."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.campaign.run import State
from bilevel_verify.cli import output
from bilevel_verify.cli.commands.campaigns import INTERRUPTED, OUR_ERROR, interrupt_politely
from bilevel_verify.errors import InputError
from bilevel_verify.files import is_folder

if TYPE_CHECKING:
    from bilevel_verify.experiments.files import Experiment


def experiments_command(arguments: argparse.Namespace) -> int:
    """List the experiments (``list`` or no name), or run those that are named (``all``: all) and report."""
    from bilevel_verify.experiments.files import experiment, names

    if arguments.names in ([], ["list"]):
        rows = [experiment(name) for name in names()]
        if arguments.json:
            output.print_json(
                [{"name": e.name, "paper": e.paper, "section": e.section, "title": e.title} for e in rows]
            )
        for e in () if arguments.json else rows:
            print(f"{e.name:28} {e.section:32} {e.title}")
        return 0
    chosen = names() if arguments.names == ["all"] else list(dict.fromkeys(arguments.names))
    parts = [experiment(name) for name in chosen]
    if arguments.data is not None:
        _look_into(Path(arguments.data), parts, arguments.size)
    return _run(chosen, arguments)


def _look_into(folder: Path, parts: list[Experiment], size: str) -> None:
    """Whether the folder holds the real sets of the experiments at a size.

    Raises
    ------
    InputError : no folder, files that are not there, or no experiment asks for files.
    """
    from bilevel_verify.experiments.data import ask_for

    if not is_folder(folder):
        raise InputError(f"--data: {folder} is no folder")
    asked = [one.size[size].data_at(str(folder)) for one in parts if size in one.size and one.size[size].real]
    if not asked:
        raise InputError(f"--data: none of these experiments reads files of yours at size {size}; leave it out")
    for spec in {str(spec["set"]): spec for spec in asked}.values():
        ask_for(spec, folder)


def _run(chosen: list[str], arguments: argparse.Namespace) -> int:
    from bilevel_verify.experiments.claims import judge
    from bilevel_verify.experiments.report import data_of, write
    from bilevel_verify.experiments.running import Runner, run_experiments

    interrupt_politely()
    said = [0]

    def progress(state: State) -> None:
        if state.finished >= said[0] + 50 or (state.finished == state.total and said[0] != state.total):
            said[0] = state.finished
            output.say(f"{state.finished} of {state.total} runs of this round, {state.failed} failed")
        if state.finished < said[0]:
            said[0] = 0

    folder = None if arguments.data is None else str(Path(arguments.data).resolve())
    runner = Runner(Path(arguments.out), arguments.jobs, folder, progress, arguments.retry)
    parts = run_experiments(chosen, arguments.size, runner)
    if runner.interrupted:
        output.say("interrupted; what was done is kept, run the same command again to go on")
        return INTERRUPTED
    for message in sorted(set(runner.failures.values())):
        output.say(message)
    words = ["bilevel-verify", "experiments", *arguments.names, "--size", arguments.size, "--out", arguments.out]
    page = write(Path(arguments.out), parts, shlex.join(words))
    if arguments.json:
        output.print_json([data_of(found, judge(found)) for found in parts])
    else:
        print(page)
    return OUR_ERROR if any("error:" in m and "Error:" in m for m in runner.failures.values()) else 0
