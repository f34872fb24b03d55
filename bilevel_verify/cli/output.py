"""What a command says: tables for a person, JSON for a program, a progress bar on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from bilevel_verify.errors import VISIBLE, visible

if TYPE_CHECKING:
    from rich.console import Console

    from bilevel_verify.campaign.run import State
    from bilevel_verify.checks.verdicts.columns import Column
    from bilevel_verify.checks.verdicts.verdict import RowRecord

COLOURS = {
    "holds": "green",
    "refuted": "bold red",
    "undecided": "yellow",
    "not applicable": "bright_black",
    "consistent": "cyan",
    "inconsistent": "bold magenta",
    "uninformative": "bright_black",
}
PLAIN_WIDTH = 160
JSON_ESCAPES = {sign: f"\\u{sign:04x}" for sign in VISIBLE if sign >= 0x7F}
"""Control signs that JSON does not escape of its own accord."""
ROWS_SHOWN = 200


NARROW = 110
"""Below this width a row of verdicts is a block of lines: a table of eight columns would have one word a line."""


def console(stderr: bool = False) -> Console:
    """A console as wide as the terminal; where the output is none, as ``COLUMNS`` says, else wide: nothing is cut."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else piped_width()
    return Console(file=stream, highlight=False, width=width)


def show(text: str) -> None:
    """Text for a person, on stdout, folded at the width of the terminal; never markup, no control signs."""
    console().print(visible(text), markup=False)


def line(text: str) -> None:
    """Text for a person, on stdout, as it stands but for control signs."""
    print(visible(text))


WHOLE_WORD, LONGEST_NAME, SHORT_CELL = 16, 60, 40
"""Letters of a word in a text, and of a name, that no narrow table tears apart; of a cell that shares its line."""


def piped_width() -> int:
    """``COLUMNS`` where it is a sensible number."""
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdigit() and int(wanted) >= 40 else PLAIN_WIDTH


