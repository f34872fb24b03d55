"""Seeded damage: whatever is done to a source, a draft comes back or one line says why not, in bounded time."""

from __future__ import annotations

import random
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from bilevel_verify.drafting import draft
from bilevel_verify.drafting.files import LARGEST
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.theorems.library import load_card
from tests.seeds import SEED

DRAFTS = Path(__file__).resolve().parents[2] / "docs" / "drafts"
SHARDS = "$ $$ \\[ \\] \\( { } \\begin{align} \\end{align} \\begin{proof} \\end{lemma} % "
SHARDS += "& \\\\ ^ _ \\left( \\right] \\frac \\def\\a{\\a} "
SHARDS += (
    "\\newcommand{\\x}[9]{#1 \\input{gradient-descent} \\iffalse \\verb|x \x00 \ufffd \\text{ \\sum_{i= \\label{ \\tag{"
)
ROUNDS = 150


def damaged(text: str, rng: random.Random) -> str:
    """Some cuts, doublings, swaps and shards."""
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(text) + 1), rng.randint(1, 60)
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + text[at : at + length] * 2 + text[at + length :]
            case 2:
                text = text[:at] + rng.choice(SHARDS.split(" ")) + text[at:]
            case _:
                text = (
                    text[:at]
                    + "".join(rng.sample(text[at : at + length], len(text[at : at + length])))
                    + text[at + length :]
                )
    return text


@pytest.mark.seeded
@pytest.mark.parametrize("name", ["gradient-descent.tex", "polyak-lojasiewicz.tex"])
def test_a_damaged_source_gives_a_card_that_loads_or_one_line(tmp_path: Path, name: str) -> None:
    rng = random.Random(SEED)
    whole = (DRAFTS / name).read_text(encoding="utf-8")
    begin = whole.index("\\section")
    cards, refused = 0, list[BilevelVerifyError]()
    for number in range(ROUNDS):
        start = rng.randrange(begin, len(whole))
        text = damaged(whole[:begin] + whole[start : start + 1_500], rng)
        path = tmp_path / "paper.tex"
        path.write_bytes(text.encode("utf-8", "replace"))
        try:
            found = draft(path).text()
        except BilevelVerifyError as error:
            refused.append(error)
            continue
        tomllib.loads(found)
        if number % 5 == 0:
            card = tmp_path / f"card{number}.toml"
            card.write_text(found, encoding="utf-8")
            load_card(card)
            cards += 1
    assert cards >= 5
    assert all(isinstance(error, InputError) and "\n" not in str(error) for error in refused)


def test_a_quarter_of_a_megabyte_of_latex_is_read_in_bounded_time(tmp_path: Path) -> None:
    """A whole megabyte in ``tests/thorough``."""
    large_paper(tmp_path, 250_000)


def large_paper(tmp_path: Path, size: int) -> None:
    """So many bytes of long lemmas are read, at most 0.12 ms of processor each; more than LARGEST are refused."""
    path = tmp_path / "paper.tex"
    block = (
        "\\begin{lemma} Let $a>0$. Then \\[ a \\le 2a + " + " + ".join(["\\frac{a}{2}"] * 200) + " . \\] \\end{lemma}\n"
    )
    path.write_text(block * (size // len(block)), encoding="utf-8")
    started = time.process_time()
    found = draft(path)
    assert found.counts.links > 300 * size / 1_000_000
    assert len(found.text()) <= 1_000_000
    assert time.process_time() - started < 120 * size / 1_000_000
    path.write_text("$a=b$" + "x" * LARGEST, encoding="utf-8")
    with pytest.raises(InputError, match="at most"):
        draft(path)


@pytest.mark.parametrize(
    "text", ["{" * 40_000, "$" * 40_000, "\\begin{proof}" * 4_000, "\\[" * 20_000, "$\\frac" * 9_000 + "$"]
)
def test_nests_without_end_cost_little(tmp_path: Path, text: str) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(text + "\n\n$a=b$ ", encoding="utf-8")
    started = time.process_time()
    with suppress(InputError):
        draft(path)
    assert time.process_time() - started < 30


def test_a_long_name_gives_ids_that_a_card_takes(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    name = "a name " * 40
    body = f"\\begin{{lemma}}[{name}] Let $a>0$. Then \\[ a \\le 2a \\tag{{{name}}} \\] \\end{{lemma}}\n"
    path.write_text(
        f"\\section{{{name}}} For $a>0$, \\[ a \\le 3a \\] and \\[ a \\le 4a \\]\n" + body * 3, encoding="utf-8"
    )
    card = tmp_path / "card.toml"
    card.write_text(draft(path).text(), encoding="utf-8")
    ids = list(load_card(card).entries)
    assert len(ids) >= 4
    assert all(len(name) <= 100 for name in ids)
