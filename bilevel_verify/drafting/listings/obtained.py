"""Lines that name what they make in words: "call the oracle at x to get the value f and a subgradient g"."""

from __future__ import annotations

import re

from bilevel_verify.drafting.listings.lines import HOLE

NO_SOURCE = (
    r"(?:(?!(?:of|at|from|along|in|using|by|through|on|around|near|to|under|over|against|between|via|into|onto|until"
    r"|after|before|with|for|that|where|if|when|while|is|are|than|as|since|because|not)\b)[^\W\d_][\w'’-]*(?:,?\s+|\Z))*"
)
"""Words without one behind which stands what a line makes something *from*: ``of``, ``at``, ``along``."""
MAKES = (
    r"(?:get|obtain|determine|find|compute|choose|pick|select|draw|sample|receive|observe|take|estimate|form|generate"
    r"|let|set|fix|yield|give|return|produce|output|denote|evaluate)(?:s|ing)?|obtaining|choosing|computing|taking"
    r"|determining|producing|observing|receiving|evaluating|estimating"
)
ASKS = r"(?:call|ask|query|solve|run|use|apply|perform|search|minimi[sz]e|maximi[sz]e|do|make)(?:s|ing)?"
ITS = r"(?:a|an|any|the|its|their|some|one|two|corresponding|associated|respective|new|unit)\b"
DIRECT = re.compile(rf"\b(?:{MAKES})\s+{NO_SOURCE}\Z", re.I)
WANTED = re.compile(
    rf"\b(?:solv\w+|ask\w*|search\w*|quer\w+|look\w*|us(?:e|es|ing))\b[^.;]*\bfor\s+{NO_SOURCE}\Z", re.I
)
NAMED = re.compile(
    rf"\b(?:denote|call|name|store)\b[^.;]*?\b(?:by|as|in|it|result|output|solution)\s+{NO_SOURCE}\Z"
    rf"|\b(?:call|name)\s+(?:the|its|their)\s+{NO_SOURCE}\Z",
    re.I,
)
VALUES = r"(?:eigen)?values?|residuals?|multipliers?|norms?|errors?|gaps?"
BESIDE = re.compile(
    rf"\b(?:{MAKES}|{ASKS})\b[^.;]*(?:\band|,|\bfor|\bwith|{HOLE})\s*(?:(?:(?:to|for)\s+)?"
    rf"(?:its|their|the corresponding|corresponding|associated)\s"
    rf"|(?<=and)\s+(?:(?:from|with) (?:it|them)\s+)?{ITS}|(?<=,)\s+{ITS}"
    rf"|(?<=with)\s+(?:(?:small|larg)est\s+)?(?:{VALUES})\s)\s*{NO_SOURCE}\Z",
    re.I,
)
LISTED = re.compile(rf"{HOLE}\s*(?:,|,?\s*and)\s*{NO_SOURCE}\Z", re.I)
LET = re.compile(r"\blet\b[^.;]*(?:,|\band)\s*\Z", re.I)
"""One more of what the formula before it is one of."""
IS_MADE = re.compile(
    r"\A\s*(?:is|are|be)\s+(?:then\s+|now\s+)?(?:chosen|drawn|sampled|determined|computed|obtained|found|selected|picked"
    r"|given|received|observed|taken|set|fixed|updated|the|an?)\b|\A\s*(?:solves|solving|minimi[sz]es|maximi[sz]es)\b",
    re.I,
)
"""Behind a formula: it has its value from these words."""


def obtained(before: str, after: str, also: bool) -> bool:
    """Whether a formula names something that its line makes.

    ``before`` are the words of the line up to it, with holes for formulas, ``after`` those behind it; ``also``: whether
    the formula before it does.
    """
    clause = re.split(r"[.;:](?=\s)", f"{before} ")[-1]
    if IS_MADE.search(after):
        return True
    made = any(pattern.search(clause) for pattern in (DIRECT, WANTED, NAMED, BESIDE, LET))
    return made or (also and LISTED.search(clause) is not None)
