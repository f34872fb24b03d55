"""The document and its forms: schema, escaping, LaTeX, Markdown, figures, size."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path

import pytest
from reporting_samples import ATTACK, many, problem, row, verifications

from bilevel_verify.checks.verdicts.columns import FIELDS
from bilevel_verify.checks.verdicts.counting import is_new_refutation
from bilevel_verify.errors import InputError
from bilevel_verify.files import slug
from bilevel_verify.reporting import document_of, report
from bilevel_verify.reporting.build import build
from bilevel_verify.reporting.cards import paper_records
from bilevel_verify.reporting.html import View, content_policy, render, row_table
from bilevel_verify.reporting.schema import problems_with, schema
from bilevel_verify.reporting.tables import latex_escape, latex_matrix, latex_rows, markdown
from bilevel_verify.reporting.words import number, percent, worst

NAMED = {"title": f"Report {ATTACK}", "command": "bilevel-verify run --out 'my dir'"}
PROBLEMS = (None, problem("wave", ATTACK), None)


class Collector(html.parser.HTMLParser):
    """Tags, attributes and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value))
            if name == "id":
                self.ids.append(value or "")


def page_of(document: dict) -> Collector:  # type: ignore[type-arg]
    collector = Collector()
    collector.feed(render(document))
    return collector


def test_the_document_fits_the_published_schema() -> None:
    document = document_of(verifications(), problems=PROBLEMS, **NAMED)
    assert problems_with(json.loads(json.dumps(document, allow_nan=False))) == []
    assert set(schema()["$defs"]["row"]["required"]) == set(FIELDS)


def test_the_schema_refuses_what_it_should() -> None:
    document = json.loads(json.dumps(document_of(verifications(), **NAMED)))
    document["rows"][0]["verdict"] = "true"
    del document["summary"]["cells"]
    document["extra"] = 1
    faults = " | ".join(problems_with(document))
    assert "verdict" in faults
    assert "lacks 'cells'" in faults
    assert "unknown field 'extra'" in faults


def test_holds_are_split_by_certainty_and_new_refutations_counted() -> None:
    summary = document_of(verifications(), **NAMED)["summary"]
    assert summary["holds_by_certainty"] == {"certified": 2, "computed": 1, "proved": 2}
    assert summary["newly_refuted"] == 1
    assert summary["known_refuted"] == 1


def test_nothing_that_a_user_wrote_becomes_markup() -> None:
    page = page_of(document_of(verifications(), problems=PROBLEMS, **NAMED))
    assert page.tags.count("script") == 4  # data, looks, the first line and the page's own
    assert "img" not in page.tags
    assert "b" not in {t for t, n, v in page.attributes if n == "onerror"}
    assert not [a for a in page.attributes if a[1].startswith("on")]
    assert not [a for a in page.attributes if a[1] == "style"]


def test_the_page_asks_for_nothing_outside() -> None:
    text = render(document_of(verifications(), problems=PROBLEMS, **NAMED))
    page = page_of(document_of(verifications(), problems=PROBLEMS, **NAMED))
    addresses = [v for _, n, v in page.attributes if n in ("src", "href") and v]
    assert all(a.startswith("#") or a == "data:," for a in addresses)
    assert not re.search(r"url\(|@import|https?://", text.replace("http-equiv", ""))
    assert "default-src 'none'" in content_policy("", "")


def test_every_link_has_a_target_and_every_id_is_unique() -> None:
    page = page_of(document_of(verifications(), problems=PROBLEMS, **NAMED))
    targets = {v[1:] for _, n, v in page.attributes if n == "href" and v and v.startswith("#")}
    assert targets - set(page.ids) == set()
    assert len(page.ids) == len(set(page.ids))


