"""The page of a paper as a marked manuscript: its formulas in order, each coloured by its verdict.

One self-contained HTML file for each paper, without scripts or outside resources; formulas are MathML.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.errors import InputError
from bilevel_verify.files import slug
from bilevel_verify.reporting.html import content_policy, template
from bilevel_verify.reporting.typesetting.mathml import to_mathml
from bilevel_verify.reporting.typesetting.prose import prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilevel_verify.manuscript.coverage import Line, Walk
    from bilevel_verify.manuscript.formulas import Formula
    from bilevel_verify.theorems.card import Card

STYLE = """main { max-width: 1080px; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
.f { border-left: 6px solid var(--line); margin: .8rem 0; padding: .3rem .3rem .3rem .9rem; background: var(--panel); }
.f.holds { border-color: var(--holds); } .f.refuted { border-color: var(--refuted); background: var(--refuted-bg); }
.f.undecided { border-color: var(--undecided); } .f.marked { border-color: var(--consistent); }
.f.runs { border-color: var(--s3); }
.wide { overflow-x: auto; padding: .2rem 0; } .where { color: var(--soft); font-size: .84rem; margin: 0; }
ol.rows { margin: .2rem 0 .3rem; padding-left: 1.4rem; font-size: .86rem; overflow-wrap: anywhere; }
h2 { border-top: 1px solid var(--line); padding-top: .8rem; margin-top: 2rem; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; } .key .v { margin-right: .4rem; }
.v.marked { color: var(--consistent); background: var(--consistent-bg); }
.v.runs { color: var(--inconsistent); background: var(--inconsistent-bg); }
.v.reason { color: var(--na); background: var(--na-bg); } code { font: .8rem/1.35 var(--mono); }
"""
"""What the page has besides the style of the report."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<title>Manuscript: {{ card.key }}</title><style>{{ style }}</style></head>
<body><header class="top"><h1>{{ card.title or card.key }}</h1>
<p class="lede">{{ card.authors }}{% if card.authors %}. {% endif %}The displayed formulas in the order of the paper,
each relation with the row that judges it or the reason why none does.</p></header><main>
<p>{{ summary }}.{% if note %} {{ note }}.{% endif %}</p>
<p class="key"><span class="v holds">holds</span><span class="v refuted">refuted</span><span
class="v undecided">undecided</span><span class="v marked">judged in another form</span><span
class="v runs">judged on problems</span><span class="v reason">not judged</span></p>
{% for part in parts %}<h2 id="{{ part.anchor }}">{{ part.title }}</h2>
{% for f in part.formulas %}<div class="f {{ f.colour }}" id="f{{ f.n }}"><p class="where">{{ f.place }}</p>
<div class="wide">{{ f.formula }}</div><ol class="rows">{% for line in f.lines %}<li><span
class="v {{ line.colour }}">{{ line.word }}</span> {{ line.what }}{% if line.text %}<br><code>{{ line.text }}</code>
{% endif %}</li>{% endfor %}</ol></div>
{% endfor %}{% endfor %}</main></body></html>
"""
WORST = ("refuted", "undecided", "runs", "marked", "holds", "reason")
"""The colour of a formula is that of the relation that needs a reader most; of one without judgement, none."""


def write_manuscript(card: Card, walk: Walk, folder: Path) -> Path:
    """Write ``manuscript-PAPER.html`` and return its path.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    return write_page(folder, f"manuscript-{slug(card.key)}.html", manuscript_page(card, walk))


def write_page(folder: Path, name: str, text: str) -> Path:
    """Write a page into a folder, which is made if need be, and return its path.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
    return path


def manuscript_page(card: Card, walk: Walk, note: str = "") -> str:
    """The page as text; ``note`` stands under its title."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    style = template("page.css") + STYLE
    return environment.from_string(PAGE).render(
        card=card,
        style=Markup(style),
        policy=content_policy(style),
        summary=walk.summary(),
        note=note[:1].upper() + note[1:],
        parts=_parts(walk),
    )


def _parts(walk: Walk) -> list[dict[str, object]]:
    """The formulas under the headings of the paper: sections, and the statements and proofs in them."""
    parts: list[dict[str, Any]] = []
    for formula, lines in walk.steps:
        title = f"Section {formula.section}" + (f": {formula.within}" if formula.within else "")
        if not parts or parts[-1]["title"] != title:
            parts.append({"title": title, "anchor": f"part-{len(parts) + 1}", "formulas": []})
        parts[-1]["formulas"].append(_formula(formula, lines))
    return parts


def _formula(formula: Formula, lines: Sequence[Line]) -> dict[str, object]:
    from markupsafe import Markup

    shown = [_line(line) for line in lines]
    colours = {line["colour"] for line in shown}
    return {
        "n": formula.n,
        "place": formula.place,
        "colour": next((c for c in WORST if c in colours), "reason"),
        "formula": Markup(to_mathml(_typeset(formula.latex), block=True)),
        "lines": shown,
    }


def _typeset(latex: str) -> str:
    """Rows of a display inside an environment, as a browser needs them."""
    bare = re.search(r"\\\\", latex) and not re.search(
        r"\\begin\{(aligned|split|array|cases|[bp]?matrix|gathered)", latex
    )
    return rf"\begin{{aligned}}{latex}\end{{aligned}}" if bare else latex


def _line(line: Line) -> dict[str, str]:
    from markupsafe import Markup

    colour = _colour(line)
    word = {"runs": "on problems", "reason": "not judged"}.get(colour, line.verdict)
    row = f"{line.entry}/{line.claim}" if line.entry else "by itself" if line.by == "print layer" else ""
    what = "; ".join(p for p in (row, *line.marks, line.reason) if p)
    return {"colour": colour, "word": word, "what": Markup(prose(what[:600])), "text": line.text}


def _colour(line: Line) -> str:
    if line.by == "reason":
        return "reason"
    if line.by == "with verify":
        return "runs"
    if line.verdict in ("refuted", "inconsistent"):
        return "refuted"
    if line.verdict in ("holds", "consistent"):
        return "marked" if line.by == "card, marked" else "holds"
    return "undecided"
