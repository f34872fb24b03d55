"""The page as a reader meets it: findings first, no empty column, formulas set, nothing scrolls sideways, packed."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from reporting_samples import many, problem, verifications
from test_reporting_browser import CHROMIUM, browse

from bilevel_verify.reporting import document_of, findings, packing, report, words
from bilevel_verify.reporting.findings import sentence
from bilevel_verify.reporting.html import View, render
from bilevel_verify.reporting.plots import strip_svg
from bilevel_verify.reporting.typesetting.prose import expression, prose


def row(**more):
    base = {"kind": "run", "measured": 3.0, "bound": 2.0, "where": "k = 4", "reason": "why", "claim": "output"}
    return base | {"problem": "toy", "known_refuted": False, "margin": -1 / 3} | more


def line(name="p/theorem-1", verdict="refuted", marks=(), relation=True, **more):
    whole = {"name": name, "verdict": verdict, "marks": list(marks), "relation": relation, "row": row(**more)}
    return whole | {"anchor": "a", "id": "line-0"}


def test_refuted_claims_are_sentences_with_the_new_ones_first() -> None:
    old = line("p/lemma-2", known_refuted=True)
    found = findings.refuted(
        [old, line(), line(problem="other"), line(verdict="holds")], {"p/theorem-1": {"source": "Theorem 1"}}
    )
    assert [(one["title"], one["known"]) for one in found] == [("Theorem 1 of p", False), ("p/lemma-2", True)]
    assert found[0]["where"] == ["toy", "other"]
    assert found[0]["sentence"] == "measured 3, promised 2, k = 4"


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["holds", "refuted"], "Refuted: claim output on toy: measured 3, promised 2"),
        (["holds", "undecided"], "Nothing is refuted here; open is claim output on toy: why"),
        (["holds", "holds"], "Nothing is wrong here: 2 of 2 relations hold."),
        (["not applicable"], "Nothing applies here: why"),
        ([], "Nothing of this statement was judged here."),
    ],
)
def test_what_is_wrong_in_one_sentence(verdicts, said) -> None:
    assert findings.wrong([line(verdict=v) for v in verdicts])["text"].startswith(said)


def test_rows_of_units_are_nothing_to_complain_about() -> None:
    assert findings.wrong([line(relation=False)])["verdict"] is None


def test_reasons_are_grouped_without_their_numbers() -> None:
    reasons = ["survived 300 attacks, largest ratio 1", "survived 20 attacks", "tie (1 of 1 places): x", "budget: y"]
    found = findings.open_reasons([line(verdict="undecided", reason=why) for why in reasons])
    assert [(one["why"], one["count"]) for one in found] == [("survived attacks", 2), ("budget", 1), ("tie", 1)]


def test_no_column_of_a_matrix_is_empty() -> None:
    view = View(document_of(verifications(), problems=(None, problem("wave", "wave"), None)))
    tables = view.matrices()
    assert tables
    for table in tables:
        for place, _ in enumerate(table["columns"]):
            assert any(one["cells"][place]["verdict"] for one in table["rows"])


def test_a_large_page_is_packed_and_comes_back_whole(tmp_path: Path) -> None:
    page = report(many(120, 8), tmp_path, formats=["html"]).read_text(encoding="utf-8")
    whole = packing.unpack(page)
    assert len(page) < 0.35 * len(whole)
    assert 'data-packed="0"' in page
    assert 'data-packed="0"' not in whole
    assert packing.unpack(packing.pack(whole.replace("</main>", f"</main>{packing.MARK}", 1))) == whole
    assert "<script>" not in re.sub(r"<script>.*?</script>", "", whole, flags=re.S)


def test_a_small_page_is_plain() -> None:
    page = render(document_of(verifications()))
    assert packing.unpack(page) == page
    assert 'data-packed="0"' not in page


@pytest.mark.parametrize(
    ("text", "inside", "not_inside"),
    [
        ("the units force H_nu**(-1/(2+2 nu_f)) here", "<msubsup>", "**"),
        ("a <b> & x**2", "&lt;b&gt; &amp; <math>", "<b>"),
        ("rahgd/theorem-4-1 at eps_x", "rahgd/theorem-4-1 at <math>", "**"),
        ("no value for eps**2*(a+b", "eps**2*(", "<script"),
        ("costs $\\frac12$", "<mfrac>", "$"),
        ("least eigenvalue -(1 + b c^2/(m-a)^2); more", "<mfrac>", "c^2"),
        ("K = 1/theta is no integer", "<mfrac>", "theta"),
        ("by certified |g:xy| <= 1, mu >= 0.989949", "<msubsup><mi>∇</mi>", "|g:xy|"),
        ("by certified |g:xy| <= 1, mu >= 0.989949", "<mn>0.989949</mn>", "<mfrac>"),
        ("the pass makes x_{K+1}, which", "<msub><mi>x</mi>", "x_{"),
        ("by (1 - 2/(sqrt(kappa)+1))^{K_1} at", "<msup>", "^"),
        ("grad g is ell-Lipschitz", "<mi>ℓ</mi></math>-Lipschitz", "ell"),
        ("phi = " + " + ".join(["113551*sqrt(x1)"] * 8), "113551*sqrt(x1) + 113551", "<msqrt>"),
        ("a >= b < c", "<mo>≥</mo>", "&gt;"),
        ("zoo:ramp:s=2*eps,drop=1", "s=2*", "<mo>=</mo>"),
        ("k = 3..8 and --x0=1", "k = 3..8", "<math>"),
        ("<img src=x onerror=a*b>", "onerror=a*b", "<math>"),
        ("inf lambda_min(nabla^2_yy) >= m", "<msubsup>", "nabla"),
        ("inf lambda_min(nabla^2_yy) >= m", "<msub><mi>λ</mi>", "lambda"),
        ("sup |D^3_yyy g| <= M_g |z - z'|^nu_g", "<msubsup><mi>D</mi>", "^"),
    ],
)
def test_formulas_in_prose_are_set_and_all_else_is_escaped(text, inside, not_inside) -> None:
    assert inside in prose(text)
    assert not_inside not in prose(text)


def test_what_is_no_formula_stays_escaped_code() -> None:
    assert expression("<script>") == "<code>&lt;script&gt;</code>"
    assert expression("L*Delta/eps**2").startswith("<math>")


def test_the_strip_has_a_mark_for_every_share() -> None:
    shares = [
        line(verdict="holds", measured=m, bound=b, margin=(b - m) / max(b, m)) for m, b in ((1, 4), (1, 2), (3, 2))
    ]
    assert strip_svg(shares, "s").count("<circle") == 3
    assert strip_svg(shares[:1], "s") == ""
    assert strip_svg([line(measured=None), *shares[:2]], "s").count("<circle") == 2


SCRIPT = """
const sleep = (t) => new Promise((done) => setTimeout(done, t));
(async () => {
  const bad = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const width = Number(frame.width);
    for (let i = 0; i < 100000 && !frame.contentDocument?.documentElement?.dataset.ready; i++) await sleep(20);
    const inner = frame.contentDocument;
    for (const { id } of inner.querySelectorAll("section.page")) {
      frame.contentWindow.location.hash = "#" + id;
      await sleep(10);
      const page = inner.querySelector("section.page.on");
      if (page?.id !== id || !page?.textContent.trim()) bad.push([width, id, "not shown"]);
      if (inner.documentElement.scrollWidth > width + 1) bad.push([width, id, inner.documentElement.scrollWidth]);
      for (const table of page?.querySelectorAll("table.lines, table.matrix") ?? [])
        if (table.getBoundingClientRect().right > width + 1) bad.push([width, id, table.className]);
    }
  }
  document.body.innerHTML = "<pre id=result></pre>";
  document.getElementById("result").textContent = JSON.stringify(bad);
})();
"""


def test_one_verdict_is_one_and_methods_have_the_names_of_readers() -> None:
    [one, *_] = many(1, 1)
    page = render(document_of([one]))
    assert re.search(r"\b1 verdict\b", page)
    assert not re.search(r"\b1 (verdicts|statements|papers|problems|runs|cells|claims|points)\b", page)
    titles = {name: words.method_title(name) for name in ("gradient-descent", "literal:my/loop", "my_solver")}
    assert titles == {
        "gradient-descent": "Gradient descent",
        "literal:my/loop": "The algorithm my/loop, step by step",
        "my_solver": "my_solver",
    }
    document = document_of([one])
    for name in ("literal", "literal:my/loop"):
        document["rows"].append({**document["rows"][0], "method": name})
    shown = [method["name"] for method in View(document).methods()]
    assert "literal:my/loop" in shown
    assert "literal" not in shown


TABS = """
(async () => {
  const said = [];
  for (const frame of document.querySelectorAll("iframe")) {
    for (let i = 0; i < 100000 && !frame.contentDocument?.documentElement?.dataset.ready; i++)
      await new Promise((done) => setTimeout(done, 20));
    const inner = frame.contentDocument;
    const look = frame.contentWindow.getComputedStyle(inner.querySelector("nav.main ul"));
    const row = frame.contentWindow.getComputedStyle(inner.querySelector("table.lines"));
    said.push([look.backgroundAttachment, row.display]);
  }
  document.body.innerHTML = "<pre id=result></pre>";
  document.getElementById("result").textContent = JSON.stringify(said);
})();
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_tabs_that_scroll_show_it_and_rows_are_a_table_from_900_pixels_on(tmp_path: Path) -> None:
    page = report(many(2, 2), tmp_path / "out", formats=["html"]).read_text(encoding="utf-8")
    bare = html.escape(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page), quote=True)
    frames = "".join(f'<iframe width="{w}" height="900" srcdoc="{bare}"></iframe>' for w in (400, 900))
    harness = tmp_path / "harness.html"
    harness.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}<script>{TABS}</script>", encoding="utf-8")
    dom, _ = browse(harness.as_uri(), tmp_path / "profile", "--virtual-time-budget=20000000", "--window-size=1500,1000")
    found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    assert found, dom[-500:]
    shadows = "local, local, scroll, scroll"  # the covers move with the tabs, the shadows stay at the edges
    assert json.loads(html.unescape(found[1])) == [[shadows, "block"], [shadows, "table"]]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_no_page_scrolls_sideways(tmp_path: Path) -> None:
    """Every page of a packed report at 400, 1000 and 1400 pixels, in frames of these widths."""
    page = report(many(60, 8), tmp_path / "out", formats=["html"]).read_text(encoding="utf-8")
    assert 'data-packed="0"' in page
    bare = html.escape(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page), quote=True)
    frames = "".join(f'<iframe width="{w}" height="900" srcdoc="{bare}"></iframe>' for w in (400, 1000, 1400))
    harness = tmp_path / "harness.html"
    harness.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}<script>{SCRIPT}</script>", encoding="utf-8")
    dom, _ = browse(harness.as_uri(), tmp_path / "profile", "--virtual-time-budget=20000000", "--window-size=1500,1000")
    found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    assert found, dom[-500:]
    assert json.loads(html.unescape(found[1])) == []


