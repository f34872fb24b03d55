"""What writes the short form of a card: it is read as what was written, and no line is longer than it must be."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.reader import KINDS
from bilevel_verify.theorems.reading.short import joined, written_out
from bilevel_verify.theorems.reading.shortened import entry_text, shortened
from bilevel_verify.theorems.reading.toml_text import WIDTH, field, string, table

CARDS = sorted((Path(__file__).resolve().parents[2] / "theory").glob("*.toml"))


def beside_places(one: dict[str, Any]) -> dict[str, Any]:
    """An entry in full, each hypothesis with its place, so that two spellings of the same are the same."""
    found = dict(one)
    for name in ("where", "for", "define", "regime"):
        if name not in found:
            continue
        texts, places = found[name], found.pop(f"{name}_from", "")
        if isinstance(texts, dict):
            found[name] = [(n, t, places.get(n, "") if isinstance(places, dict) else places) for n, t in texts.items()]
        elif name != "regime" or not isinstance(texts, str):
            texts = [texts] if isinstance(texts, str) else texts
            places = [places] * len(texts) if isinstance(places, str) else places
            found[name] = list(zip(texts, places, strict=True))
    return found


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_an_entry_written_short_is_read_as_it_was(path: Path) -> None:
    full = written_out(tomllib.loads(path.read_text(encoding="utf-8")), KINDS, Place(path.stem))
    seen = 0
    for kind in KINDS:
        for entry in full.get(kind, []):
            if "claim" in entry:
                continue
            text = entry_text(kind, entry, {})
            (back,) = written_out(tomllib.loads(text), KINDS, Place(path.stem))[kind]
            assert beside_places(back) == beside_places(entry), entry["id"]
            seen += 1
    assert seen > 50


@pytest.mark.fast
def test_what_is_said_once() -> None:
    full = {
        "id": "lemma-2-proof-1",
        "source": "(3)",
        "drafted": True,
        "define": {"eta": "1/L"},
        "define_from": "(1)",
        "for": {"a": "(0, 1]", "b": "[0, oo)"},
        "for_from": {"a": "(1)", "b": "(2)"},
        "where": ["a <= b"],
        "where_from": ["(2)"],
        "chain": ["a", "<= b"],
        "printed": r"a\le b",
    }
    short = shortened(full)
    assert list(short) == ["id", "printed", "given", "drafted", "chain"]
    assert short["printed"] == {"(3)": r"a\le b"}
    assert short["given"] == {"(1)": ["eta = 1/L", "a in (0, 1]"], "(2)": ["b in [0, oo)", "a <= b"]}
    assert entry_text("inequality", full, {"drafted": True}) == (
        "[inequality.lemma-2-proof-1]\nprinted.\"(3)\" = 'a\\le b'\n"
        'given = { "(1)" = ["eta = 1/L", "a in (0, 1]"], "(2)" = ["b in [0, oo)", "a <= b"] }\nchain = ["a", "<= b"]\n'
    )
    assert "drafted = false" in entry_text("inequality", full | {"drafted": False}, {"drafted": True})


@pytest.mark.fast
@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"where": ["a <= 1"]}, "where"),  # no place
        ({"where": ["a <= 1", "b <= 1"], "where_from": ["(1)", ""]}, "where"),  # one of two has no place
        ({"where": ["a in b"], "where_from": "(1)"}, "where"),  # would be read as a range
        ({"where": ["k = 1"], "where_from": "(1)"}, "where"),  # would be read as a definition
        ({"for": {"a b": "(0, 1)"}, "for_from": "(1)"}, "for"),  # no name of a letter
        ({"define": {"a": "b"}, "define_from": {"c": "(1)"}}, "define"),
        ({"define": {"a": "eta of main"}}, "define"),
        ({"regime": "large"}, "regime"),
    ],
)
def test_what_would_be_read_as_something_else_stays_in_full(fields: dict[str, Any], kept: str) -> None:
    full = {"id": "a", "source": "(1)"} | fields
    assert shortened(full) == full
    assert shortened(full | {"printed": "a"})[kept] == fields[kept]


@pytest.mark.fast
def test_sources() -> None:
    assert "source" not in shortened({"id": "lemma-2", "source": "Lemma 2", "printed": "a"})
    assert shortened({"id": "lemma-2", "source": "Lemma 3"})["source"] == "Lemma 3"


@pytest.mark.fast
@pytest.mark.parametrize("word", ["a", r"\le b+c", "two words", '"', "\\ ", "é"])
@pytest.mark.parametrize("times", [1, 40, 200])
def test_values_in_several_lines(word: str, times: int) -> None:
    for text in (word * times, f"{word} " * times, f"{word}  " * times):
        for name in ("note", "printed", "other"):
            found = tomllib.loads(field(name, [text, "", text], name))[name]
            assert [joined(one) if name == "printed" and "\n" in one else one for one in found] == [text, "", text]
            assert tomllib.loads(field(name, {"a": text, "b": 1, "c": [True, 0.5]}, name))[name]["b"] == 1
            whole = tomllib.loads(f'x = {string(text)}\ny = """a"""')["x"]
            assert whole == text


@pytest.mark.fast
def test_lines_are_cut_before_relations_and_behind_commas() -> None:
    display = r"\frac{a}{b}" * 9 + r"\le" + r"\frac{a}{b}+c" * 9
    first, second = field("printed", display, "printed").splitlines()
    assert first == "printed = '''" + r"\frac{a}{b}" * 9
    assert second.startswith(r"  \le\frac")
    chain = ["a" * 70, "<= " + "b" * 70, "<= c"]
    assert [line[:12] for line in field("chain", chain, "chain").splitlines()] == [
        'chain = ["aa',
        '         "<=',
        '         "<=',
    ]
    given = {f"Lemma {n}": f"a_{n} <= {'1' * 60}" for n in range(4)}
    lines = table("[x]", {"given": given}).splitlines()
    assert [line[:16] for line in lines] == ["[x]", *(f'given."Lemma {n}" ' for n in range(4))]
    words = field("note", "word " * 60 + "end")
    assert max(map(len, words.splitlines())) <= WIDTH
    assert tomllib.loads(words)["note"] == "word " * 60 + "end"


@pytest.mark.fast
def test_no_cut_beside_a_blank_or_between_letters() -> None:
    for display in ("\\alpha b " * 40, r"\left(a\right)^{2}" * 30, "a_{b}" * 60, r"\frac{\alpha}{2 x}" * 30):
        found = tomllib.loads(field("printed", display, "printed"))["printed"]
        assert joined(found) == display.lstrip() or found == display
        assert r"\left" + "\n" not in found
