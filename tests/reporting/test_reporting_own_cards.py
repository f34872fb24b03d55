"""The claims of a card that is not shipped, as the rows have them."""

from __future__ import annotations

from bilevel_verify.reporting.cards import paper_records


def test_a_claim_of_an_own_card_has_its_formula_and_its_quotation() -> None:
    row = {
        "paper": "nobody's", "statement": "theorem-1", "claim": "decrease", "kind": "step", "reading": None,
        "left": "f(x[k+1]) - f(x[k])", "right": "<= -eta", "printed": "f(x_{k+1})", "stated": None, "verdict": "holds",
    }  # fmt: skip
    [paper] = paper_records([row, row | {"claim": "odd", "left": "a )", "right": "<= b", "printed": None}])
    decrease, odd = paper["statements"][0]["claims"]
    assert (decrease["id"], decrease["over"], decrease["printed"]) == ("decrease", "step", ["f(x_{k+1})"])
    assert decrease["text"] == ["f(x[k+1]) - f(x[k]) <= -eta"]
    assert r"\le -\eta" in decrease["parsed"][0]
    assert (odd["printed"], odd["parsed"]) == ([], [r"\text{a ) <= b}"])
