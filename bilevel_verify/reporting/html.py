"""The page: one HTML file without any outside resource, from a report document.

Everything that comes from users, cards or problems passes through autoescape or :mod:`reporting.mathml`; the only
markup put in unescaped is written by this room. A content security policy with hashes forbids every other
script and style.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.verdicts.columns import ELSEWHERE, FIELDS, view
from bilevel_verify.checks.verdicts.counting import word_of
from bilevel_verify.checks.verdicts.verdict import Row, related
from bilevel_verify.files import slug
from bilevel_verify.reporting import findings, words
from bilevel_verify.reporting.build import badness, worst_rows
from bilevel_verify.reporting.cards import bare_claim
from bilevel_verify.reporting.mathml import mixed_to_html, to_mathml
from bilevel_verify.reporting.packing import MARK, pack
from bilevel_verify.reporting.pictures import PagePictures
from bilevel_verify.reporting.plots import profile_svg, strip_svg, svg
from bilevel_verify.reporting.prose import expression, prose
from bilevel_verify.reporting.rates import judged_here

if TYPE_CHECKING:
    import jinja2

Json = dict[str, Any]
MOST_LINES = 80
"""Lines of one claim table; more are summed up (the rest lies in the table of all rows)."""
EARLY = 'document.documentElement.classList.add("js");'
"""Runs before the body is read: the browser must not lay out every page of a large report to show the first."""


def _environment() -> jinja2.Environment:
    """The template engine with our filters; everything is escaped unless this room wrote it."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "math": lambda latex: Markup(to_mathml(latex or "")),
        "display": lambda latex: Markup(to_mathml(latex or "", block=True)),
        "mixed": lambda text: Markup(prose(text)),
        "expression": lambda text: Markup(expression(text)),
        "formula": lambda text: Markup(mixed_to_html(text, block=True)),
        "related": lambda row: related(row["right"], row.get("details")),
        "number": words.number,
        "percent": words.percent,
        "slug": slug,
        "nested": words.nested,
        "letter": lambda name: Markup(to_mathml(_letter(name))),
    }
    environment.filters["numbered"] = words.numbered
    environment.globals |= {"most_lines": MOST_LINES, "look": words.LOOKS, "certainties": words.CERTAINTIES}
    environment.globals["row_columns"] = view("page")
    environment.globals["strip"] = lambda lines, name: Markup(strip_svg(lines, name))
    environment.globals["plot"] = lambda p, name: Markup(svg(p, name))
    environment.globals["profile"] = lambda p, name: Markup(profile_svg(p, name))
    return environment


def render(document: Json, pictures: PagePictures | None = None) -> str:
    """The whole page as text, with those pictures of its problems and statements."""
    from markupsafe import Markup

    environment = _environment()
    looks = list(words.LOOKS.items())
    style, script = template("page.css"), template("page.js")
    data = json_for_page(row_table(worst_rows(document["rows"], len(document["rows"])), document["summary"]["rows"]))
    page = environment.get_template("page.html").render(
        document=document,
        pictures=pictures or PagePictures(),
        view=View(document),
        rates={"here": judged_here(document["rows"]), "kept": document.get("rates")},
        tightness=document.get("tightness"),
        policy=content_policy(style, script, EARLY),
        early=Markup(EARLY),
        style=Markup(style),
        script=Markup(script),
        data=Markup(data),
        look_data=Markup(json_for_page({w: {"symbol": k.symbol, "style": k.style, "rank": k.rank} for w, k in looks})),
        packed=Markup(MARK),
    )
    return pack(page)


def _letter(name: str) -> str:
    from bilevel_verify.language import letter_latex

    return letter_latex(name)


def template(name: str) -> str:
    """Text of a file of the page's templates."""
    return resources.files("bilevel_verify.reporting").joinpath("templates", name).read_text(encoding="utf-8")


