"""Two thousand damaged sources of drafts: a card that loads, or one line.

    python tests/thorough/test_drafting_thorough.py [seed] [count]

A source is determined by the seed and its number.
"""

from __future__ import annotations

import random
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bilevel_verify.drafting import draft
from bilevel_verify.errors import InputError
from bilevel_verify.theorems.library import load_card
from tests.drafting.test_drafting_damage import DRAFTS, damaged, large_paper

COUNT = 2_000


def run(seed: int, count: int, folder: Path) -> tuple[int, int]:
    """How many damaged sources gave a card, and how many one line; what is neither is raised or missing."""
    cards = lines = 0
    sources = [DRAFTS / "gradient-descent.tex", DRAFTS / "polyak-lojasiewicz.tex"]
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        whole = rng.choice(sources).read_text(encoding="utf-8")
        begin = whole.index("\\section")
        start = rng.randrange(begin, len(whole))
        path = folder / "paper.tex"
        path.write_bytes(damaged(whole[:begin] + whole[start : start + 1_500], rng).encode("utf-8", "replace"))
        try:
            text = draft(path).text()
        except InputError as error:
            lines += "\n" not in str(error)
            continue
        tomllib.loads(text)
        card = folder / f"card{number % 7}-{number}.toml"
        card.write_text(text, encoding="utf-8")
        load_card(card)
        card.unlink()
        cards += 1
    return cards, lines


def test_damaged_sources(tmp_path: Path) -> None:
    cards, lines = run(1, COUNT, tmp_path)
    assert cards + lines == COUNT
    assert cards > COUNT // 4


def test_a_megabyte_of_latex_is_read_in_bounded_time(tmp_path: Path) -> None:
    large_paper(tmp_path, 1_000_000)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        print("{} cards, {} refused with one line".format(*run(*(given or [1, COUNT])[:2], Path(name))))