def test_a_report_has_all_its_files(tmp_path: Path) -> None:
    page = report(verifications(), tmp_path / "out", problems=PROBLEMS, **NAMED)
    names = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert page.name == "index.html"
    assert {"index.html", "report.json", "report.md", "tables/summary.tex", "tables/rows.tex"} <= names
    assert any(n.endswith(".svg") for n in names)
    assert any(n.endswith(".pdf") for n in names)
    assert not any(n.endswith(".partial") for n in names)
    assert problems_with(json.loads((tmp_path / "out" / "report.json").read_text())) == []


def test_reports_are_the_same_twice(tmp_path: Path) -> None:
    for name in "ab":
        report(verifications(), tmp_path / name, problems=PROBLEMS, **NAMED)
    for first in sorted((tmp_path / "a" / "figures").iterdir()):
        assert first.read_bytes() == (tmp_path / "b" / "figures" / first.name).read_bytes()


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown report format 'docx'"):
        report(verifications(), tmp_path, formats=["docx"])


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(InputError, match="choose another --out folder"):
        report(verifications(), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_latex_tables_are_booktabs_and_escaped() -> None:
    document = document_of(verifications(), **NAMED)
    for text in (latex_matrix(document), latex_rows(document)):
        assert r"\toprule" in text
        assert "<" not in text
        assert text.count("{") == text.count("}")
        for table in text.split(r"\begin{tabular}")[1:]:
            assert (
                len({line.count("&") - line.count(r"\&") for line in table.splitlines() if line.endswith(r"\\")}) == 1
            )
    assert latex_escape(r"50% of $x_1 & \input{a}") == r"50\% of \$x\_1 \& \textbackslash{}input\{a\}"


def test_markdown_has_no_markup_from_users() -> None:
    text = markdown(document_of(verifications(), **NAMED))
    assert "<script>" not in text
    rows = text[text.index("| verdict") :].strip().splitlines()
    assert {line.replace(r"\|", "").count("|") for line in rows} == {10}


def test_numbers_as_people_write_them() -> None:
    assert number(None) == "—"
    assert number(1234567) == "1\u202f234\u202f567"
    assert number(0.000012345) == "1.234e−5"
    assert number("inf") == "∞"
    assert number(float("nan")) == "not a number"
    assert number(-0.25) == "−0.25"
    assert percent(0.123) == "12\u202f%"
    assert worst(["holds", "not applicable"]) == "holds"
    assert worst(["holds", "undecided", "refuted"]) == "refuted"
    assert worst(["uninformative", "holds", "consistent"]) == "holds"
    assert slug("a b") != slug("a-b")


def test_an_empty_report_still_reads(tmp_path: Path) -> None:
    page = report([], tmp_path / "empty", title="Nothing")
    assert "Nothing was refuted" in page.read_text(encoding="utf-8")


def test_a_thousand_cells_fit_in_five_megabytes() -> None:
    document = document_of(many(1000, 8))
    assert len(document["rows"]) == 8000
    assert len(render(document).encode()) <= 5_000_000
    assert row_table(document["rows"], 8000)["shown"] == 8000


def test_beyond_that_the_worst_rows_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilevel_verify.reporting.build.SHOWN_ROWS", 1000)
    page = report(many(300, 8), tmp_path / "big", formats=["html", "json"])
    assert page.stat().st_size <= 5_000_000
    assert "2\u202f400" in page.read_text(encoding="utf-8")  # the counts are those of all rows
    document = json.loads((tmp_path / "big" / "report.json").read_text())
    assert 500 <= len(document["rows"]) < 2400
    assert sum(n for cell in document["matrix"] for n in cell["verdicts"].values()) == 2400


def test_a_detection_matrix_beside_the_report_is_shown(tmp_path: Path) -> None:
    cells = {"quick": {"assert_counts": "", "assert_descent": "rises"}}
    control = {"name": "wrong <sign>", "protocol": "solver", "catalogue": "", "cells": cells}
    data = {"profiles": {"quick": {"caught": 1, "of": 1, "missed": []}}, "controls": [control]}
    (tmp_path / "detection-matrix.json").write_text(json.dumps(data))
    page = report(verifications(), tmp_path, formats=["html", "json"]).read_text(encoding="utf-8")
    assert "wrong &lt;sign&gt;" in page
    assert "quick: 1 of 1 caught" in page
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["detection"]["controls"][0]["marks"] == ["-", "quick"]
    assert problems_with(document) == []
    (tmp_path / "detection-matrix.json").write_text("[]")
    assert "wrong &lt;sign&gt;" not in report(verifications(), tmp_path, formats=["html"]).read_text(encoding="utf-8")


def test_sweeps_beside_the_report_are_shown(tmp_path: Path) -> None:
    row = {"name": "ramp <x>", "paper": "mine", "source": "Theorem 1", "letter": "eps", "exponent": 1.75, "log": [2, 1]}
    row |= {"slope": 1.76, "last": 1.755, "interval": [1.75, 1.76], "tolerance": 0.06, "within": True, "note": ""}
    row |= {"verdict": "consistent", "points": [{"value": 0.1, "count": 10}, {"value": 0.01, "count": 600}]}
    (tmp_path / "rates.json").write_text(json.dumps([row]))
    page = report(verifications(), tmp_path, formats=["html", "json", "markdown"]).read_text(encoding="utf-8")
    assert "ramp &lt;x&gt;" in page
    assert "1.750 + log" in page
    assert "1.750 to 1.760" in page
    assert "\\[1.750, 1.760\\]" in (tmp_path / "report.md").read_text(encoding="utf-8")
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["rates"]["series"][0]["within"] == 0.06
    assert problems_with(document) == []
    for other in ("[1]", json.dumps([row | {"verdict": "fine"}])):
        (tmp_path / "rates.json").write_text(other)
        assert "ramp &lt;x&gt;" not in report(verifications(), tmp_path, formats=["html"]).read_text(encoding="utf-8")


def test_the_tightness_beside_the_report_is_shown(tmp_path: Path) -> None:
    claim = {"claim": "decrease <b>", "relation": "a <= b", "ratio": 1e-6, "word": "loose", "certainty": "certified"}
    claim |= {"verdict": "holds", "family": "single-huber"}
    (tmp_path / "worst.json").write_text(json.dumps({"statement": "mine/t", "tried": 7, "claims": [claim]}))
    page = report(verifications(), tmp_path, formats=["html", "json"]).read_text(encoding="utf-8")
    assert "mine/t:decrease &lt;b&gt;" in page
    assert 'cx="64.0"' in page  # half way from 1e-12 to 1
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["tightness"][0]["share"] == "1e-06"
    assert problems_with(document) == []
    for other in ([claim | {"verdict": "fine"}], [claim | {"ratio": "much"}], [7], None):
        (tmp_path / "worst.json").write_text(json.dumps([{"statement": "mine/t", "tried": 7, "claims": other}]))
        again = report(verifications(), tmp_path, formats=["html"]).read_text(encoding="utf-8")
        assert "How tight every bound is" not in again


def test_kept_sweeps_are_shown_for_the_papers_of_the_report(tmp_path: Path) -> None:
    from bilevel_verify.reporting.rates import kept_file, rates_record

    assert kept_file().exists()
    found = rates_record(tmp_path, {"rahgd"})
    assert found is not None
    assert {r["paper"] for r in found["series"]} == {"rahgd"}
    assert any(r["letter"] == "kappa" and r["exponent"] == 2.75 for r in found["series"])
    assert rates_record(tmp_path, {"nobody"}) is None


def test_units_and_marks_are_told_apart_in_cells_and_totals() -> None:
    rows = [
        row("holds", statement="units-only", kind="units", problem=None),
        row("holds", statement="special-only", problem=None, as_printed=False, marks=("special: k = 2",)),
        row("refuted", statement="both", problem=None),
        row("holds", statement="both", problem=None, as_printed=False, marks=("added: k >= 2",)),
        row("holds", statement="on-record", problem=None, known_refuted=True),
    ]
    answer = {"statement": "x", "problem": None, "rows": [r.to_dict() for r in rows]}
    document = build([answer], title="t", command="")
    assert problems_with(document) == []
    summary = document["summary"]
    assert summary["verdicts"] == {"refuted": 1, "holds": 2}
    assert summary["as_printed"] == {"refuted": 1}
    assert summary["marked"] == {"added": {"holds": 1}, "special": {"holds": 1}}
    assert summary["apart"] == {"refuted on record": {"kept here": 1}, "units": {"agree": 1}}
    view = View(document)
    cells = {line["statement"]: line["cells"][0] for table in view.matrices() for line in table["rows"]}
    assert {name: cell["verdict"] for name, cell in cells.items()} == {
        "units-only": None,
        "special-only": "holds",
        "both": "refuted",
        "on-record": None,
    }
    assert cells["special-only"]["marks"] == "special"
    assert "not as printed: special" in cells["special-only"]["title"]
    assert cells["both"]["marks"] == ""
    assert "units: 1 agree" in cells["units-only"]["title"]
    page = render(document)
    assert "units: agree" in page
    assert "special: k = 2" in page
    lines = [x for x in markdown(document).splitlines() if "units-only" in x]
    assert [x.startswith("| units: agree |") for x in lines] == [True]


@pytest.mark.parametrize(
    ("fields", "new"),
    [
        ({}, True),
        ({"known_refuted": True}, False),
        ({"as_printed": False, "marks": ("letters: norms",)}, True),
        ({"as_printed": False, "marks": ("added: k >= 2",)}, True),
        ({"as_printed": False, "marks": ("reading: mine",)}, False),
        ({"as_printed": False, "marks": ("letters: norms", "repaired: doubled")}, False),
        ({"as_printed": False}, False),
    ],
)
def test_a_new_refutation_is_one_of_the_print_or_of_a_part_of_it(fields: dict[str, object], new: bool) -> None:
    assert is_new_refutation(row("refuted", **fields).to_dict()) is new
    assert is_new_refutation(row("holds", **fields).to_dict()) is False


def test_sides_of_relations_are_set_and_escaped_for_the_table_of_rows() -> None:
    rows = document_of(verifications())["rows"][:2]
    rows[0] |= {"left": "<img src=x onerror=alert(1)>", "right": "<= B**2"}
    rows[1] |= {"left": "x**2", "right": None, "reason": "y**2"}
    table = row_table(rows, 2)
    found = {table["texts"][number]: text for number, text in table["formulas"].items()}
    assert found["<img src=x onerror=alert(1)>"] == "<code>&lt;img src=x onerror=alert(1)&gt;</code>"
    assert found["<= B**2"].startswith("<math><mrow><mo>≤</mo>")
    assert set(found) == {"<img src=x onerror=alert(1)>", "<= B**2", "x**2"}  # a reason is prose, no formula


def test_claims_of_a_card_that_is_not_here_are_shown_as_their_rows_have_them() -> None:
    blank = {"paper": "gone", "statement": "s", "printed": None, "left": None, "right": None}
    first = {**blank, "claim": "a", "left": "f(x[k+1])", "right": "<= (1 - m/L)*delta"}
    rows = [first, {**blank, "claim": "b", "printed": r"a\le b"}, {**first, "left": "0"}]
    rows += [
        {**blank, "claim": "c", "left": "f(x[k", "right": "<= 1"},
        {**blank, "claim": "d", "left": "x", "right": "in Z"},
    ]
    (statement,) = paper_records(rows)[0]["statements"]
    a, b, c, d = statement["claims"]
    assert a["parsed"] == [r"f\left(x_{k + 1}\right) \le \left(1 - \frac{m}{L}\right)\,\delta"]
    assert (b["printed"], b["parsed"]) == ([r"a\le b"], [])
    assert c["parsed"] == [r"\text{f(x[k <= 1}"]
    assert (d["text"], d["parsed"]) == (["x in Z"], [r"\text{x in Z}"])
