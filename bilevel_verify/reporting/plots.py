"""Counts against eps with the bound drawn in: the data of a plot, and the plot as inline SVG.

Two sources: a row that carries its own series (``details["driver"]``), and runs of one method on one problem that
differ in one number (tolerance, knob, letter). A plot says what is counted, on which scale, and where the bound comes
from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from bilevel_verify.campaign.answers import Scalar
from bilevel_verify.checks.verdicts.verdict import RowRecord, related
from bilevel_verify.reporting.document import Curve, Drawing, Plot, PlotLine, ProfilePlot, RunEntry
from bilevel_verify.reporting.page import Line
from bilevel_verify.reporting.typesetting.symbols import GREEK

WIDTH, HEIGHT = 520, 330
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 50
STRIP = (520, 76)
LEAST_SHARE = 1e-9
"""Smaller shares are drawn here: how tiny a share is says nothing more."""
MARKS = ("circle", "square", "diamond", "triangle")
LETTERS = {"eps": "ε", **GREEK}
_GREEK = re.compile(rf"\b(?:{'|'.join(LETTERS)})\b")
_POWER = re.compile(r"\*\*(?:\(([^()]*)\)|(-?[\w.]+))")
KIND_NAMES = {
    "grad_f": "gradients of f",
    "grad_g": "gradients of g",
    "hvp_yy_g": "Hessian-vector products",
    "jvp_xy_g": "Jacobian-vector products",
    "hess_f": "Hessians of f",
    "hess_g": "Hessians of g",
    "value_f": "values of f",
    "value_g": "values of g",
    "iterations": "iterations",
}


def plot_records(rows: Sequence[RowRecord], runs: Sequence[RunEntry]) -> list[Plot]:
    """The plots of a document, at most one a statement, problem and method."""
    judged = list(_from_rows(rows))
    covered = {(p["statement"], p["problem"]) for p in judged}
    return judged + [p for p in _from_runs(runs) if (p["statement"], p["problem"]) not in covered]


def _from_rows(rows: Sequence[RowRecord]) -> Iterable[Plot]:
    """Order rows carry their sweep; run rows at several tolerances make one together."""
    for row in rows:
        details = row.get("details") or {}
        if len(details.get("driver") or ()) >= 2:
            eps = details.get("eps")
            along = isinstance(eps, list) and any(e is not None for e in eps)
            label = "1/ε" if along else "driver of the family"
            lines = _measured_and_bound(row, details["driver"], details.get("counts"), details.get("bounds"))
            yield _plot(row, label, lines) | {
                "slope": row["measured"],
                "interval": details.get("interval"),
                "exponent": row["bound"],
                "verdict": row["verdict"],
            }
    for members in _sweeps(rows):
        shown = members[0][1]
        driver = [1 / eps for eps, _ in members]
        sides = [r["measured"] for _, r in members], [r["bound"] for _, r in members]
        lines = _measured_and_bound(shown, driver, *sides)
        yield _plot(shown, "1/ε", lines) | {"slope": _slope(lines[0])}


def _sweeps(rows: Sequence[RowRecord]) -> Iterable[list[tuple[float, RowRecord]]]:
    """Rows of one counting claim on one problem at two or more tolerances, largest tolerance first."""
    groups: dict[tuple[str | None, ...], dict[float, RowRecord]] = {}
    for row in rows:
        eps = (row.get("details") or {}).get("eps")
        counting = "calls(" in (row["left"] or "") or row["left"] in ("iterations", "epochs")
        numbers = all(isinstance(v, int | float) and v > 0 for v in (eps, row["measured"], row["bound"]))
        if row["kind"] == "run" and counting and numbers and isinstance(eps, int | float):
            key = (row["paper"], row["statement"], row["claim"], row["problem"], row["method"], row["reading"])
            groups.setdefault(key, {}).setdefault(float(eps), row)
    for by_eps in groups.values():
        if len(by_eps) >= 2:
            yield sorted(by_eps.items(), key=lambda item: -item[0])


def _plot(row: RowRecord, x_label: str, lines: list[PlotLine]) -> Plot:
    return {
        "statement": f"{row['paper']}/{row['statement']}",
        "problem": row["problem"],
        "method": row["method"],
        "claim": row["claim"],
        "x_label": x_label,
        "y_label": _counted(row["left"] or "count"),
        "lines": lines,
        "slope": None,
        "interval": None,
        "exponent": None,
        "verdict": None,
    }


def _counted(left: str) -> str:
    """What is counted, in words where the text is ``calls(kind)`` alone."""
    kind = left.removeprefix("calls(").removesuffix(")")
    return KIND_NAMES.get(kind, left if len(left) <= 40 else "count")


def _measured_and_bound(
    row: RowRecord, driver: Iterable[object], counts: Iterable[object] | None, bounds: Iterable[object] | None
) -> list[PlotLine]:
    x = _clean(driver)
    lines: list[PlotLine] = [{"name": "measured", "x": x, "y": _clean(counts or ()), "style": "points"}]
    if bounds:
        lines.append({"name": _bound_name(row), "x": x, "y": _clean(bounds), "style": "bound"})
    return [line for line in lines if len(line["y"]) == len(x)]


def _bound_name(row: RowRecord) -> str:
    right = related(row.get("right"), row.get("details"))
    shape = "order, up to its constant: " if row["kind"] == "order" else "bound: "
    right = right.replace("softO", "Õ")
    return shape + right if 0 < len(right) <= 52 else shape.rstrip(": ")


def _from_runs(runs: Sequence[RunEntry]) -> Iterable[Plot]:
    """Counts of every kind along each number that a sweep moved (tolerance, knobs, letters), all else being equal."""
    for statement, problem, method, name, members in driven(runs):
        driver = [1 / v if name == "eps" else v for v in members]
        kinds = list(dict.fromkeys(k for run in members.values() for k in run["counts"] if not k.startswith("stop_")))
        lines: list[PlotLine] = []
        for kind in kinds[:4]:
            pairs = [(x, r["counts"].get(kind, 0)) for x, r in zip(driver, members.values(), strict=True)]
            kept = sorted((x, y) for x, y in pairs if y > 0)
            if len(kept) >= 2:
                shown = KIND_NAMES.get(kind, kind)
                lines.append({"name": shown, "x": [p[0] for p in kept], "y": [p[1] for p in kept], "style": "points"})
        if lines:
            yield {
                "statement": statement,
                "problem": problem,
                "method": method,
                "claim": None,
                "x_label": "1/ε" if name == "eps" else name,
                "y_label": "oracle calls",
                "lines": lines,
                "slope": _slope(lines[0]),
                "interval": None,
                "exponent": None,
                "verdict": None,
            }


def driven(runs: Sequence[RunEntry]) -> Iterable[tuple[str, str, str, str, dict[float, RunEntry]]]:
    """(statement, problem, method, name, value -> run) of everything that at least two runs differ in alone."""
    for name in sorted({key for run in runs for key in moved(run)}):
        groups: dict[tuple[str, ...], dict[float, RunEntry]] = {}
        for run in runs:
            if isinstance(value := moved(run).get(name), int | float) and value > 0:
                rest = sorted((k, v) for k, v in moved(run).items() if k != name)
                key = (run.get("statement") or "", run["problem"], run["method"], repr(rest), repr(run.get("x0")))
                groups.setdefault(key, {}).setdefault(float(value), run)
        for (statement, problem, method, *_), members in groups.items():
            if len(members) >= 2:
                yield statement, problem, method, name, {v: members[v] for v in sorted(members)}


def moved(run: RunEntry) -> dict[str, Scalar]:
    """What a campaign may vary from run to run: the tolerance, the knobs of the family, letters given by hand."""
    given = {**(run.get("knobs") or {}), **(run.get("given") or {})}
    eps = run.get("eps")
    return given | {"eps": eps} if isinstance(eps, int | float) else given


def _clean(values: Iterable[object]) -> list[float]:
    return [float(v) if isinstance(v, int | float) and math.isfinite(v) else 0.0 for v in values]


def _slope(line: PlotLine) -> float | None:
    from bilevel_verify.campaign.statistics import power_law

    points = [(x, y) for x, y in zip(line["x"], line["y"], strict=True) if x > 0 and y > 0]
    if len(points) < 2 or points[0][0] == points[-1][0]:
        return None
    return power_law([p[0] for p in points], [p[1] for p in points])[0]


def svg(plot: Curve, identifier: str) -> str:
    """A log-log plot as SVG without any style attribute; colours come from the page's style sheet (light and dark)."""
    points = [(x, y) for line in plot["lines"] for x, y in zip(line["x"], line["y"], strict=True) if x > 0 and y > 0]
    if len(points) < 2:
        return ""
    horizontal = _Axis([p[0] for p in points], LEFT, WIDTH - RIGHT)
    vertical = _Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP)
    title = f"{plot['y_label']} against {plot['x_label']}, {plot['statement']} on {plot['problem']}"
    return _drawn(plot, identifier, title, horizontal, vertical)


