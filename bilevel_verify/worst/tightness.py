"""How much of its bound a claim uses up on the worst instance that was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.methods.run import Run
from bilevel_verify.worst.family import Candidate
from bilevel_verify.worst.screening import Share
from bilevel_verify.worst.tightness_map import ClaimRecord

LOOSE = 1e-3
"""Below this share a claim is called loose."""
TIGHT = 0.95


@dataclass(frozen=True, slots=True)
class Tightness:
    """One claim: the largest share of its bound that was found.

    Attributes
    ----------
    ratio : the share, 1 where the bound is attained, above 1 where it is broken.
    share : its two sides, place and certainty, judged again with certified constants and a certified truth.
    candidate : the instance. ``row`` : what ``verify`` says of the claim on it, ``run`` : the run that it judged; None
        where there is none.
    """

    claim: str
    relation: str
    share: Share
    candidate: Candidate
    row: Row | None = None
    run: Run | None = field(default=None, repr=False)
    known_refuted: bool = False

    @property
    def ratio(self) -> float:
        """The share of the bound that is used up."""
        return self.share.ratio

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of ``verify`` on the worst instance."""
        return None if self.row is None else self.row.verdict

    @property
    def confirmed(self) -> bool:
        """Whether the share may be believed: at most 1, or above it and refuted by ``verify``."""
        return self.ratio <= 1 or self.verdict == "refuted"

    @property
    def word(self) -> str:
        """The finding in a few words."""
        if self.verdict == "refuted":
            return "broken (on record)" if self.known_refuted else "broken"
        if self.ratio > 1:
            return f"above its bound in the search, and {self.verdict or 'not judged'} when repeated"
        if self.ratio >= 1 - 1e-6:
            return "attained"
        if self.ratio >= TIGHT:
            return f"tight within {100 * (1 - self.ratio):.2g} %"
        if self.ratio <= 0:
            return "the sides have different signs on everything tried"
        factor = 1 / self.ratio
        return f"loose by {'at least ' if self.ratio < LOOSE else ''}{factor:.3g} on everything tried"

    def __str__(self) -> str:
        return f"{self.claim}: {self.ratio:.6g} of the bound ({self.share.certainty}), {self.word}; {self.candidate}"

    def to_dict(self) -> ClaimRecord:
        """The finding as JSON."""
        share, one = self.share, self.candidate
        return {
            "claim": self.claim,
            "relation": self.relation,
            "ratio": _plain(share.ratio),
            "measured": _plain(share.measured),
            "bound": _plain(share.bound),
            "where": share.where,
            "certainty": share.certainty,
            "verdict": self.verdict,
            "known_refuted": self.known_refuted,
            "confirmed": self.confirmed,
            "word": self.word,
            "family": one.family,
            "knobs": one.knobs,
            "x0": list(one.x0),
            "eps": one.eps,
            "row": None if self.row is None else self.row.to_dict(),
        }


def _plain(number: float) -> float | str:
    """A number that strict JSON can hold."""
    return number if abs(number) < float("inf") else str(number)
