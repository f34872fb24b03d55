"""Tables and figures of the experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.experiments.comparison import Curve, Reference
from bilevel_verify.experiments.instances import Instance

FLOOR = 1e-18
"""Gaps below this are drawn at this height: they are rounding."""
PANELS = (
    ("infeasibility", "k", "infeasibility $g-g^*$", "iterations"),
    ("suboptimality", "k", "suboptimality $|f-f^*|$", "iterations"),
    ("infeasibility", "seconds", "infeasibility $g-g^*$", "seconds"),
    ("suboptimality", "seconds", "suboptimality $|f-f^*|$", "seconds"),
)
LINES = ("-", "--", "-.", ":")


def text_of(instance: Instance, reference: Reference, curves: list[Curve]) -> str:
    """One instance as Markdown."""
    lines = [f"## {instance.name}", ""]
    lines += [f"- {name}: {value}" for name, value in instance.facts.items()]
    lines += [f"- L_f = {instance.L_f:.6g}, L_g = {instance.L_g:.6g}, iterations: {instance.passes}"]
    lines += [f"- f* = {reference.f_star:.15g} +- {reference.f_error:.1e}"]
    lines += [f"- g* = {reference.g_star:.15g} +- {reference.g_error:.1e}"]
    lines += [f"- {name}: {value:.6g}" for name, value in reference.second.items()]
    lines += ["", f"![{instance.name}]({instance.name}.svg)", ""]
    lines += [
        "| method | g - g* | \\|f - f*\\| | f - f* | gradients | seconds | status |",
        "|---|---|---|---|---|---|---|",
    ]
    for c in curves:
        if not len(c.k):
            lines.append(f"| {c.method} | | | | | | {c.status} |")
            continue
        lines.append(
            f"| {c.method} | {c.infeasibility[-1]:.3e} | {c.suboptimality[-1]:.3e} | {c.signed_gap:+.3e} "
            f"| {c.gradients} | {c.seconds[-1]:.3f} | {c.status} |"
        )
    return "\n".join(lines) + "\n"


def write_figure(instance: Instance, curves: list[Curve], path: Path) -> None:
    """The four panels of the paper's figures as one SVG file."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "bilevel-verify", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10.0, 7.0), layout="constrained")
        for number, (height, across, label, unit) in enumerate(PANELS):
            axes = figure.add_subplot(2, 2, number + 1)
            for place, c in enumerate(c for c in curves if len(c.k)):
                x, y = getattr(c, across), np.maximum(getattr(c, height), FLOOR)
                keep = _thinned(len(x))
                axes.loglog(np.maximum(x[keep], 1e-6), y[keep], LINES[place % 4], label=c.method, linewidth=1.2)
            axes.set_xlabel(unit)
            axes.set_ylabel(label)
        figure.axes[0].legend(fontsize=7)
        figure.suptitle(instance.name)
        FigureCanvasSVG(figure).print_svg(str(path), metadata={"Date": None})  # type: ignore[no-untyped-call]


def _thinned(length: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """At most some 300 places, evenly spread on a logarithmic scale."""
    return np.unique(np.r_[0, np.geomspace(1, max(length - 1, 1), 300).astype(np.int64)]).clip(0, length - 1)


def data_of(instance: Instance, reference: Reference, curves: list[Curve]) -> dict[str, Any]:
    """Everything in the figures as plain data."""
    rows = []
    for c in curves:
        keep = _thinned(len(c.k)) if len(c.k) else np.zeros(0, dtype=np.int64)
        numbers = {name: getattr(c, name)[keep].tolist() for name in ("k", "seconds", "infeasibility", "suboptimality")}
        rows.append({"method": c.method, "parameters": dict(c.parameters), "status": c.status, **numbers})
    facts = {"facts": dict(instance.facts), "second": dict(reference.second)}
    truths = {name: getattr(reference, name) for name in ("f_star", "g_star", "f_error", "g_error")}
    return {"name": instance.name, **facts, **truths, "curves": rows}


def write(folder: Path, parts: list[tuple[Instance, Reference, list[Curve]]], command: str) -> None:
    """``report.md``, ``data.json`` and one figure an instance."""
    folder.mkdir(parents=True, exist_ok=True)
    head = f"# Simple bilevel methods side by side\n\nWritten by `{command}`.\n"
    text = [head, *(text_of(*part) for part in parts)]
    (folder / "report.md").write_text("\n".join(text), encoding="utf-8")
    (folder / "data.json").write_text(json.dumps([data_of(*part) for part in parts], indent=1), encoding="utf-8")
    for instance, _, curves in parts:
        write_figure(instance, curves, folder / f"{instance.name}.svg")