def print_json(value: object) -> None:
    """Strict JSON on stdout."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    sys.stdout.write(text.translate(JSON_ESCAPES) + "\n")


def say(text: str) -> None:
    """A message for a person, on stderr."""
    print(visible(text), file=sys.stderr)


def table(title: str, columns: Sequence[str], lines: Sequence[Sequence[object]], numeric: Sequence[str] = ()) -> None:
    """A table on stdout; every cell is text, never markup. Where it is too narrow for its names, blocks of lines."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    names = [_is_of_names([line[place] for line in lines]) for place in range(len(columns))]
    if lines and sum(_least_width(columns, lines, names)) > console().width:
        _blocks_of_cells(title, columns, lines)
        return
    shown = Table(title=Text(visible(title)) if title else None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for place, name in enumerate(columns):
        justify: Literal["left", "right"] = "right" if name in numeric else "left"
        shown.add_column(visible(name), justify=justify, overflow="fold", no_wrap=names[place])
    for line in lines:
        shown.add_row(*(c if isinstance(c, Text) else Text(visible(str(c))) for c in line))
    _print(shown)


def _is_of_names(cells: Sequence[object]) -> bool:
    """Whether a column holds names and numbers alone: such a cell is copied, and never torn apart."""
    return any(map(str, cells)) and all(" " not in str(cell) and len(str(cell)) <= LONGEST_NAME for cell in cells)


def _least_width(columns: Sequence[str], lines: Sequence[Sequence[object]], names: Sequence[bool]) -> list[int]:
    """What each column needs at least, with the blanks beside it: a name as a whole, a text its common words."""
    found = []
    for place, head in enumerate(columns):
        texts = [head, *(str(line[place]) for line in lines)]
        longest = max((len(word) for text in texts for word in text.split()), default=0)
        found.append(max(map(len, texts)) if names[place] else min(longest, WHOLE_WORD))
    return [width + 3 for width in found]


def _blocks_of_cells(title: str, columns: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """Rows one below the other: their first short cells in a line, the others below it, each with its head."""
    from rich.padding import Padding
    from rich.text import Text

    widest = [max(len(str(line[place])) for line in lines) for place in range(len(columns))]
    first = max(next((place for place, width in enumerate(widest) if width > SHORT_CELL), len(columns)), 1)
    heads = ", ".join(head for head in columns[:first] if head)
    _print(Text(visible(f"{title}: {heads}" if title and heads else title or heads)))
    for line in lines:
        cells = [visible(str(cell)) for cell in line]
        _print(Text("  ".join(cell for cell in cells[:first] if cell)))
        for head, cell in list(zip(columns, cells))[first:]:
            if cell:
                _print(Padding(Text(f"{visible(head)}: {cell}"), (0, 0, 0, 4)))


def _print(thing: object) -> None:
    """Print without blanks at the end of lines where nobody sees colours."""
    from rich.text import Text

    if isinstance(thing, Text):
        thing.plain = visible(thing.plain)  # one sign for one sign: the colours stay in their places
    target = console()
    if sys.stdout.isatty():
        target.print(thing)
        return
    with target.capture() as captured:
        target.print(thing)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def verdict_table(rows: Sequence[RowRecord], title: str = "") -> None:
    """Rows as a table, the worst first when there are very many."""
    from rich.text import Text

    from bilevel_verify.checks.verdicts.columns import view
    from bilevel_verify.reporting.words import LOOKS, number

    shown: list[RowRecord] = list(rows)
    if len(shown) > ROWS_SHOWN:
        from bilevel_verify.reporting.build import worst_rows

        shown = [*worst_rows(rows, ROWS_SHOWN)]
    columns = view("terminal")
    shown, folded = _folded(shown)

    def cell(column: Column, row: RowRecord) -> str | Text:
        value = column.value(row)
        if column.name == "word":
            return Text(f"{LOOKS[row['verdict']].symbol} {value}", style=COLOURS[row["verdict"]])
        if column.name == "what":
            return str(value) + "".join(f" [{mark}]" for mark in row.get("marks", ()))
        if column.numeric:
            return number(value if isinstance(value, str | float | int) else None, 4)
        return str(value or "")

    lines = [[cell(column, row) for column in columns] for row in shown]
    if console().width < NARROW:
        _blocks(title, lines)
    else:
        table(title, [c.head for c in columns], lines, numeric=[c.head for c in columns if c.numeric])
    for why, members in folded.items():
        names = list(dict.fromkeys(f"{r['statement']}:{r['claim'] or r['kind']}" for r in members))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = ", ".join(names[:MOST_NAMED]) + more
        _print(Text(f"– not applicable ({len(members)} rows): {why}\n    {listed}"))
    seen = len(shown) + sum(map(len, folded.values()))
    if len(rows) > seen:
        say(f"the worst {seen} of {len(rows)} rows are shown; --json has all")


FEWEST_FOLDED, MOST_NAMED = 3, 6


def _folded(rows: Sequence[RowRecord]) -> tuple[list[RowRecord], dict[str, list[RowRecord]]]:
    """Rows that do not apply for one and the same reason are one line: (the other rows, reason -> its rows)."""
    groups: dict[str, list[RowRecord]] = {}
    for row in rows:
        if row["verdict"] == "not applicable" and row["reason"]:
            groups.setdefault(row["reason"], []).append(row)
    many = {why: members for why, members in groups.items() if len(members) >= FEWEST_FOLDED}
    rest = [row for row in rows if row["verdict"] != "not applicable" or row["reason"] not in many]
    return rest, many


def _blocks(title: str, lines: Sequence[Sequence[Any]]) -> None:
    """The same as blocks: the verdict and the claim, its numbers, and why, folded at words."""
    from rich.padding import Padding
    from rich.text import Text

    if title:
        _print(Text(title))
    for verdict, name, claim, problem, measured, bound, margin, why in lines:
        where = f" on {problem}" if problem else ""
        _print(Text.assemble(verdict, "  ", f"{name}: {claim}{where}"))
        if (measured, bound) != ("—", "—"):
            _print(Padding(Text(f"{measured} against {bound}, margin {margin}"), (0, 0, 0, 4)))
        if why:
            _print(Padding(Text(visible(why)), (0, 0, 0, 4)))


def verdict_counts(rows: Sequence[RowRecord]) -> str:
    """``12 holds (4 proved, 8 certified), 1 undecided; units: 3 agree``."""
    from bilevel_verify.checks.verdicts.counting import count_of

    return str(count_of(rows))


def exit_status(rows: Sequence[RowRecord], strict: bool) -> int:
    """0, or 1 for a refutation that no card records (``strict``: or an undecided row)."""
    from bilevel_verify.checks.verdicts.counting import is_new_refutation

    if any(is_new_refutation(r) for r in rows):
        return 1
    return 1 if strict and any(r["verdict"] == "undecided" for r in rows) else 0


class ProgressBar:
    """A bar with the time left on a terminal, a line every few seconds elsewhere; always on stderr."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._bar: Any = None
        self._total, self._quiet, self._said, self._shown = total, quiet, time.monotonic(), 0
        if sys.stderr.isatty() and total and not quiet:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=console(stderr=True), transient=True)
            self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> ProgressBar:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, state: State) -> None:
        """Show the state of a run."""
        from rich.markup import escape

        if self._bar:
            done = state.finished + state.elsewhere
            self._bar.update(
                self._task, completed=done, description=escape(visible(state.waiting or state.label or "starting"))
            )
        elif not self._quiet and time.monotonic() - self._said > (5 if state.finished > self._shown else 30):
            self._said, self._shown = time.monotonic(), state.finished
            left = state.seconds_left
            rest = "" if left is None else f", about {left:.0f} s left"
            rest = f", {state.waiting}" if state.waiting else rest
            say(f"{state.finished} of {self._total} cells{rest}")
