"""Whether two arms of a comparison are treated alike; if not, a result speaks of our choices and not of the methods.

A result is held against the arm that loses. It is not, where that arm

* has a fixed letter that the paper does not print, unless the other arm has the same letter at the same value;
* has a letter tuned over a list that the paper does not print, and the best value is an end of the list, other than the
  least value that there is;
* has a letter whose list is cut at this size, and the best value is the end where it is cut;
* had less than ``1/BAND`` of the points of tuning of the other arm;
* where calls to the target are compared: has another point that on the seed of the tuning is at the target earlier than
  the chosen one and no later than the winner. The tuning aims at low values and not at few calls.

What favours the loser excuses nothing: a rival that was tuned more and still loses has lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bilevel_verify.experiments.paired import BAND
from bilevel_verify.experiments.running import Finished, Search
from bilevel_verify.experiments.targets import cost, target_of

if TYPE_CHECKING:
    from bilevel_verify.experiments.work import RunAnswer


def excuse(found: Finished, variant: str, loser: str, winner: str, by_calls: bool) -> str:
    """Why a result (calls to a target if ``by_calls``, or values) cannot be held against the loser; or nothing."""
    if letters := chosen(found, variant, loser, winner):
        return f"not printed for these data: {', '.join(letters)} of {loser}"
    if cut := _where_cut(found, variant, loser):
        return f"this size does not try the whole list of {', '.join(cut)} of {loser}"
    less, more = points(found, variant, loser), points(found, variant, winner)
    if more > BAND * less:
        return f"{loser} had {less} {'point' if less == 1 else 'points'} of tuning, {winner} {more}"
    return _earlier(found, variant, loser, winner) if by_calls else ""


def chosen(found: Finished, variant: str, entry: str, other: str | None = None) -> list[str]:
    """Letters of a method that are ours and not the paper's, but for those that another method shares."""
    return [*_fixed(found, entry, other), *_at_an_end(found, variant, entry)]


def points(found: Finished, variant: str, entry: str) -> int:
    """Points that the tuning of a method tried; one for a method without a grid."""
    search = _search(found, variant, entry)
    return max(1, 0 if search is None else sum(answer is not None for _, answer in search.tried))


def unmeasured(answers: Sequence[RunAnswer | None], measure: str) -> bool:
    """Whether a curve has rows in which a measure is not even named (None stands for a value that is not finite)."""
    return any(measure not in row for answer in answers for row in (answer.get("curve", []) if answer else ()))


def _fixed(found: Finished, loser: str, winner: str | None) -> list[str]:
    one = found.experiment.entries[loser]
    theirs = {} if winner is None else found.experiment.entries[winner].letters
    return [
        f"{letter} = {one.letters[letter]}"
        for letter in one.open
        if letter in one.letters and letter not in one.grid and not _shared(one.letters[letter], theirs.get(letter))
    ]


def _shared(mine: object, theirs: object) -> bool:
    """Whether two letters have one value; formulas may have others, as they are in what was tuned."""
    return mine == theirs and not isinstance(mine, str)


def _at_an_end(found: Finished, variant: str, loser: str) -> list[str]:
    search = _search(found, variant, loser)
    if search is None:
        return []
    tried = {letter: search.values()[letter] for letter in search.entry.open if letter in search.entry.grid}
    return [
        f"{letter} (best at the end {search.best[letter]:g} of its list)"
        for letter, values in tried.items()
        if search.best[letter] in (values[0], values[-1])
        and not (letter in search.entry.least and search.best[letter] == search.entry.grid[letter][0])
    ]


def _where_cut(found: Finished, variant: str, loser: str) -> list[str]:
    search = _search(found, variant, loser)
    if search is None:
        return []
    whole = search.entry.grid
    return [
        f"{letter} (best at its end {best:g})"
        for letter, values in search.values().items()
        for best in [search.best[letter]]
        if any(best == values[end] != whole[letter][end] for end in (0, -1))
    ]


def _earlier(found: Finished, variant: str, loser: str, winner: str) -> str:
    """Whether another point of the tuning would have been first."""
    own, other = _search(found, variant, loser), _search(found, variant, winner)
    if own is None or not own.tried:
        return ""
    one = found.experiment
    fine = [a for s in found.searches if s.variant == variant for _, a in s.tried if a and a["score"] is not None]
    target = target_of(fine, one.measure, one.size[found.size].target)
    mine = [(cost(a, one.measure, target)[1], k) for k, a in own.tried if a and a["score"] is not None]
    chosen = min((calls for calls, knobs in mine if knobs == own.best), default=math.inf)
    theirs = [] if other is None else [cost(a, one.measure, target)[1] for k, a in other.tried if k == other.best]
    first, knobs = min(mine, key=lambda pair: pair[0], default=(math.inf, {}))
    if first < chosen and first <= min(theirs, default=math.inf):
        point = ", ".join(f"{knob} = {value:g}" for knob, value in knobs.items())
        return f"{loser} at {point} is at the target earlier: it depends on what is tuned for"
    return ""


def _search(found: Finished, variant: str, entry: str) -> Search | None:
    return next((s for s in found.searches if (s.variant, s.entry.name) == (variant, entry)), None)