def content_policy(style: str, *scripts: str) -> str:
    """A policy under which this style and these scripts run and nothing else is loaded or run."""
    hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (style, *scripts)]
    allowed = " ".join(f"'sha256-{h}'" for h in hashes[1:]) or "'none'"
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def json_for_page(value: object) -> str:
    """JSON that can stand inside a script element: no character can end the element or start markup."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def row_table(shown: Sequence[Json], total: int) -> Json:
    """Rows for the page's own table: column-wise, each distinct text once. ``total`` counts those not shown too.

    ``heads`` are the columns of the table, ``details`` those that a row shows when it is opened, ``textual`` those
    whose values are numbers of a text; ``formulas`` has those that are sides of relations as MathML, by number.
    """
    texts: dict[str, int] = {}
    columns: dict[str, list[Any]] = {}
    heads = view("page")
    details = [c for name, c in FIELDS.items() if name not in ELSEWHERE and c not in heads]
    for column in (*heads, *details):
        values = [column.value(row) for row in shown]
        if column.numeric:
            columns[column.name] = [_short_number(v) for v in values]
        else:
            said = ("; ".join(v) if column.kind == "texts" and v else v for v in values)
            columns[column.name] = [texts.setdefault(str(v), len(texts)) if v else None for v in said]
    sides = {i for name in ("left", "right") for i in columns.get(name, ()) if i is not None}
    return {
        "formulas": {number: expression(text) for text, number in texts.items() if number in sides},
        "columns": columns,
        "heads": [{"name": c.name, "numeric": c.numeric} for c in heads],
        "details": [c.name for c in details],
        "textual": [c.name for c in (*heads, *details) if not c.numeric],
        "texts": list(texts),
        "total": total,
        "shown": len(shown),
    }


def _short_number(value: str | float | None) -> str | float | None:
    return float(f"{value:.6g}") if isinstance(value, float) else value


class View:
    """The document arranged for the page: lines, matrix, pages. Everything the template needs and nothing else."""

    def __init__(self, document: Json) -> None:
        self.document = document
        rows = document["rows"]
        self.lines = _lines(rows)
        places = document["matrix"]
        self.cells = {("/".join(p for p in (m["paper"], m["statement"]) if p), m["problem"]): m for m in places}
        self.problem_names = sorted({p for _, p in self.cells if p})
        self.records = {s["name"]: s for p in document["papers"] for s in p["statements"]}
        self.statement_names = self._ordered(dict.fromkeys(n for n, _ in self.cells if n))
        self.by_statement: dict[str, list[Json]] = {}
        self.by_problem: dict[str, list[Json]] = {}
        for line in self.lines:
            self.by_statement.setdefault(line["name"], []).append(line)
            if line["row"]["problem"]:
                self.by_problem.setdefault(line["row"]["problem"], []).append(line)
        for name, lines in self.by_statement.items():
            self.by_statement[name] = _anchored(name, sorted(lines, key=lambda line: badness(line["row"])))
        self.problems = {p["name"]: p for p in document["problems"]}
        self.plots = _indexed(document["plots"])
        self.worst = worst_rows(rows)

    def _ordered(self, names: Iterable[str]) -> list[str]:
        """Statements paper by paper, in the order of their cards; those without a card after them, by name."""
        place = {name: number for number, name in enumerate(self.records)}
        return sorted(names, key=lambda n: (n.partition("/")[0], place.get(n, len(place)), n))

    def matrices(self) -> list[Json]:
        """The summary matrix, paper by paper: its statements by those problems on which one of them was judged."""
        tables: dict[str, list[str]] = {}
        for name in self.statement_names:
            tables.setdefault(name.partition("/")[0], []).append(name)
        found = []
        for paper, names in tables.items():
            columns = [p for p in (None, *self.problem_names) if any(self._judged(name, p) for name in names)]
            rows = [
                {
                    "name": n,
                    "statement": n.partition("/")[2],
                    "cells": [_cell(n, p, self.cells.get((n, p))) for p in columns],
                }
                for n in names
            ]
            if columns:
                found.append({"paper": paper, "columns": columns, "rows": rows})
        return found

    def _judged(self, name: str, problem: str | None) -> bool:
        found = self.cells.get((name, problem))
        return bool(found and found["verdicts"])

    def refuted(self) -> list[Json]:
        """Every refuted claim as a sentence, new ones first."""
        return findings.refuted([line for lines in self.by_statement.values() for line in lines], self.records)

    def open_reasons(self) -> list[Json]:
        """Why relations stay undecided, the most frequent reason first."""
        return findings.open_reasons(self.lines)

    def wrong(self, name: str) -> Json:
        """What is wrong with a statement, in one sentence."""
        return findings.wrong(self.by_statement.get(name, []))

    def ratios(self) -> dict[str, object]:
        """Heat map of the share of each bound that was used."""
        from bilevel_verify.campaign.statistics import bound_ratios

        rows = [Row.from_dict(r) for r in self.document["rows"] if isinstance(r["bound"], int | float)]
        found = {(r.statement, r.problem): r for r in bound_ratios(rows)}
        statements = list(dict.fromkeys(s for s, _ in found))
        problems = sorted({p for _, p in found})
        return {"statements": statements, "problems": problems, "cells": found, "level": _heat}

    def methods(self) -> list[Json]:
        """Method pages: the printed algorithms, and the parameters that the runs used."""
        rows = self.document["rows"]
        names = sorted({r["method"] for r in rows if r["method"]} | {r["method"] for r in self.document["runs"]})
        if any(name.startswith("literal:") for name in names):
            names = [name for name in names if name != "literal"]  # its rows: the runs name the algorithm
        found = []
        for name in names:
            algorithms = [
                a | {"paper": p["key"]} for p in self.document["papers"] for a in p["algorithms"] if a["method"] == name
            ]
            runs = [r for r in self.document["runs"] if r["method"] == name][:40]
            letters = list(
                dict.fromkeys(k for r in runs for k, v in r["parameters"].items() if not isinstance(v, list))
            )
            lines = [line for line in self.lines if line["row"]["method"] == name]
            plots = [p for p in self.plots.get("", []) if p["method"] == name]
            item: Json = {
                "name": name,
                "title": words.method_title(name),
                "algorithms": algorithms,
                "runs": runs,
                "letters": letters[:14],
            }
            found.append(item | {"lines": lines, "plots": plots})
        return found

    def errata(self) -> list[Json]:
        """Everything refuted as printed, and everything whose card records a refutation, with its repaired form."""
        found = []
        for name, record in self.records.items():
            for claim in record["claims"]:
                if not claim["as_printed"]:
                    continue
                lines = [x for x in self.by_statement.get(name, []) if x["row"]["claim"] == claim["id"]]
                broken = [x for x in lines if x["verdict"] in ("refuted", "inconsistent") and x["row"]["as_printed"]]
                if broken or claim["refuted"]:
                    repaired = [c for c in record["claims"] if c["id"] == claim["id"] and c["change"]]
                    mended = [x for x in lines if any(mark.startswith("repaired") for mark in x["marks"])]
                    item = {"name": name, "record": record, "claim": claim, "broken": broken}
                    found.append(item | {"repaired": repaired, "mended": mended})
        found += self._bare_errata({(x["name"], x["claim"]["id"]) for x in found})
        named = ((f"e--{place}", one["name"].partition("/")[0]) for place, one in enumerate(found))
        return [one | {"anchor": anchor, "paper": paper} for one, (anchor, paper) in zip(found, named)]

    def _bare_errata(self, known: set[tuple[str, str]]) -> list[Json]:
        """Refuted lines whose statement has no such claim on its card (inequalities, steps, identities ...)."""
        bare = []
        for line in self.lines:
            row = line["row"]
            if line["verdict"] in ("refuted", "inconsistent") and row["as_printed"]:
                if (line["name"], row["claim"]) in known:
                    continue
                sides = f"{row['left'] or ''} against {related(row['right'], row.get('details'))}"
                printed = [row["printed"]] if row["printed"] else []
                claim = bare_claim(row["claim"], printed=printed, text=[sides])
                item = {"name": line["name"], "record": self.records.get(line["name"]), "claim": claim}
                bare.append(item | {"broken": [line], "repaired": [], "mended": []})
        return bare

    def statements_on(self, problem: str) -> list[Json]:
        """The statements judged on a problem, one line each: the worst verdict, the counts, the smallest margin."""
        groups: dict[str, list[Json]] = {}
        for line in self.by_problem.get(problem, []):
            if line["relation"]:
                groups.setdefault(line["name"], []).append(line)
        found = []
        for name, lines in groups.items():
            counts = Counter(v for line in lines for v, n in line["counts"].items() for _ in range(n))
            verdict = words.worst(list(counts))
            shown = worst_rows([line["row"] for line in lines if line["verdict"] == verdict], 1)[0]
            margins = [m for x in lines if _decided(x) and isinstance(m := x["row"]["margin"], int | float)]
            item: Json = {"name": name, "verdict": verdict, "counts": {v: counts[v] for v in words.LOOKS if counts[v]}}
            record = self.records.get(name)
            item |= {"row": shown, "margin": min(margins, default=None), "source": record["source"] if record else ""}
            found.append(item | {"anchor": slug("s", name, problem)})
        return found

    def hypotheses(self, name: str) -> list[Json]:
        """Checked hypotheses of a statement, one line for each distinct outcome."""
        found = [h for h in self.document["hypotheses"] if words.statement_name(h) == name]
        return [line["row"] | {"count": line["count"]} for line in _lines(found)][:MOST_LINES]


def _decided(line: Json) -> bool:
    """Whether a line is about a relation that holds or is broken: what is open has no margin."""
    return line["verdict"] in ("holds", "refuted")


def _anchored(name: str, lines: list[Json]) -> list[Json]:
    """The lines of a statement; the first one of each problem is where the cell of the matrix leads."""
    seen: set[str | None] = set()
    for line in lines:
        problem = line["row"]["problem"]
        line["anchor"] = None if problem in seen else slug("s", name, problem or "whole")
        seen.add(problem)
    return lines


def _lines(rows: Sequence[Json]) -> list[Json]:
    """Rows of one claim on one problem by one method as one line: the worst of them, and how many of each verdict."""
    groups: dict[tuple[Any, ...], list[Json]] = {}
    for row in rows:
        key = (
            *(row[k] for k in ("paper", "statement", "claim", "problem", "method", "kind", "reading", "as_printed")),
            *(row.get("marks") or ()),
        )
        groups.setdefault(key, []).append(row)
    lines = []
    for number, members in enumerate(groups.values()):
        counts = Counter(m["verdict"] for m in members)
        verdict = words.worst(list(counts))
        shown = worst_rows([m for m in members if m["verdict"] == verdict], 1)[0]
        places = [m["places"] for m in members if m["places"]]
        lines.append(
            {
                "id": f"line-{number}",
                "name": words.statement_name(shown),
                "row": shown,
                "verdict": verdict,
                "word": word_of(shown),
                "relation": word_of(shown) == verdict,
                "marks": list(shown.get("marks") or ()),
                "stated": shown.get("stated"),
                "count": len(members),
                "counts": {v: counts[v] for v in words.LOOKS if counts[v]},
                "places": sum(places) if places else None,
            }
        )
    return lines


def _cell(name: str, problem: str | None, found: Json | None) -> Json:
    if found is None:
        return {"verdict": None, "count": 0, "title": "", "anchor": "", "marks": ""}
    counts = found["verdicts"]
    parts = [", ".join(f"{n} {v}" for v, n in counts.items())] if counts else []
    marks = "" if found["as_printed"] or not counts else ", ".join(found["marked"])
    if marks:
        parts[0] += f" (not as printed: {marks})"
    parts += [f"{what}: " + ", ".join(f"{n} {w}" for w, n in words_.items()) for what, words_ in found["apart"].items()]
    title = f"{name}, {problem or 'the statement as a whole'}: {'; '.join(parts)}"
    anchor = slug("s", name, problem or "whole")
    verdict = words.worst(list(counts)) if counts else None
    return {"verdict": verdict, "count": sum(counts.values()), "title": title, "anchor": anchor, "marks": marks}


def _heat(ratio: float) -> int:
    """Level 0 (hardly used) to 6 (the bound is reached), 7 beyond it."""
    if ratio > 1:
        return 7
    for level, edge in enumerate((1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.7)):
        if ratio <= edge:
            return level
    return 6


def _indexed(plots: Sequence[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for number, plot in enumerate(plots):
        found.setdefault(plot["statement"], []).append(plot | {"id": f"plot-{number}"})
    return found