def profile_svg(plot: ProfilePlot, identifier: str) -> str:
    """Steps of a profile over a logarithmic axis; the share goes from 0 to 1."""
    places = [x for line in plot["lines"] for x in line["x"] if x > 0]
    if not places:
        return ""
    horizontal, vertical = _Axis(places, LEFT, WIDTH - RIGHT), _ShareAxis(HEIGHT - BOTTOM, TOP)
    return _drawn(plot, identifier, f"{plot['name']}: {plot['note']}", horizontal, vertical)


def _drawn(plot: Drawing, identifier: str, title: str, horizontal: _Axis, vertical: _Axis | _ShareAxis) -> str:
    height = HEIGHT + 20 * len(plot["lines"])
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{identifier}-title">',
        f'<title id="{identifier}-title">{escape(title)}</title>',
        *_grid(horizontal, vertical),
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(plot['x_label'])}</text>",
        f'<text class="axis" transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(plot['y_label'])}</text>",
    ]
    for number, line in enumerate(plot["lines"]):
        parts += _line(line, number, horizontal, vertical)
    return "".join([*parts, "</svg>"])


def _share(row: RowRecord) -> float | None:
    from bilevel_verify.campaign.statistics import used_share

    numbers = [v if isinstance(v := row[k], int | float) else None for k in ("measured", "bound", "margin")]
    return used_share(row["kind"], *numbers)


