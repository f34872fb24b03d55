"""Sums of words: vectors, matrices and tensors as products of symbols in order, each with a polynomial before it."""

from __future__ import annotations

from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.polynomials import Polynomial

Word = tuple[str, ...]
Linear = dict[Word, Polynomial]


def added(one: Linear, other: Linear, factor: Polynomial) -> Linear:
    total = dict(one)
    for word, weight in other.items():
        found = p.plus(total.get(word, {}), p.times(weight, factor))
        if found:
            total[word] = found
        else:
            total.pop(word, None)
    return total


def linear_key(form: Linear) -> str:
    """A text that is the same for the same combination."""
    return " + ".join(f"{{{p.key(c)}}} {' '.join(word) or 'I'}" for word, c in sorted(form.items()))


def transposed(symbol: str) -> str:
    return symbol.removesuffix("^T") if symbol.endswith("^T") else f"{symbol}^T"


def inverted(symbol: str) -> str:
    return symbol[4:-1] if symbol.startswith("inv(") and symbol.endswith(")") else f"inv({symbol})"


def reduced(word: Word) -> Word:
    """A word without neighbours that are inverse to each other."""
    found: list[str] = []
    for symbol in word:
        if found and found[-1] == inverted(symbol):
            found.pop()
        else:
            found.append(symbol)
    return tuple(found)
