"""Long papers: the work grows with the length, and what is looked up is what a walk through all would find."""

from __future__ import annotations

import cProfile
import pstats
import re
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.drafting.document import Unit
from bilevel_verify.drafting.letters import Mentions

LEMMA = r"""\begin{{lemma}}\label{{l{n}}}
Let $a_{{{n}}}>0$ and $0<b\le {n}+1$. Then
\[ a_{{{n}}}^2+b^2 \ge 2a_{{{n}}}b . \]
\end{{lemma}}
\begin{{proof}}
By the assumptions of Lemma~\ref{{l{before}}} we have
\[ (a_{{{n}}}-b)^2 \ge 0 . \]
\end{{proof}}
"""


def work(folder: Path, lemmas: int) -> int:
    """Calls of functions for a draft with so many lemmas and letters: the same on every machine."""
    body = "".join(LEMMA.format(n=n, before=max(n - 1, 0)) for n in range(lemmas))
    path = folder / f"p{lemmas}.tex"
    text = rf"\documentclass{{article}}\newtheorem{{lemma}}{{Lemma}}\begin{{document}}{body}\end{{document}}"
    path.write_text(text, encoding="utf8")
    profile = cProfile.Profile()
    profile.enable()
    drafted = bv.draft(str(path))
    card = drafted.text()
    profile.disable()
    assert card.count("[lemma.") == lemmas
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_four_times_the_lemmas_are_hardly_more_than_four_times_the_work(tmp_path: Path) -> None:
    work(tmp_path, 2)  # what is read once for all
    assert work(tmp_path, 160) < 4.4 * work(tmp_path, 40)


def everywhere(text: str, units: list[Unit]) -> list[int]:
    """What a text mentions, by asking for every unit."""
    found = []
    for number, unit in enumerate(units):
        word, _, label = unit.name.rpartition(" ")
        if word and unit.kind not in ("proof", "text", "algorithm"):
            listed = rf"\b{re.escape(word)}s?\s+(?:[A-Z]?[\d.]+\s*(?:,|and)\s*)*{re.escape(label)}(?![\w])"
            found += [number] if re.search(listed, text) else []
    return found


NAMES = ("Lemma 1", "Lemma 2", "Lemma 11", "Lemma A.1", "Lemma A", "Theorem 3.2", "Theorem 3", "Main Theorem 1",
         "Assumption 1", "Assumption (i)", "Assumption H*", "Lemma 1'", "Proof", "")  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "By Lemma 1.",
        "By Lemma 11 and Assumption 1, and Lemma A.1.",
        "by Lemmas 1, 2 and A.1 and Theorem 3.2.",
        "Lemmas 1 and 2; Theorem 3.",
        "Lemmas 1and2",
        "Lemma A.12 and Lemma A",
        "Assumption (i) holds, Assumption H* too",
        "Lemma 1' is not Lemma 1",
        "the Main Theorem 1, and Lemma  2",
        "Lemma 3.1.2.",
        "no mention",
        "",
    ],
)
def test_a_text_mentions_what_it_names(text: str) -> None:
    units = [Unit("lemma", name, 0) for name in NAMES]
    assert Mentions(units)(text) == everywhere(text, units)
