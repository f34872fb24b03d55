"""Errata pages: for each paper what was printed, the verdict, the counterexample, the repaired form and the script.

One self-contained HTML file for each paper, without scripts or outside resources. Everything that comes from a card
passes through autoescape or :mod:`reporting.mathml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.verdicts.counting import count_of
from bilevel_verify.errors import InputError
from bilevel_verify.reporting.html import content_policy, template
from bilevel_verify.reporting.mathml import to_mathml
from bilevel_verify.reporting.words import slug

if TYPE_CHECKING:
    from bilevel_verify.audit.findings.finding import Finding

STYLE = """main { max-width: 1180px; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
td, th { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; }
pre { overflow-x: auto; background: var(--wash); padding: .6rem; font: .82rem/1.4 var(--mono); }
section { border-top: 1px solid var(--line); padding-top: .4rem; } .wide { overflow-x: auto; }
dt { color: var(--soft); }
dd { margin: 0 0 .5rem; }
"""
"""What an errata page has besides the style of the report."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<title>Errata: {{ card.key }}</title><style>{{ style }}</style></head>
<body><header class="top"><h1>Errata: {{ card.title or card.key }}</h1>
<p class="lede">{% if card.authors %}{{ card.authors }}. {% endif %}
Each defect once, the gravest first, with every place where it shows: the printed formula, the smallest counterexample
found, the nearest form that was proved, and a script that shows the counterexample by itself.</p></header><main>
<p>{{ counts }}. {{ share }}.</p>
{% for line in levels %}<p>{{ line }}.</p>{% endfor %}
{% if causes or groups %}<nav><h2>Contents</h2><ol>{% for c in causes %}
<li><a href="#{{ c.anchor }}">{{ c.title }}</a> <span class="soft">{{ c.grade }}{% if c.number > 1 %}, {{ c.number }}
rows{% endif %}</span></li>{% endfor %}{% for g in groups %}
<li><a href="#{{ g.anchor }}">{{ g.title }}</a> <span class="soft">{{ g.grade }}{% if g.places|length > 1 %},
{{ g.places|length }} places{% endif %}</span></li>{% endfor %}</ol></nav>{% endif %}
{% for c in causes %}<h2 id="{{ c.anchor }}">{{ loop.index }}. {{ c.title }}</h2>
<p class="soft">{{ c.grade }}.{% if c.places|length > 1 %} Places: {{ c.places|join("; ") }}.{% endif %}
{% if c.used_by %}It matters for: {{ c.used_by|join(", ") }}.{% endif %}</p>
{% for f in c.rows %}
<section id="{{ f.anchor }}"><h3>{{ f.id }} <span class="soft">{{ f.claim }}</span></h3>
<p class="soft">{{ f.source }}{% if f.known %} (recorded in the card){% endif %}</p>
<dl>{% if f.printed %}<dt>Printed</dt><dd class="wide">{{ f.printed }}</dd>{% endif %}{% if f.stated %}
<dt>As we read it</dt><dd class="wide">{{ f.stated }}</dd>{% endif %}{% if f.text %}
<dt>In the card</dt><dd class="wide"><code>{{ f.text }}</code></dd>{% endif %}
<dt>Verdict</dt><dd>{{ f.verdict }} ({{ f.kind }})</dd>
<dt>Counterexample</dt><dd>{{ f.point or "see the reason" }}{% if f.sides %}: {{ f.sides }}{% endif %}</dd>
{% if f.letters %}<dt>Letters</dt><dd>{{ f.letters|join("; ") }}</dd>{% endif %}
<dt>Why</dt><dd>{{ f.why }}</dd>
{% if f.beside %}<dt>Not as printed</dt>{% for text in f.beside %}<dd>{{ text }}</dd>{% endfor %}{% endif %}
<dt>Repaired</dt><dd>{% if f.repaired %}<code>{{ f.repaired }}</code>{% if f.repair_verdict %}:
{{ f.repair_verdict }}{% endif %}{% else %}none is
known (<code>--quick</code> leaves the search of the neighbourhood out){% endif %}</dd>
{% if f.script %}<dt>Script</dt><dd><a href="counterexamples/{{ f.script_name }}">{{ f.script_name }}</a>
<details><summary>source</summary><pre>{{ f.script }}</pre></details></dd>{% endif %}</dl></section>
{% endfor %}{% else %}<p>Nothing was refuted.</p>{% endfor %}
{% if groups %}<h2>Between the formulas</h2><p>Names, indices, shapes, algorithms, citations and joints, read over the
whole text: {{ read }} formulas{% if unread %}, {{ unread }} of them not read{% endif %}.</p>{% for g in groups %}
<section id="{{ g.anchor }}"><h3>{{ g.title }}</h3><p class="soft">{{ g.grade }}; {{ g.kind }}</p>
<dl>{% if g.formula %}<dt>Printed</dt><dd class="wide">{{ g.formula }}</dd>{% endif %}
{% if g.evidence %}<dt>Shown by</dt>{% for line in g.evidence %}<dd><code>{{ line }}</code></dd>{% endfor %}{% endif %}
{% if g.script %}<dt>Script</dt><dd><a href="counterexamples/{{ g.script }}">{{ g.script }}</a></dd>{% endif %}
{% if g.places|length > 1 %}<dt>Places</dt><dd>{{ g.places|join("; ") }}</dd>{% endif %}
</dl></section>{% endfor %}{% endif %}
<h2>Coverage</h2><div class="wide"><table><tr><th>item</th><th>what</th><th>source</th><th>verdicts</th>
<th>elsewhere, or why nothing</th></tr>
{% for line in lines %}<tr><td>{{ line.id }}</td><td>{{ line.kind }}</td><td>{{ line.source }}</td>
<td>{{ line.shown }}</td><td>{{ line.rest }}</td></tr>
{% endfor %}</table></div>
{% if not_read %}<h2>Not read</h2><p>Nothing is said about these.</p><ul>{% for line in not_read %}<li>{{ line }}</li>
{% endfor %}</ul>{% endif %}
{% if quotations %}<h2>Quotations</h2><p>What the card quotes, looked up in the print of the paper and compared with
what is judged: {{ quoted }}.</p><div class="wide"><table>
<tr><th>outcome</th><th>item</th><th>quotation</th><th>why</th></tr>{% for q in quotations %}
<tr><td>{{ q.outcome }}</td><td>{{ q.item }}</td><td>{{ q.formula }}</td><td>{{ q.why }}</td></tr>
{% endfor %}</table></div>{% endif %}</main></body></html>
"""


def write_errata(
    findings: Sequence[Any], lines: Sequence[Any], cards: Sequence[Any], folder: Path,
    reports: Mapping[str, Any] | None = None,
) -> list[Path]:  # fmt: skip
    """Write ``errata-PAPER.html`` for each card and return the paths.

    Parameters
    ----------
    findings : of the audit.
    lines : the coverage table (``audit.coverage.Line``).
    cards : the papers.
    folder : where the pages go; created if it is not there.
    reports : key of a card -> what the proofreader found in its paper.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    pages = []
    for card in cards:
        mine = [f for f in findings if f.row.paper == card.key]
        text = errata_page(
            card, mine, [line for line in lines if line.paper == card.key], (reports or {}).get(card.key)
        )
        path = folder / f"errata-{slug(card.key)}.html"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
        pages.append(path)
    return pages


def errata_page(card: Any, findings: Sequence[Any], lines: Sequence[Any], report: Any = None) -> str:
    """One page as text; ``report`` is what the proofreader found, or None."""
    import jinja2
    from markupsafe import Markup

    from bilevel_verify.audit.findings.causes import causes
    from bilevel_verify.audit.findings.coverage import decided
    from bilevel_verify.audit.findings.levels import levels_of

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    style = template("page.css") + STYLE
    rows = [f.row for f in findings]
    refuted = [f for f in findings if f.row.verdict == "refuted" and _is_of_the_print(f.row)]
    return environment.from_string(PAGE).render(
        card=card,
        style=Markup(style),
        policy=content_policy(style),
        counts=str(count_of(row.to_dict() for row in rows)),
        share=str(decided(rows)),
        levels=str(levels_of(rows)).splitlines() if any("certificate" in row.details for row in rows) else [],
        causes=[_cause(card, cause, findings) for cause in causes(card, refuted)],
        groups=[_group(group, report) for group in report.groups] if report is not None else [],
        read=report.formulas if report is not None else 0,
        unread=len(report.unread) if report is not None else 0,
        not_read=list(report.unread) if report is not None else [],
        lines=[_line(line) for line in lines],
        **_quotations(card),
    )


def _quotations(card: Any) -> dict[str, object]:
    """The quotations of a card whose paper's print is there: counts, and those that are not simply what is judged."""
    from markupsafe import Markup

    from bilevel_verify.manuscript import counts, fidelity, has_print, load_print

    rows = fidelity(card, load_print(card.key)) if has_print(card.key) else []
    shown = [
        {
            "outcome": row.outcome,
            "item": f"{row.statement} {row.part}".strip(),
            "formula": Markup(to_mathml(row.latex)),
            "why": "; ".join((*row.marks, *([row.reason] if row.outcome == "differs" else []))),
        }
        for row in rows
        if not row.outcome.startswith(("same", "quoted"))
    ]
    quoted = ", ".join(f"{n} {outcome}" for outcome, n in counts(rows).items())
    return {"quotations": shown, "quoted": quoted}


def _is_of_the_print(row: Any) -> bool:
    """As printed, or a recorded counterexample that needed the numbers of a named reading to be run again."""
    return bool(row.as_printed or (row.reason or "").startswith("on record"))


def _cause(card: Any, cause: Any, findings: Sequence[object]) -> dict[str, object]:
    return {
        "anchor": slug("cause", cause.first.row.statement, cause.first.row.claim),
        "title": cause.title,
        "grade": cause.grade,
        "number": len(cause.findings),
        "places": cause.places,
        "used_by": cause.used_by,
        "rows": [_record(card, finding, findings) for finding in cause.findings],
    }


def defect_script(paper: str, defect: Any) -> str:
    """File name of the script of a finding between the formulas."""
    return slug(paper, defect.kind, defect.place).replace("/", "-") + ".py"


def _group(group: Any, report: Any) -> dict[str, object]:
    from markupsafe import Markup

    first = group.first
    return {
        "anchor": slug("read", first.kind, first.place),
        "title": f"{first.place}: {first.title}",
        "grade": first.grade,
        "kind": first.kind,
        "formula": Markup(to_mathml(first.latex, block=True)) if first.latex else "",
        "evidence": first.evidence,
        "script": defect_script(report.paper, first) if first in report.scripts else "",
        "places": group.places,
    }


def _letters(card: Any, finding: Any) -> list[str]:
    """What the letters of a counterexample mean."""
    specs = {name: card.letters.get(name) for name in finding.counterexample or {}}
    return [f"{name}: {spec.meaning}" for name, spec in specs.items() if spec is not None and spec.meaning]


def _changed(printed: str, repaired: str | None) -> Any:
    """The repaired form with what changed marked against the printed one."""
    from difflib import SequenceMatcher

    from markupsafe import Markup, escape

    if not repaired:
        return repaired
    one, two = (re.findall(r"[A-Za-z_0-9.]+|\\s+|.", text) for text in (printed, repaired))
    parts = []
    for tag, _, _, start, end in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        piece = escape("".join(two[start:end]))
        parts.append(
            piece if tag == "equal" else Markup("<ins>{}</ins>").format(piece) if piece else Markup("<del></del>")
        )
    return Markup("").join(parts)


def script_name(finding: Finding) -> str:
    """File name of the script of a refutation."""
    row = finding.row
    parts = [row.paper, row.statement, row.claim, *(["units"] if row.kind == "units" else [])]
    kinds = [mark.partition(":")[0].replace(" ", "-") for mark in row.marks]
    return slug(*parts, *dict.fromkeys(kinds)).replace("/", "-") + ".py"


def _record(card: Any, finding: Any, findings: Sequence[Any]) -> dict[str, object]:
    from markupsafe import Markup

    from bilevel_verify.audit.findings.causes import record_of

    row = finding.row
    recorded = record_of(card, row)
    op = (row.details or {}).get("op", "~")
    rows = [f.row for f in findings if f.row.statement == row.statement]
    repairs = [r for r in rows if any(mark.startswith("repaired") for mark in r.marks)]
    beside = [r for r in rows if r.marks and r.claim == row.claim and r not in repairs]
    point = finding.counterexample or {}
    text = f"{row.left} {op} {row.right}" if row.left else ""
    return {
        "anchor": slug(row.statement, row.claim),
        "id": row.statement,
        "claim": row.claim or "",
        "source": row.source or "",
        "known": row.known_refuted,
        "printed": Markup(to_mathml(finding.printed, block=True)) if finding.printed else "",
        "stated": Markup(to_mathml(row.stated, block=True)) if row.stated else "",
        "beside": [f"{'; '.join(r.marks)}: {r.verdict}" for r in beside],
        "text": text,
        "sides": f"left {row.measured:.6g}, right {row.bound:.6g}" if None not in (row.measured, row.bound) else "",
        "letters": _letters(card, finding),
        "verdict": row.verdict,
        "kind": row.kind,
        "point": ", ".join(f"{k} = {v}" for k, v in point.items()),
        "why": "; ".join(p for p in (getattr(recorded, "why", ""), row.reason or "") if p),
        "repaired": _changed(text, finding.repaired),
        "repair_verdict": ", ".join(dict.fromkeys(f"{r.verdict}: {r.reason}" for r in repairs)),
        "script": finding.script,
        "script_name": script_name(finding),
    }


def _line(line: Any) -> dict[str, str]:
    rest = f"with verify: {', '.join(line.elsewhere)}" if line.elsewhere else line.nothing_to_decide
    return {"id": line.id, "kind": line.kind, "source": line.source, "shown": line.shown, "rest": rest}
