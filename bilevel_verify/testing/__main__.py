"""``python -m bilevel_verify.testing``: the kit tests itself; writes the detection matrix and the counts it reached.

``--part controls`` fills the matrix; ``--part references`` and ``--part own`` look for false alarms on correct solvers
and on the package's own methods; ``--part slips`` hands pseudo-code with one slip each to the kit (``--count``), in
slices (``--minutes``); ``--part promises`` says how much of each promise the examples use up. Each line of the log is
written when it is known; ``--seed`` repeats a run.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bilevel_verify.testing.controls import report
from bilevel_verify.testing.controls.broken import ASSERTIONS, CONTROLS, REFERENCES, Control, Matrix, detection_matrix
from bilevel_verify.testing.trials import ledger
from bilevel_verify.testing.trials.contracts import PROFILES, Profile

Say = Callable[[str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts asked for; 0 if every control was caught and there was no false alarm, else 1."""
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else _seed_of_the_day()
    log = Path(options.log)
    log.parent.mkdir(parents=True, exist_ok=True)

    def say(line: str) -> None:
        print(line, flush=True)
        with log.open("a", encoding="utf8") as file:
            file.write(line + "\n")

    def chosen(subjects: tuple[Control, ...]) -> tuple[Control, ...]:
        return tuple(s for s in subjects if not options.only or any(part in s.name for part in options.only))

    profile = PROFILES[options.profile]
    if options.examples:
        profile = replace(profile, examples=options.examples)
    say(f"# profile {profile.name}, {profile.examples} examples an assertion, BILEVEL_VERIFY_SEED={seed}")
    wrong = 0
    if "controls" in options.part:
        wrong += _controls(options, seed, say)
    if "references" in options.part:
        wrong += _false_alarms("references", chosen(REFERENCES), profile, seed, say, ASSERTIONS)
    if "own" in options.part:
        from bilevel_verify.testing.controls.own_methods import OWN, OWN_ASSERTIONS

        wrong += _false_alarms("own methods", chosen(OWN), profile, seed, say, OWN_ASSERTIONS)
    if "slips" in options.part:
        wrong += _slips(options, seed, say)
    if "promises" in options.part:
        from bilevel_verify.testing.controls import shares

        named = (name for name in shares.with_steps() if not options.only or any(part in name for part in options.only))
        near, many = shares.write(Path(options.out), tuple(named))
        say(f"promises: {near} of {many} claims along a run come within 20 % of their bound")
    return 1 if wrong else 0


def _slips(options: argparse.Namespace, seed: int, say: Say) -> int:
    """The table of slips as far as it is; how many real ones were missed."""
    from bilevel_verify.testing.controls.slip_table import DATA, Plan, judge_all, write

    data = Path(options.out) / DATA
    kept = judge_all(Plan(options.count, seed), data, options.minutes, say)
    say(write(data, Path(options.docs) if options.docs else None)[-1])
    return sum(1 for one in kept if one.kind == "real" and not one.caught)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bilevel_verify.testing", description=__doc__)
    parser.add_argument("--profile", choices=sorted(PROFILES), default="thorough")
    parser.add_argument("--examples", type=int, help="examples of an assertion, instead of the profile's")
    parser.add_argument(
        "--part", nargs="+", choices=("controls", "references", "own", "slips", "promises"), default=["controls", "own"]
    )
    parser.add_argument("--count", type=int, default=1020, help="slips that are drawn")
    parser.add_argument(
        "--minutes", type=float, default=600.0, help="slips: stop after so long; the same command goes on"
    )
    parser.add_argument("--docs", metavar="FILE", help="slips: a document whose table is written, too")
    parser.add_argument(
        "--only", nargs="+", metavar="TEXT", help="subjects or statements whose name contains one of these texts"
    )
    parser.add_argument("--seed", type=int, default=None, help="default: BILEVEL_VERIFY_SEED, else today")
    parser.add_argument("--out", default="reports", help="folder of the detection matrix")
    parser.add_argument("--log", default="reports/thorough/testing.txt", help="counts, appended line by line")
    return parser


def _seed_of_the_day() -> int:
    return int(os.environ.get("BILEVEL_VERIFY_SEED", datetime.date.today().toordinal()))


def _controls(options: argparse.Namespace, seed: int, say: Say) -> int:
    """The detection matrix of the profiles up to the one asked for; how many controls were missed."""
    matrices: dict[str, Matrix] = {}
    for name in ("quick", "thorough")[: 2 if options.profile == "thorough" else 1]:
        started = time.perf_counter()
        matrices[name] = detection_matrix(name, CONTROLS, seed=seed)
        matrix, took = matrices[name], time.perf_counter() - started
        share = 100 * len(matrix.caught) / len(matrix.cells)
        say(f"controls, {name}: {len(matrix.caught)} of {len(matrix.cells)} caught ({share:.1f} %), {took:.0f} s")
        say(f"controls, {name}, missed: {', '.join(matrix.missed) or 'none'}")
        report.write(matrices, options.out)
    return len(matrices[options.profile].missed)


def _false_alarms(
    title: str, subjects: tuple[Control, ...], profile: Profile, seed: int, say: Say, assertions: object
) -> int:
    """Correct subjects, one after another; how many assertions flagged one."""
    total = alarms = 0
    for subject in subjects:
        before, started = len(ledger.ENTRIES), time.perf_counter()
        matrix = detection_matrix(profile, (subject,), seed=seed, seconds=120, assertions=assertions)  # type: ignore[arg-type]
        examples = sum(entry.examples for entry in ledger.ENTRIES[before:])
        flagged = {name: contract for name, contract in matrix.cells[subject.name].items() if contract}
        total, alarms = total + examples, alarms + len(flagged)
        took = time.perf_counter() - started
        say(f"{title}: {subject.name}: {examples} examples, {took:.0f} s, alarms: {flagged or 'none'}")
    say(f"{title}: {total} examples in all, {alarms} false alarms")
    return alarms


if __name__ == "__main__":
    sys.exit(main())