def test_an_open_claim_is_linked_once_under_words_that_say_why() -> None:
    whys = {
        "output": "local: violated at x = [1]",
        "gap": "local: x",
        "fit": "fails at L = 1, eta = 1",
        "sum": "smt: a sum",
    }
    twice = [line(verdict="undecided", claim=claim, reason=why) for claim, why in whys.items() for _ in range(2)]
    found = findings.open_reasons(twice)
    linked = [(one["count"], [shown["row"]["claim"] for shown in one["lines"]], one["more"]) for one in found]
    assert linked == [(4, ["output", "gap"], False), (2, ["fit"], False), (2, ["sum"], False)]
    assert all(one["why"] in findings.HEADS.values() for one in found)


@pytest.mark.parametrize(
    ("op", "said"), [("<=", "at most 2"), (">=", "at least 2"), ("==", "exactly 2"), (None, "promised 2")]
)
def test_the_sentence_of_a_refuted_row_says_which_way_it_was_promised(op: str | None, said: str) -> None:
    row = {
        "where": None,
        "kind": "claim",
        "measured": 3.0,
        "bound": 2.0,
        "reason": None,
        "details": {"op": op} if op else {},
    }
    assert said in sentence(row)


def test_lines_of_an_algorithm_carry_the_numbers_of_the_print() -> None:
    steps = "k = 0            # 1\nwhile k < K:\n    x[k+1] = x[k]   # 12\n"
    assert words.numbered(steps) == [("1", "k = 0"), ("", "while k < K:"), ("12", "    x[k+1] = x[k]")]
