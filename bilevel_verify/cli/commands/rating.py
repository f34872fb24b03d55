"""``rates``: observed exponents beside those of the papers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.cli import output, values
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilevel_verify.benchmarks.rate_series import Series
    from bilevel_verify.benchmarks.rates import SeriesRecord


def rates_command(arguments: argparse.Namespace) -> int:
    """Measure series of the rate table, or one of the user's own."""
    from bilevel_verify.benchmarks import rates

    if arguments.problem:
        rows = [_own(arguments)]
        if arguments.out:
            rates.write(rows, Path(arguments.out))
        return _show(rows, arguments)
    series = rates.chosen(arguments.only, arguments.short)
    if arguments.list:
        return _listed(series, arguments)
    return _show(_measured(series, arguments), arguments)


def _measured(series: Sequence[Series], arguments: argparse.Namespace) -> list[SeriesRecord]:
    """All series, written one by one: an interrupted run leaves what it has."""
    from bilevel_verify.benchmarks import rates

    folder = Path(arguments.out) if arguments.out else None
    runs, done = rates.Runs(), rates.kept(folder) if arguments.resume else {}
    rows = []
    for one in series:
        if one.name not in done:
            output.say(f"measuring: {one.name}")
            done[one.name] = runs.measure(one, done)
            if folder is not None:
                rates.write([done[one.name]], folder)
        rows.append(done[one.name])
    return rows


def _own(arguments: argparse.Namespace) -> SeriesRecord:
    """The rate of any method on any problem or family, over ``--eps`` or ``--sweep``."""
    from bilevel_verify.benchmarks.own_rate import Setting, own_rate

    if not arguments.method:
        raise InputError("rates --problem needs --method NAME (see list methods)")
    letter, numbers = values.sweep_of(arguments.sweep)
    tolerances = values.tolerances(arguments.eps)
    if letter is None:
        letter, numbers = "eps", sorted(tolerances or (), reverse=True)
    elif tolerances is None or len(tolerances) != 1:
        raise InputError("--sweep needs one tolerance, --eps E")
    problem, reference = values.problem_of(arguments)
    return own_rate(
        problem,
        reference,
        arguments.method,
        letter,
        numbers,
        Setting(
            tolerances[0] if tolerances and letter != "eps" else None,
            values.assignments(arguments.letters, "--set"),
            values.numbers(arguments.x0, "--x0"),
            arguments.budget,
            arguments.seed,
        ),
        arguments.count,
        arguments.exponent,
    )


def _listed(series: Sequence[Series], arguments: argparse.Namespace) -> int:
    if arguments.json:
        output.print_json(
            [{"name": s.name, "exponent": s.exponent, "letter": s.letter, "source": s.source} for s in series]
        )
        return 0
    lines = [[s.name, s.letter, f"{s.exponent:.3g}" + (" + log" if s.log else ""), s.source] for s in series]
    output.table("", ["series", "in", "exponent", "promised by"], lines, numeric=("exponent",))
    return 0


def _show(rows: list[SeriesRecord], arguments: argparse.Namespace) -> int:
    """The table; an exponent that is not reached is no error."""
    if arguments.json:
        output.print_json({"rates": rows})
        return 0
    lines = []
    for row in rows:
        low, high = row["interval"]
        promised = "" if row["exponent"] is None else f"{row['exponent']:.3f}" + (" + log" if row["log"] else "")
        counts = [row["points"][0]["count"], row["points"][-1]["count"]]
        interval = f"{low:.3f} .. {high:.3f}"
        ends = f"{counts[0]:.4g} .. {counts[1]:.4g}"
        lines.append(
            [row["name"], row["letter"], promised, f"{row['slope']:.3f}", f"{row['last']:.3f}", interval, ends]
        )
        lines[-1].append("; ".join(part for part in (row["verdict"], row["reason"]) if part))
    heads = ["series", "in", "promised", "fitted", "last local", "interval", "counts", "verdict"]
    output.table("", heads, lines, numeric=("promised", "fitted", "last local"))
    return 0