def strip_svg(lines: Sequence[Line], identifier: str) -> str:
    """How much of its bound every relation of a statement uses, one mark a relation: right of 1 it is broken."""
    shares = [(line, share) for line in lines if line["relation"] and (share := _share(line["row"])) is not None]
    if len(shares) < 2:
        return ""
    axis = _Axis([*(max(share, LEAST_SHARE) for _, share in shares), 1.0], 12, STRIP[0] - 12)
    middle, one = STRIP[1] - 24, axis.place(1.0)
    parts = [
        f'<svg class="plot strip" viewBox="0 0 {STRIP[0]} {STRIP[1]}" role="img" aria-labelledby="{identifier}">',
        f'<title id="{identifier}">Measured / bound of {len(shares)} relations, logarithmic</title>',
    ]
    for value in axis.ticks():
        x = axis.place(value)
        parts.append(f'<line class="grid" x1="{x}" y1="6" x2="{x}" y2="{middle + 4}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{STRIP[1] - 4}" text-anchor="middle">{_tick(value)}</text>')
    parts.append(f'<line class="bound" x1="{one}" y1="2" x2="{one}" y2="{middle + 6}"/>')
    for number, (line, share) in enumerate(shares):
        row, y = line["row"], 12 + 10 * (number % 4)
        said = f"{row['claim'] or row['kind']} on {row['problem'] or 'the formula itself'}: {line['verdict']}"
        style = "".join(c if c.isalpha() else "-" for c in line["verdict"])
        place = axis.place(max(share, LEAST_SHARE))
        parts.append(
            f'<circle class="dot dot-{style}" cx="{place}" cy="{y}" r="4"><title>{escape(said)}</title></circle>'
        )
    return "".join([*parts, "</svg>"])


