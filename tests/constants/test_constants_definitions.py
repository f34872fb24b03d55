"""What letters mean is data: the shipped sets, sets of a user's own, and what is refused."""

from __future__ import annotations

import math

import pytest

import bilevel_verify as bv
from bilevel_verify.constants import constants, letter_sets, letters_of
from bilevel_verify.constants.papers import KINDS, read_letter, read_letters, set_for
from bilevel_verify.errors import CardError, InputError

PROBLEM = bv.bilevel(f="3*x1 + 2*y1 + sin(y1)", g="2*y1**2 + cos(x1)/2 - x1*y1", x="x1", y="y1")


def test_every_kind_has_one_default_set() -> None:
    for kind in KINDS:
        assert [kind in one.default_for for one in letter_sets().values()].count(True) == 1
        assert kind in letters_of(None, kind).kinds
        assert set_for("nobody's paper", kind) == letters_of(None, kind)


def test_a_paper_may_use_other_letters_for_minimax_problems() -> None:
    assert set_for("rahgd", "bilevel").key == "rahgd"
    assert set_for("rahgd", "minimax").key == "minimax"
    assert set_for("fsba", "minimax").key == "fsba"


def test_own_definitions_are_measured() -> None:
    """|f_y| <= 3, |D^2 g| in x alone is 1/2, in y alone 4; the ratio is of the two letters it names."""
    letters = {
        "C": {"of": ["f:y"], "norm": "in y"},
        "ell": {"of": ["g:xx"], "norm": "in x"},
        "mu": {"measure": "strong convexity", "of": ["g:yy"], "norm": "in y"},
        "kappa": {"measure": "ratio", "norm": "none", "partner": ["ell", "mu"]},
    }
    found = constants(PROBLEM, paper=read_letters("mine", {"letters": letters}, "mine"))
    assert [found[name].value for name in found] == pytest.approx([3.0, 0.5, 4.0, 0.125], rel=1e-12, abs=0)
    assert all(found[name].certified for name in found)


def test_a_curvature_is_of_the_function_and_the_block_that_it_names() -> None:
    """f = 3 x**2 + y**2 + x y, g = 2 y**2 - x y: curvatures 6 and 2 along the blocks, 4 - sqrt(5) jointly."""
    problem = bv.bilevel(f="3*x1**2 + y1**2 + x1*y1", g="2*y1**2 - x1*y1", x="x1", y="y1")
    expected = {"f:xx": 6.0, "f:yy": 2.0, "f:zz": 4 - math.sqrt(5), "g:yy": 4.0, "g:zz": 2 - math.sqrt(5)}
    for part, value in expected.items():
        letters = {"letters": {"m": {"measure": "strong convexity", "of": [part]}}}
        assert constants(problem, paper=read_letters("mine", letters, ""))["m"].value == pytest.approx(value)
    one = bv.single_level(f="x1**2", x="x1")
    for part in ("g:yy", "f:yy"):
        letters = {"letters": {"m": {"measure": "strong convexity", "of": [part]}}}
        with pytest.raises(InputError, match="one level only"):
            constants(one, paper=read_letters("mine", letters, ""))["m"]


