"""A refuted link is judged where the paper's letters live (read from the TOML files in their full form).

No refuted entry of the cards widens a letter's standing range unless its own statement prints the wider one.
"""

from __future__ import annotations

import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.reader import KINDS
from bilevel_verify.theorems.reading.short import written_out

CARDS = sorted((Path(__file__).parents[2] / "theory").glob("*.toml"))
INTERVAL = re.compile(r"(?:integers )?([\[(]?)([^,]*?)(?:, ?|\.\.)([^,]*?)([\])]?)")
PRINTED_WIDER = {
    ("agm-bio", "theorem-4-5-range-of-m", "M"),  # Proposition 4.2: a maximum of norms, which may be zero
    ("rahgd", "b-2-theta-zero", "theta"),  # Lemmas B.2 and B.3: 0 <= theta <= 1
    ("restarted-agd-hb", "lemma-2-range", "theta"),  # Lemmas 2 and 3: 0 <= theta <= 1
}
End = tuple[float, bool]


def ends(text: str) -> tuple[End, End] | None:
    """Both ends of a range in numbers, each with whether it is open; None for one in letters."""
    found = INTERVAL.fullmatch(text.strip())
    if found is None:
        return None
    opening, low, high, closing = found.groups()
    try:
        values = [s * math.inf if t in ("", "oo", "-oo") else float(Fraction(t)) for s, t in ((-1, low), (1, high))]
    except ValueError:
        return None
    return (values[0], opening == "("), (values[1], closing == ")")


def wider(own: str, standing: str) -> bool:
    mine, theirs = ends(own), ends(standing)
    if mine is None or theirs is None:
        return False
    (low, low_open), (high, high_open) = mine
    (least, least_open), (most, most_open) = theirs
    below = low < least or (low == least and math.isfinite(low) and least_open and not low_open)
    above = high > most or (high == most and math.isfinite(high) and most_open and not high_open)
    return below or above


@pytest.mark.fast
def test_refuted_links_keep_to_the_ranges_of_their_letters() -> None:
    found = set()
    for path in CARDS:
        card = written_out(tomllib.loads(path.read_text(encoding="utf-8")), KINDS, Place(path.name))
        domains = {name: letter["domain"] for name, letter in card["letters"].items() if "domain" in letter}
        for kind in ("inequality", "step", "identity", "derivation"):
            for entry in card.get(kind, []):
                for name, own in entry.get("for", {}).items():
                    if "refuted" in entry and name in domains and wider(str(own), domains[name]):
                        found.add((path.stem, entry["id"], name))
    assert found == PRINTED_WIDER


@pytest.mark.fast
@pytest.mark.parametrize(
    ("own", "standing", "expected"),
    [
        ("[0, 1]", "(0, 1)", True),
        ("(0, 1)", "[0, 1]", False),
        ("(0, 1]", "(0, 1)", True),
        ("[1, oo)", "(0, oo)", False),
        ("(-oo, oo)", "(0, oo)", True),
        ("integers 0..", "integers 1..", True),
        ("(0, eps)", "(0, 1)", False),
    ],
)
def test_wider_ranges_are_seen(own: str, standing: str, expected: bool) -> None:
    assert wider(own, standing) is expected
