"""Plots of a document as SVG and PDF files for papers (matplotlib, loaded when used)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.files import slug
from bilevel_verify.reporting.document import Plot, ProfilePlot, ReportDocument

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
MARKS = ("o", "s", "D", "^")
MOST_FIGURES = 100


def write_figures(document: ReportDocument, folder: Path) -> list[Path]:
    """Write every plot as ``NAME.svg`` and ``NAME.pdf``; returns the files. Text stays text, dates are left out."""
    plots: list[Plot | ProfilePlot] = [*document["plots"][:MOST_FIGURES], *document["profiles"]]
    if not plots:
        return []
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "bilevel-verify", "pdf.fonttype": 42, "text.usetex": False}
    with rc_context(settings | {"text.parse_math": False}):
        for plot in plots:
            name = slug(*_title_words(plot)).replace("/", "-")
            figure = _figure(plot)
            svg, pdf = folder / f"{name}.svg", folder / f"{name}.pdf"
            FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
                str(svg), metadata={"Date": None}
            )
            FigureCanvasPdf(figure).print_pdf(  # type: ignore[no-untyped-call]
                str(pdf), metadata={"CreationDate": None}
            )
            written += [svg, pdf]
    return written


def _title_words(plot: Plot | ProfilePlot) -> list[str | None]:
    if "name" in plot:
        return [plot["name"]]
    return [plot["statement"], plot["problem"], plot["method"], plot["claim"], plot["x_label"]]


def _figure(plot: Plot | ProfilePlot) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.2), layout="constrained")
    axes = figure.add_subplot()
    profile = "name" in plot
    for number, line in enumerate(plot["lines"]):
        pairs = [(x, y) for x, y in zip(line["x"], line["y"], strict=True) if x > 0 and (y > 0 or profile)]
        x, y = [p[0] for p in pairs], [p[1] for p in pairs]
        if profile:
            axes.plot(x, y, color=COLOURS[number % len(COLOURS)], label=line["name"], linewidth=1.2)
        elif line["style"] == "bound":
            axes.plot(x, y, "--", color="black", label=line["name"])
        else:
            colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
            axes.plot(x, y, marker=mark, color=colour, label=line["name"], markersize=4, linewidth=1.2)
    axes.set(xscale="log", yscale="linear" if profile else "log", xlabel=plot["x_label"], ylabel=plot["y_label"])
    axes.set_title(plot["name"] if "name" in plot else f"{plot['statement']} on {plot['problem']}", fontsize=9)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.5)
    axes.legend(fontsize=7, frameon=False)
    return figure