def test_sets_of_one_key_are_not_confused() -> None:
    """What is remembered belongs to the definitions, not to their name."""
    one, two = ({"L": {"of": [part]}} for part in ("f:y", "g:yy"))
    assert constants(PROBLEM, paper=read_letters("mine", {"letters": one}, ""))["L"].value == pytest.approx(3.0)
    assert constants(PROBLEM, paper=read_letters("mine", {"letters": two}, ""))["L"].value == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"of": ["h:zz"]}, "no derivative"),
        ({"of": ["f:zzzzz"]}, "no derivative"),
        ({"of": ["f:"]}, "no derivative"),
        ({"of": "f:zz"}, "list of texts"),
        ({}, "of is missing"),
        ({"of": ["f:z"], "measure": "size"}, "none of"),
        ({"of": ["f:z"], "norm": "l1"}, "none of"),
        ({"of": ["f:z"], "norms": "sum"}, "did you mean 'norm'"),
        ({"measure": "ratio", "partner": ["ell"]}, "two letters"),
        ({"of": ["f:z"], "partner": ["ell"]}, "others none"),
        ({"measure": "strong convexity"}, "one block of one function"),
        ({"measure": "strong convexity", "of": ["g:yyy"]}, "one block of one function"),
        ({"measure": "strong convexity", "of": ["g:xy"]}, "one block of one function"),
        ({"measure": "strong convexity", "of": ["f:xx", "g:yy"]}, "one block of one function"),
        ({"measure": "strong convexity", "of": ["f:x"]}, 'on one level of = \\["f:xx"\\]'),
        ({"measure": "Polyak-Lojasiewicz", "of": ["f:xx"]}, 'on one level of = \\["f:x"\\]'),
    ],
)
def test_what_is_no_definition(data: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read_letter("L", data, "[letters]")
    assert "\n" not in str(caught.value)


def test_a_partner_must_be_defined() -> None:
    with pytest.raises(InputError, match="no constant 'm'"):
        read_letters("mine", {"letters": {"k": {"measure": "ratio", "partner": ["m", "m"]}}}, "mine")


CARD = """
[paper]
key = "own"
title = "a card with constants of its own"

[letters]
S = {{ {definition}, meaning = "smoothness of g in y alone" }}

[[theorem]]
id = "bound"
[[theorem.claim]]
id = "size"
over = "point"
left = "S"
op = ">="
right = "0"
"""


def test_a_card_defines_its_own_constants(tmp_path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(CARD.format(definition='from = "constants", of = ["g:yy"], norm = "in y"'))
    from bilevel_verify.theorems import load_card
    from bilevel_verify.theorems.letters.instance import Leaves

    spec = load_card(path).letters["S"]
    assert spec.definition is not None
    value = Leaves(PROBLEM, "own", None, {})(spec, {})
    assert value.value == 4.0
    assert value.certified
    assert math.isfinite(value.lower)


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ('from = "user", of = ["g:yy"]', 'from = "constants"'),
        ('from = "constants", of = ["g:yw"]', "no derivative"),
        ('from = "constants", measure = "ratio", partner = ["S", "T"]', "no constant 'T'"),
    ],
)
def test_a_card_whose_definition_cannot_be_read(tmp_path, definition: str, says: str) -> None:
    from bilevel_verify.theorems import load_card

    path = tmp_path / "own.toml"
    path.write_text(CARD.format(definition=definition))
    with pytest.raises(CardError, match=says):
        load_card(path)


def test_the_command_prints_the_constants_of_a_card(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from bilevel_verify.cli import main

    path = tmp_path / "own.toml"
    path.write_text(CARD.format(definition='from = "constants", of = ["g:yy"], norm = "in y"'))
    assert main(["constants", "zoo:toy-a", "--paper", str(path)]) == 0
    assert "S" in capsys.readouterr().out
    shown = bv.constants(bv.zoo("toy-a"), paper=str(path))
    assert list(shown) == ["S"]
    same = constants(
        bv.zoo("toy-a"), paper=read_letters("mine", {"letters": {"S": {"of": ["g:yy"], "norm": "in y"}}}, "")
    )
    assert shown["S"].value == same["S"].value
    path.write_text(CARD.format(definition='from = "user"'))
    assert main(["constants", "zoo:toy-a", "--paper", str(path)]) == 2
    assert "defines no constants" in capsys.readouterr().err
    with pytest.raises(InputError, match="defines no constants"):
        bv.constants(bv.zoo("toy-a"), paper=str(path))
    with pytest.raises(InputError, match=r"absent\.toml"):
        bv.constants(bv.zoo("toy-a"), paper=str(tmp_path / "absent.toml"))


def test_strong_convexity_is_not_what_a_card_calls_mu() -> None:
    """A card may give the name mu to something else: the hypothesis is about the lower level all the same."""
    from bilevel_verify.checks.instances.instance import Instance
    from bilevel_verify.theorems.card_parts import LetterSpec

    own = read_letters("own", {"letters": {"mu": {"of": ["f:y"]}}}, "own")
    instance = Instance(PROBLEM, "own", None, {})
    assert instance(LetterSpec("mu", source="constants", definition=own), {}).value == 3.0
    assert instance.strong_convexity().value == 4.0
    assert instance.used["mu"].value == 3.0
    assert instance(LetterSpec("m", source="constants", called="mu"), {}).value == 4.0
    assert {name: constant.value for name, constant in instance.used.items()} == {"mu": 3.0, "mu (usual)": 4.0}
