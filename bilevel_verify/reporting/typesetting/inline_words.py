"""Words of running text that are letters of a formula: one letter or a Greek name, with marks, primes and scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bilevel_verify.language.latex import GREEK, letter_latex

OTHER_GREEK = frozenset({"varphi", "varepsilon", "varsigma"})
GREEK_WORDS = GREEK - {"pi", "iota"} | OTHER_GREEK | {"eps", "ell", "lam"}
FUNCTIONS = {name: rf"\{name}" for name in ("log", "ln", "exp", "min", "max", "sin", "cos", "tan", "det", "inf", "sup")}
FENCES = {
    "ceil": (r"\lceil ", r"\rceil "),
    "floor": (r"\lfloor ", r"\rfloor "),
    "norm": (r"\|", r"\|"),
    "inv": (r"\left(", r"\right)^{-1}"),
}
OPERATORS = {"grad": r"\nabla", "nabla": r"\nabla", "hess": r"\nabla^2", "D": "D", "softO": r"\tilde{\mathcal{O}}"}
OPERATORS |= {"lambda_min": r"\lambda_{\min}", "lambda_max": r"\lambda_{\max}"}
ARTICLES = frozenset("aAI")
"""Letters that are words of English: they are letters of a formula only beside a sign."""
SCRIPT = r"_(\{[^{}]{1,12}\}|[A-Za-z0-9]+)"
TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?\b|\d+(?:\.\d+)?)"
    rf"|(?P<word>[A-Za-z][A-Za-z0-9]*(?:-(?:tilde|hat|bar)\b|\*(?=_[a-z]))?'*(?:{SCRIPT})*'*)"
    r"|(?P<sign>\*\*|<=|>=|==|[-+*/^=<>(){}|,:])"
)
MARKS = ("tilde", "hat", "bar")
HEAD = re.compile(
    r"(?P<head>[A-Za-z]+?)(?P<mark>-?(?:tilde|hat|bar))?(?P<digits>\d*)(?P<star>\*?)(?P<primes>'*)"
    r"(?P<scripts>(?:_.*?)?)(?P<late>'*)\Z",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` : blank, number, word, sign, other, or end behind the last one."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Tokens of a text; what belongs to no formula is a token of its own, of kind ``other``."""
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        kind = str(match.lastgroup) if match else "other"
        end = match.end() if match else at + 1
        found.append(Token(kind, text[at:end], at, end))
        at = end
    return found


def letter(word: str) -> str | None:
    """LaTeX of a word that can be a letter: one letter or a Greek name, with digits, primes and subscripts."""
    if word in OPERATORS:
        return OPERATORS[word]
    parts = HEAD.match(word)
    if parts is None:
        return None
    head, scripts = parts["head"], [s.strip("{}") for s in re.findall(SCRIPT, parts["scripts"])]
    if len(head) > 1 and head not in GREEK_WORDS and head not in OPERATORS and not (len(head) == 2 and scripts):
        return None
    if head in OPERATORS and scripts and all(set(s) <= set("xyz") for s in scripts):
        return f"{OPERATORS[head]}_{{{scripts[0]}}}"
    if parts["mark"] and head not in GREEK_WORDS:
        return None  # "that", "what"
    base = f"\\{head}" if head in OTHER_GREEK else "E" if head == "E" else letter_latex(head)
    for mark in (parts["mark"] or "").lstrip("-"), *(s for s in scripts if s in MARKS):
        base = rf"\{mark}{{{base}}}" if mark else base
    scripts = [s for s in scripts if s not in MARKS]
    below = ",".join([*([parts["digits"]] if parts["digits"] else []), *(script(s) for s in scripts)])
    primes = "^*" if parts["star"] else parts["primes"] or parts["late"]
    return base + primes + (f"_{{{below}}}" if below else "")


def script(text: str) -> str:
    """A subscript: letters are indices, words are set upright."""
    if re.fullmatch(r"[a-z]{2}", text) and text not in ("mu", "nu", "xi", "pi"):
        return text
    return re.sub(r"[A-Za-z][A-Za-z0-9_]*'*", lambda word: letter(word[0]) or rf"\mathrm{{{word[0]}}}", text)
