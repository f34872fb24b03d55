"""Verdicts as text and as a notebook table."""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.truth import Enclosure

ROW = Row(
    paper="p<b>",
    statement="theorem-1",
    claim="calls",
    source=None,
    problem="toy",
    method=None,
    kind="run",
    verdict="holds",
    certainty="certified",
    measured=3.0,
    bound=4.0,
    margin=0.25,
    where="eps = 0.1",
)


def test_a_row_is_one_line() -> None:
    assert str(ROW) == "holds p<b>/theorem-1:calls on toy: 3 against 4, margin 0.25 (certified; eps = 0.1)"


def test_a_verification_shows_its_claims_and_failed_hypotheses() -> None:
    bad = replace(ROW, verdict="not applicable", claim="mu > 0", reason="mu = -1")
    text = str(Verification("p/theorem-1", "toy", "holds", (ROW,), hypotheses=(ROW, bad)))
    assert text.splitlines()[0] == "p/theorem-1 on toy: holds"
    assert len(text.splitlines()) == 3
    assert "mu = -1" in text


def test_the_notebook_table_is_escaped_and_says_what_it_leaves_out() -> None:
    odd = replace(ROW, claim="<script>alert(1)</script>")
    html = Verification("p/theorem-1", "toy", "holds", (odd,) * 100)._repr_html_()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 60
    assert "and 40 more" in html


def test_enclosures_say_value_error_and_how() -> None:
    found = Enclosure(0.25, 1e-16, "certified", "Krawczyk")
    assert str(found) == "0.25 ± 1e-16 (certified, Krawczyk)"
    assert found._repr_latex_() == r"$0.25 \pm 1e-16$"
    assert Enclosure(float("inf"), 0.0)._repr_latex_() is None
