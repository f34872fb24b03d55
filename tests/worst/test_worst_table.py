"""The table and the map of many theorems, and the words of one finding."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bilevel_verify.worst.screening import Share
from bilevel_verify.worst.tightness import Tightness
from bilevel_verify.worst.tightness_map import table, tightness_map, totals


def claim(name: str, ratio: float | str, **more: Any) -> dict[str, Any]:
    base = {"claim": name, "relation": "a <= b|c", "ratio": ratio, "verdict": "holds", "known_refuted": False}
    base |= {"confirmed": True, "word": "word", "certainty": "certified", "family": "one", "knobs": {"m": "2"}}
    return base | {"eps": 0.1, "x0": [1.0]} | more


RESULTS = [
    {
        "statement": "mine/a",
        "tried": 10,
        "decided": 7,
        "places": 70,
        "skipped": {},
        "claims": [claim("tight", 0.99), claim("loose", 1e-5), claim("noise", "inf", verdict=None, confirmed=False)],
    },
    {"statement": "mine/b", "tried": 3, "decided": 0, "places": 0, "skipped": {"L | M": 3}, "claims": []},
    {
        "statement": "mine/c",
        "tried": 1,
        "decided": 1,
        "places": 1,
        "skipped": {},
        "claims": [claim("broken", 1.5, verdict="refuted", known_refuted=True)],
    },
]


def test_totals():
    found = totals(RESULTS)
    assert (found["statements"], found["statements with a decided claim"], found["candidates"]) == (3, 2, 14)
    assert (found["claims"], found["share at least 0.95"], found["share below 1e-3"]) == (4, 2, 1)
    assert (found["above 1 in the search and not refuted"], found["broken and on record"]) == (1, 1)
    assert found["broken and not on record"] == 0


def test_the_table_names_the_tightest_and_the_loosest_claim_and_escapes_bars():
    text = table(RESULTS)
    assert "| mine/a | 7 of 10 | 70 | tight | 0.99 | one | loose | 1e-05 |" in text
    assert "nothing decided: L \\| M" in text
    assert "`a <= b\\|c`" in text
    rows = [line for line in text.splitlines() if line.startswith("| mine/a:")]
    assert len(rows) == 3


def test_the_map_has_a_line_for_every_statement_that_was_decided():
    axes = tightness_map(RESULTS).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["mine/c", "mine/a"]
    assert sorted(float(line.get_xdata()[0]) for line in axes.get_lines()) == [1e-5, 0.99, 1.0, 1.5]


@pytest.mark.parametrize(
    ("ratio", "verdict", "word", "confirmed"),
    [
        (1.5, "refuted", "broken", True),
        (1.5, "undecided", "above its bound in the search, and undecided when repeated", False),
        (1.5, None, "above its bound in the search, and not judged when repeated", False),
        (1.0, "holds", "attained", True),
        (0.97, "holds", "tight within 3 %", True),
        (0.5, "holds", "loose by 2 on everything tried", True),
        (1e-4, "holds", "loose by at least 1e+04 on everything tried", True),
        (-0.5, "holds", "the sides have different signs on everything tried", True),
    ],
)
def test_words(ratio, verdict, word, confirmed):
    row: Any = None if verdict is None else SimpleNamespace(verdict=verdict)
    candidate: Any = SimpleNamespace()
    one = Tightness("c", "a <= b", Share(ratio, ratio, 1.0, "", "certified"), candidate, row)
    assert (one.word, one.confirmed) == (word, confirmed)
    if verdict == "refuted":
        assert replace(one, known_refuted=True).word == "broken (on record)"