class _Axis:
    """A logarithmic axis from data to pixels, with about six ticks."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = max(0.06 * (high - low), 0.05)
        self.low, self.high, self.start, self.end = low - margin, high + margin, start, end

    def place(self, value: float) -> float:
        """Pixel of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> list[float]:
        """Powers of ten, or 1-2-5 steps where the range is short."""
        first, last = math.ceil(self.low), math.floor(self.high)
        if last - first >= 2:
            step = max(1, (last - first) // 5)
            return [10.0**e for e in range(first, last + 1, step)]
        fine = [m * 10.0**e for e in range(first - 1, last + 2) for m in (1, 2, 5)]
        return [v for v in fine if self.low <= math.log10(v) <= self.high]


class _ShareAxis:
    """A linear axis from 0 to 1."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def place(self, value: float) -> float:
        """Pixel of a share."""
        return round(self.start + (0.02 + 0.96 * value) * (self.end - self.start), 2)

    def ticks(self) -> list[float]:
        """Fifths."""
        return [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def _grid(horizontal: _Axis, vertical: _Axis | _ShareAxis) -> list[str]:
    parts = []
    for value in horizontal.ticks():
        x = horizontal.place(value)
        parts.append(f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(
            f'<text class="tick" x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_tick(value)}</text>'
        )
    for value in vertical.ticks():
        y = vertical.place(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{_tick(value)}</text>')
    return parts


def _tick(value: float) -> str:
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(value) + 1e-9)
    lead = round(value / 10.0**exponent)
    if -2 <= exponent <= 3:
        return f"{value:g}"
    power = f'10<tspan class="up" dy="-5">{str(exponent).replace("-", "−")}</tspan>'
    return power if lead == 1 else f"{lead}·{power}"


def _line(line: PlotLine, number: int, horizontal: _Axis, vertical: _Axis | _ShareAxis) -> list[str]:
    pairs, steps = zip(line["x"], line["y"], strict=True), line["style"] == "steps"
    places = [(horizontal.place(x), vertical.place(y)) for x, y in pairs if x > 0 and (y > 0 or steps)]
    kind = "bound" if line["style"] == "bound" else f"series series-{number % len(MARKS)}"
    kind += f" dash-{number // len(MARKS)}" if number >= len(MARKS) else ""
    path = " ".join(f"{x},{y}" for x, y in places)
    parts = [f'<polyline class="{kind}" points="{path}" fill="none"/>']
    key = HEIGHT + 20 * number + 8
    parts.append(f'<line class="{kind}" x1="{LEFT}" y1="{key}" x2="{LEFT + 30}" y2="{key}"/>')
    if line["style"] != "bound":
        marked = places[2::2] if steps else places
        parts += [_mark(x, y, number) for x, y in marked[:60]]
        parts.append(_mark(LEFT + 15, key, number))
    parts.append(f'<text class="key" x="{LEFT + 38}" y="{key + 4}">{_key(line["name"])}</text>')
    return parts


def _key(name: str) -> str:
    """The name of a line, its powers raised and its Greek letters written as such: SVG has no formulas."""
    text = _GREEK.sub(lambda found: LETTERS[found[0]], escape(name))
    text = text.replace("&lt;=", "≤").replace("&gt;=", "≥")
    raised = _POWER.sub(
        lambda found: f'<tspan class="up" dy="-5">{found[1] or found[2]}</tspan><tspan dy="5"> </tspan>', text
    )
    return raised.replace("*", "\u2009")


def _mark(x: float, y: float, number: int) -> str:
    kind = MARKS[number % len(MARKS)]
    style = f'class="mark mark-{number % len(MARKS)}"'
    if kind == "circle":
        return f'<circle {style} cx="{x}" cy="{y}" r="4"/>'
    shape = {
        "square": f"{x - 4},{y - 4} {x + 4},{y - 4} {x + 4},{y + 4} {x - 4},{y + 4}",
        "diamond": f"{x},{y - 5} {x + 5},{y} {x},{y + 5} {x - 5},{y}",
        "triangle": f"{x},{y - 5} {x + 5},{y + 4} {x - 5},{y + 4}",
    }[kind]
    return f'<polygon {style} points="{shape}"/>'
