"""Tables, curves and verdicts of experiments: ``report.md``, ``data.json`` and a figure for each variant."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.experiments.claims import SELDOM, Judged, costs, judge, lowest
from bilevel_verify.experiments.paired import BAND, LEVEL
from bilevel_verify.experiments.running import Finished
from bilevel_verify.experiments.targets import goals, words

if TYPE_CHECKING:
    from bilevel_verify.experiments.work import RunAnswer

"""What ``data.json`` keeps of a run."""
LINES = ("-", "--", "-.", ":")
HEAD = f"""Costs are oracle calls of all kinds, exactly counted. Verdicts rest on the exact signed-rank test over the
seeds (level {LEVEL:g} a sentence, comparable: within a factor of {BAND:g}) and speak of the data, sizes and targets
named here; times are of this machine and decide nothing.
Tuning: all pairs of the first two letters, then one letter after the other, over the values of the lists that the size
admits, alike for all methods, on a seed of its own; kept is the lowest value of the measure, at a target that is a
value the fewest calls.
"Not comparable" is said where a result would be held against a method with under 1/{BAND:g} of the points of tuning of
the other, with a letter that the paper does not print for these data (fixed here, or best at an end of our list), or
best where this size cuts a list, or with another point of its tuning that is at the target earlier; and where the
result depends on the target. Restarts: epochs that began again, for whatever reason the method has; NCE: steps that
exploited negative curvature ("seldom" is read as one outer iteration in {1 / SELDOM:g} or less).
The tables show the calls to the last (hardest) target, and medians over the seeds (with the least and the largest).
auc: how often a disturbed label has a smaller learned weight than a right one, ties half (1/2 is chance).
Effects go from -1 (fewer calls, or lower, on every seed) to +1. Pictures: `NAME.svg`; all numbers: `data.json`.
"""


def write(folder: Path, parts: Sequence[Finished], command: str) -> Path:
    """The report of experiments; the path of ``report.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = [(found, judge(found)) for found in parts]
    text = [f"# Experiments of the papers\n\nWritten by `{command}`.\n\n{HEAD}", _overview(judged)]
    text += [text_of(found, verdicts) for found, verdicts in judged]
    path = folder / "report.md"
    path.write_text("\n".join(text), encoding="utf-8")
    data = [data_of(found, verdicts) for found, verdicts in judged]
    (folder / "data.json").write_text(json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")
    for found in parts:
        figure(found, folder / f"{found.experiment.name}.svg")
    return path


def _overview(judged: Sequence[tuple[Finished, list[Judged]]]) -> str:
    lines = ["| experiment | sentence | variant | verdict | why |", "|---|---|---|---|---|"]
    for found, verdicts in judged:
        lines += [
            f"| {found.experiment.name} | {j.claim.sentence} | {j.variant} | {j.verdict} | {j.reason} |"
            for j in verdicts
        ]
    return "\n".join(lines) + "\n"


def text_of(found: Finished, verdicts: list[Judged]) -> str:
    """One experiment as Markdown."""
    one, size = found.experiment, found.experiment.size[found.size]
    aims = ", ".join(map(words, goals(size.target)))
    lines = [f"## {one.name}: {one.title}", "", f"{one.paper}, {one.section}; size {found.size}, {size.seeds} seeds, "]
    lines[-1] += f"at most {size.calls} questions a run (a Hessian is one there); measure: {one.measure}; "
    lines[-1] += f"targets: {aims}."
    lines += ["", "Left open by the print, and chosen:", "", *(f"- {choice}" for choice in one.open), ""]
    for variant in one.variants:
        lines += _variant(found, variant)
    lines += [f"Picture: `{one.name}.svg`.", ""]
    for j in verdicts:
        lines += [f'- "{j.claim.sentence}" ({j.variant or "one variant"}): **{j.verdict}** ({j.reason}).']
        lines += [
            f"    - {a} against {b}: ratio {_short(t.ratio)}, effect {t.effect:+.2f}, p less {t.less:.3g}, "
            f"p more {t.more:.3g}, {t.pairs} pairs differ"
            for (a, b), t in j.pairs.items()
        ]
    lines += [f"- failed: {label}: {message}" for label, message in found.failures.items()]
    return "\n".join(lines) + "\n"


def _variant(found: Finished, variant: str) -> list[str]:
    """The table of one variant."""
    one = found.experiment
    searches = {s.entry.name: s for s in found.searches if s.variant == variant}
    sources = {a["source"] for (v, _), rows in found.answers.items() if v == variant for a in rows if a}
    lines = [f"### {variant}" if variant else "", *(f"Data: {source}." for source in sorted(sources)), ""]
    lines += [
        f"| method | tuned letters | points tried | calls of the tuning | calls to the target | lowest {one.measure} "
        "| at the end | restarts | NCE | calls by kind | ms a call | s a run | status |",
        "|" + "---|" * 13,
    ]
    for name, search in searches.items():
        answers = [a for a in found.answers[variant, name] if a]
        tried = [a for _, a in search.tried if a]
        letters = ", ".join(f"{k} = {v:g}" for k, v in search.best.items())
        statuses = {a["status"] for a in answers} | ({"failed"} if len(answers) < one.size[found.size].seeds else set())
        lines.append(
            f"| {name} | {letters} | {len(search.tried)} of {search.entry.points}, "
            f"{sum(a['score'] is None for a in tried)} diverged | {sum(a['calls'] for a in tried)} "
            f"| {_spread([high for _, high in costs(found, variant, name)])} "
            f"| {_spread(lowest(found, variant, name, one.measure))} | {_end(answers)} "
            f"| {_middle([a['restarts'] for a in answers])} | {_middle([a['curvature_steps'] for a in answers])} "
            f"| {_kinds(answers)} | {_prices(answers)} "
            f"| {_middle([a['seconds'] for a in answers])} | {', '.join(sorted(statuses))} |"
        )
    return [*lines, ""]


def _end(answers: list[RunAnswer]) -> str:
    """Medians of what is measured at the end of the runs."""
    rows = [{**a["curve"][-1], **a["final"]} for a in answers if a["curve"]]
    names = [n for n in (rows[0] if rows else {}) if n not in ("calls", "seconds", "counts")]
    return ", ".join(f"{n} {_middle([r[n] for r in rows if r.get(n) is not None])}" for n in names)


def _kinds(answers: list[RunAnswer]) -> str:
    kinds = sorted({k for a in answers for k in a["counts"]})
    return ", ".join(f"{k} {_middle([a['counts'].get(k, 0) for a in answers])}" for k in kinds)


def _prices(answers: list[RunAnswer]) -> str:
    kinds = sorted({k for a in answers for k in a["prices"]})
    return ", ".join(f"{k} {_middle([1e3 * a['prices'][k] for a in answers if k in a['prices']])}" for k in kinds)


def _middle(values: list[float]) -> str:
    return _short(sorted(values)[len(values) // 2]) if values else "-"


def _spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{_middle(ordered)} ({_short(ordered[0])} to {_short(ordered[-1])})" if ordered else "-"


def _short(value: float) -> str:
    if math.isinf(value):
        return "never"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def data_of(found: Finished, verdicts: list[Judged]) -> dict[str, object]:
    """Everything in the tables and figures as plain data; infinite costs are null."""
    runs = []
    for (variant, name), answers in found.answers.items():
        search = next(s for s in found.searches if (s.variant, s.entry.name) == (variant, name))
        runs.append(
            {
                "variant": variant, "method": name, "tuned": search.best,
                "tuning": [{"knobs": k, "score": a and a["score"], "calls": a and a["calls"]} for k, a in search.tried],
                "costs": [[_number(end) for end in ends] for ends in costs(found, variant, name)],
                "seeds": [a and _kept(a) for a in answers],
            }
        )  # fmt: skip
    said = [
        {
            "sentence": j.claim.sentence, "kind": j.claim.kind, "variant": j.variant, "verdict": j.verdict,
            "reason": j.reason,
            "pairs": [
                {"method": a, "rival": b, "p_less": t.less, "p_more": t.more, "effect": t.effect,
                 "ratio": _number(t.ratio)}
                for (a, b), t in j.pairs.items()
            ],
        }
        for j in verdicts
    ]  # fmt: skip
    return {"name": found.experiment.name, "size": found.size, "runs": runs, "claims": said}


def _kept(a: RunAnswer) -> dict[str, object]:
    """What the data of a report have of a run."""
    return {
        "curve": a["curve"],
        "counts": a["counts"],
        "calls": a["calls"],
        "status": a["status"],
        "final": a["final"],
        "curvature_steps": a["curvature_steps"],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def figure(found: Finished, path: Path) -> None:
    """The measure and the accuracy of the first seed against calls, seconds and calls of each kind, as one SVG file."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    one = found.experiment
    firsts = {key: first.get("curve", []) if (first := answers[0]) else [] for key, answers in found.answers.items()}
    kinds = sorted({kind for curve in firsts.values() for row in curve for kind in row["counts"]})
    shown = [one.measure, *(["accuracy"] if any("accuracy" in row for c in firsts.values() for row in c) else [])]
    rows, columns = list(itertools.product(one.variants, shown)), ["calls", "seconds", *kinds]
    with rc_context({"svg.hashsalt": "bilevel-verify", "svg.fonttype": "none"}):
        drawing = Figure(figsize=(4.2 * len(columns), 3.2 * len(rows)), layout="constrained")
        for place, ((variant, measure), across) in enumerate(itertools.product(rows, columns)):
            axes = drawing.add_subplot(len(rows), len(columns), place + 1)
            curves = {name: curve for (v, name), curve in firsts.items() if v == variant}
            _panel(axes, curves, measure, across)
            axes.set_title(variant)
        drawing.axes[0].legend(fontsize=6)
        FigureCanvasSVG(drawing).print_svg(str(path), metadata={"Date": None})  # type: ignore[no-untyped-call]


def _panel(axes: Any, curves: dict[str, list[dict[str, Any]]], measure: str, across: str) -> None:
    """One curve a method; a method that never asks an oracle is not drawn against its calls."""
    for place, (name, curve) in enumerate(curves.items()):
        known = [r for r in curve if r.get(measure) is not None]
        top = 1e3 * max(known[0][measure], 1e-18) if known else 0.0  # what diverges leaves the picture
        x = [r[across] if across in ("calls", "seconds") else r["counts"].get(across, 0) for r in known]
        y = [min(max(r[measure], 1e-18), top) for r in known]
        drawn = any(x)
        axes.plot(x if drawn else [], y if drawn else [], LINES[place % 4], label=name, linewidth=1.2)
    if any(np.size(line.get_xdata()) for line in axes.lines):  # matplotlib takes no logarithm of nothing
        axes.set_xscale("log")
        if measure != "accuracy":
            axes.set_yscale("log")
    axes.set_xlabel({"calls": "oracle calls", "seconds": "seconds on this machine"}.get(across, f"calls of {across}"))
    axes.set_ylabel(measure)
