"""How pictures look: colours, marks, sizes, and the figure that shows itself in a notebook."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from bilevel_verify.problems.problem import Problem

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito: told apart with every common colour blindness."""
MARKS = ("o", "s", "D", "^", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
GREY = "#565b66"
WIDTH, HEIGHT = 4.8, 3.4
"""Inches: one column of a paper."""
FORMATS = ("svg", "png", "pdf")
_PAPER: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.fonttype": "none",
    "svg.hashsalt": "bilevel-verify",
    "pdf.fonttype": 42,
    "text.usetex": False,
}


def few_decades(axis: Axis) -> None:
    """Plain numbers at 1, 2, 5 of each decade of a logarithmic axis of less than two."""
    low, high = axis.get_view_interval()
    if low > 0 and high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


P = ParamSpec("P")
T = TypeVar("T")


def picture(function: Callable[P, T]) -> Callable[P, T]:
    """Draw with the sizes of a paper, whatever the settings of the session are."""

    @wraps(function)
    def drawn(*arguments: P.args, **options: P.kwargs) -> T:
        with rc_context(_PAPER):
            return function(*arguments, **options)

    return drawn


class Picture(Figure):
    """A matplotlib figure that a notebook shows without further words, and that writes the same file every time."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_svg(self) -> str:
        """The picture as SVG text."""
        stream = io.StringIO()
        self._print(stream, "svg")
        return stream.getvalue()

    def write(self, path: str | Path) -> Path:
        """Write the picture; the ending says how: ``.svg``, ``.png``, ``.pdf``. No date is put in.

        Raises
        ------
        InputError : another ending, or a path that cannot be written.
        """
        target = Path(path)
        kind = target.suffix.lstrip(".").lower()
        if kind not in FORMATS:
            raise InputError(f"{target}: the name of a picture ends in .{', .'.join(FORMATS)}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._print(target, kind)
        except OSError as error:
            raise InputError(f"{target}: {error.strerror or error}: choose another file") from None
        return target

    def _print(self, target: Path | io.StringIO, kind: str) -> None:
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
        with rc_context(_PAPER):
            self.savefig(target, format=kind, metadata=undated, dpi=160)


def canvas(axes: Any, rows: int = 1, columns: int = 1, width: float = WIDTH, height: float = HEIGHT) -> tuple[Any, Any]:
    """(figure, axes): those given, or new ones; several axes come as a flat list."""
    if axes is not None:
        return (axes[0].figure if isinstance(axes, list | tuple) else axes.figure), axes
    figure = Picture(figsize=(width * columns, height * rows), layout="constrained")
    made = [figure.add_subplot(rows, columns, i + 1) for i in range(rows * columns)]
    return figure, made[0] if len(made) == 1 else made


def line_style(number: int) -> dict[str, object]:
    """Colour and dash of the n-th line of a picture."""
    return {"color": PALETTE[number % len(PALETTE)], "linestyle": DASHES[number % len(DASHES)]}


def mathematical(name: str) -> str:
    """A letter or variable as matplotlib sets it: ``x1`` as x with an index."""
    from bilevel_verify.language import letter_latex

    return f"${letter_latex(name)}$"


def plain(text: str) -> str:
    """A text of a user as text: no dollar sign begins a formula, no underscore hides it from the legend."""
    return text.replace("$", r"\$").lstrip("_") or "unnamed"


def named(problem: Problem) -> str:
    """What a picture calls a problem."""
    return plain(problem.name or problem.kind)


def legend(ax: Axes, below: bool = False) -> None:
    """A legend where something has a label; ``below`` a picture of ours, where it would hide something."""
    handles, labels = ax.get_legend_handles_labels()
    if labels and below and isinstance(ax.figure, Picture):
        ax.figure.legend(handles, labels, loc="outside lower center")
    elif labels:
        ax.legend()
