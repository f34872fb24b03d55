"""The page: one HTML file without any outside resource, from a report document.

Everything that comes from users, cards or problems passes through autoescape or :mod:`.typesetting.mathml`; the only
markup put in unescaped is written by this room. A content security policy with hashes forbids every other
script and style.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from bilevel_verify.checks.verdicts.columns import ELSEWHERE, FIELDS, view
from bilevel_verify.checks.verdicts.verdict import Row, RowRecord, related
from bilevel_verify.files import slug
from bilevel_verify.reporting import findings, words
from bilevel_verify.reporting.arranging import anchored, cell_of, decided, erratum, heat, indexed, lines_of
from bilevel_verify.reporting.build import badness, worst_rows
from bilevel_verify.reporting.cards import bare_claim
from bilevel_verify.reporting.document import (
    ReportDocument,
)
from bilevel_verify.reporting.packing import MARK, pack
from bilevel_verify.reporting.page import (
    ErrataItem,
    HypothesisLine,
    Line,
    MatrixRow,
    MatrixTable,
    MethodPage,
    OpenReason,
    RefutedLine,
    RowTable,
    StatementLine,
    Wrong,
)
from bilevel_verify.reporting.pictures import PagePictures
from bilevel_verify.reporting.plots import profile_svg, strip_svg, svg
from bilevel_verify.reporting.rates import judged_here
from bilevel_verify.reporting.typesetting.mathml import mixed_to_html, to_mathml
from bilevel_verify.reporting.typesetting.prose import expression, prose

if TYPE_CHECKING:
    import jinja2

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
    filters: dict[str, Callable[..., object]] = {
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
        "numbered": words.numbered,
    }
    environment.filters |= filters
    environment.globals |= {"most_lines": MOST_LINES, "look": words.LOOKS, "certainties": words.CERTAINTIES}
    environment.globals["row_columns"] = view("page")
    environment.globals["strip"] = lambda lines, name: Markup(strip_svg(lines, name))
    environment.globals["plot"] = lambda p, name: Markup(svg(p, name))
    environment.globals["profile"] = lambda p, name: Markup(profile_svg(p, name))
    return environment


def render(document: ReportDocument, pictures: PagePictures | None = None) -> str:
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


def row_table(shown: Sequence[RowRecord], total: int) -> RowTable:
    """Rows for the page's own table: column-wise, each distinct text once. ``total`` counts those not shown too.

    ``heads`` are the columns of the table, ``details`` those that a row shows when it is opened, ``textual`` those
    whose values are numbers of a text; ``formulas`` has those that are sides of relations as MathML, by number.
    """
    texts: dict[str, int] = {}
    columns: dict[str, list[str | float | None]] = {}
    heads = view("page")
    details = [c for name, c in FIELDS.items() if name not in ELSEWHERE and c not in heads]
    for column in (*heads, *details):
        values = [column.value(row) for row in shown]
        if column.numeric:
            columns[column.name] = [_short_number(v) for v in values]
        else:
            said = ("; ".join(v) if isinstance(v, list) else v for v in values)
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


def _short_number(value: object) -> str | float | None:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value if isinstance(value, int | str) else None


class View:
    """The document arranged for the page: lines, matrix, pages. Everything the template needs and nothing else."""

    def __init__(self, document: ReportDocument) -> None:
        self.document = document
        rows = document["rows"]
        self.lines = lines_of(rows)
        places = document["matrix"]
        self.cells = {("/".join(p for p in (m["paper"], m["statement"]) if p), m["problem"]): m for m in places}
        self.problem_names = sorted({p for _, p in self.cells if p})
        self.records = {s["name"]: s for p in document["papers"] for s in p["statements"]}
        self.statement_names = self._ordered(dict.fromkeys(n for n, _ in self.cells if n))
        self.by_statement: dict[str, list[Line]] = {}
        self.by_problem: dict[str, list[Line]] = {}
        for line in self.lines:
            self.by_statement.setdefault(line["name"], []).append(line)
            if line["row"]["problem"]:
                self.by_problem.setdefault(line["row"]["problem"], []).append(line)
        for name, lines in self.by_statement.items():
            self.by_statement[name] = anchored(name, sorted(lines, key=lambda line: badness(line["row"])))
        self.problems = {p["name"]: p for p in document["problems"]}
        self.plots = indexed(document["plots"])
        self.worst = worst_rows(rows)

    def _ordered(self, names: Iterable[str]) -> list[str]:
        """Statements paper by paper, in the order of their cards; those without a card after them, by name."""
        place = {name: number for number, name in enumerate(self.records)}
        return sorted(names, key=lambda n: (n.partition("/")[0], place.get(n, len(place)), n))

    def matrices(self) -> list[MatrixTable]:
        """The summary matrix, paper by paper: its statements by those problems on which one of them was judged."""
        tables: dict[str, list[str]] = {}
        for name in self.statement_names:
            tables.setdefault(name.partition("/")[0], []).append(name)
        found: list[MatrixTable] = []
        for paper, names in tables.items():
            columns = [p for p in (None, *self.problem_names) if any(self._judged(name, p) for name in names)]
            rows: list[MatrixRow] = [
                {
                    "name": n,
                    "statement": n.partition("/")[2],
                    "cells": [cell_of(n, p, self.cells.get((n, p))) for p in columns],
                }
                for n in names
            ]
            if columns:
                found.append({"paper": paper, "columns": columns, "rows": rows})
        return found

    def _judged(self, name: str, problem: str | None) -> bool:
        found = self.cells.get((name, problem))
        return bool(found and found["verdicts"])

    def refuted(self) -> list[RefutedLine]:
        """Every refuted claim as a sentence, new ones first."""
        return findings.refuted([line for lines in self.by_statement.values() for line in lines], self.records)

    def open_reasons(self) -> list[OpenReason]:
        """Why relations stay undecided, the most frequent reason first."""
        return findings.open_reasons(self.lines)

    def wrong(self, name: str) -> Wrong:
        """What is wrong with a statement, in one sentence."""
        return findings.wrong(self.by_statement.get(name, []))

    def ratios(self) -> dict[str, object]:
        """Heat map of the share of each bound that was used."""
        from bilevel_verify.campaign.statistics import bound_ratios

        rows = [Row.from_dict(r) for r in self.document["rows"] if isinstance(r["bound"], int | float)]
        found = {(r.statement, r.problem): r for r in bound_ratios(rows)}
        statements = list(dict.fromkeys(s for s, _ in found))
        problems = sorted({p for _, p in found})
        return {"statements": statements, "problems": problems, "cells": found, "level": heat}

    def methods(self) -> list[MethodPage]:
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
            page: MethodPage = {
                "name": name,
                "title": words.method_title(name),
                "algorithms": algorithms,
                "runs": runs,
                "letters": letters[:14],
                "lines": lines,
                "plots": plots,
            }
            found.append(page)
        return found

    def errata(self) -> list[ErrataItem]:
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
                    found.append(erratum(name, record, claim, broken, repaired, mended))
        found += self._bare_errata({(x["name"], x["claim"]["id"]) for x in found})
        for place, one in enumerate(found):
            one["anchor"] = f"e--{place}"
        return found

    def _bare_errata(self, known: set[tuple[str, str | None]]) -> list[ErrataItem]:
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
                bare.append(erratum(line["name"], self.records.get(line["name"]), claim, [line], [], []))
        return bare

    def statements_on(self, problem: str) -> list[StatementLine]:
        """The statements judged on a problem, one line each: the worst verdict, the counts, the smallest margin."""
        groups: dict[str, list[Line]] = {}
        for line in self.by_problem.get(problem, []):
            if line["relation"]:
                groups.setdefault(line["name"], []).append(line)
        found = []
        for name, lines in groups.items():
            counts = Counter(v for line in lines for v, n in line["counts"].items() for _ in range(n))
            verdict = words.worst(list(counts))
            shown = worst_rows([line["row"] for line in lines if line["verdict"] == verdict], 1)[0]
            margins = [m for x in lines if decided(x) and isinstance(m := x["row"]["margin"], int | float)]
            record = self.records.get(name)
            judged: StatementLine = {
                "name": name,
                "verdict": verdict,
                "counts": {v: counts[v] for v in words.LOOKS if counts[v]},
                "row": shown,
                "margin": min(margins, default=None),
                "source": record["source"] if record else "",
                "anchor": slug("s", name, problem),
            }
            found.append(judged)
        return found

    def hypotheses(self, name: str) -> list[HypothesisLine]:
        """Checked hypotheses of a statement, one line for each distinct outcome."""
        found = [h for h in self.document["hypotheses"] if words.statement_name(h) == name]
        lines: list[HypothesisLine] = [{**line["row"], "count": line["count"]} for line in lines_of(found)[:MOST_LINES]]
        return lines
