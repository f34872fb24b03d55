"""What a search for worst cases hands on: for every claim the largest share of its bound, and where it was found."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.methods.run import Run
from bilevel_verify.problems.files import save
from bilevel_verify.worst.family import Candidate
from bilevel_verify.worst.screening import Share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOSE = 1e-3
"""Below this share a claim is called loose."""
TIGHT = 0.95
RESULT = "worst.json"


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

    def to_dict(self) -> dict[str, Any]:
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


@dataclass(frozen=True)
class WorstCase:
    """The result of a search for one statement.

    Attributes
    ----------
    claims : one entry for each claim that any candidate decided, the tightest first, those above 1 that ``verify`` does
        not refute last. ``silent`` : the others.
    tried, decided, places : candidates, those whose hypotheses hold and that decide a claim, places judged on them.
    skipped : reason -> candidates that were left out for it. ``history`` : (candidate, claim, family, share).
    interrupted : the search was cut; the best so far is here. ``letters`` : what was set by hand.
    """

    statement: str
    method: str | None
    families: tuple[str, ...]
    claims: tuple[Tightness, ...]
    silent: tuple[str, ...]
    tried: int
    decided: int
    places: int
    skipped: Mapping[str, int]
    seed: int
    seconds: float
    interrupted: bool = False
    letters: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[tuple[int, str, str, float], ...] = field(default=(), repr=False)

    @property
    def worst(self) -> Tightness | None:
        """The claim that uses up most of its bound; None where nothing was decided."""
        return self.claims[0] if self.claims else None

    def __getitem__(self, claim: str) -> Tightness:
        """The finding about a claim.

        Raises
        ------
        KeyError : no candidate decided it.
        """
        for one in self.claims:
            if one.claim == claim:
                return one
        raise KeyError(claim)

    def __str__(self) -> str:
        head = f"{self.statement}: {self.decided} of {self.tried} candidates decide something, {self.places} places"
        lines = [head + (", interrupted" if self.interrupted else ""), *(f"  {one}" for one in self.claims)]
        if not self.claims:
            lines.append("  nothing decisive was found" + self._why())
        elif self.silent:
            lines.append(f"  never decided: {', '.join(self.silent)}")
        return "\n".join(lines)

    def _why(self) -> str:
        reasons = sorted(self.skipped.items(), key=lambda pair: -pair[1])[:3]
        return "".join(f"; {count} times: {reason}" for reason, count in reasons)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON, without the course of the search."""
        return {
            "statement": self.statement,
            "method": self.method,
            "families": list(self.families),
            "claims": [one.to_dict() for one in self.claims],
            "silent": list(self.silent),
            "tried": self.tried,
            "decided": self.decided,
            "places": self.places,
            "skipped": dict(sorted(self.skipped.items(), key=lambda pair: -pair[1])[:20]),
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "interrupted": self.interrupted,
        }

    def picture(self, claim: str | None = None) -> Figure:
        """The share of the bound over the search, and the trajectory of the worst instance."""
        from bilevel_verify.worst.picture import picture

        return picture(self, claim)

    def save(self, folder: str | Path, pictures: bool = True) -> Path:
        """Write ``worst.json``, a problem file for the worst instance of every claim, and a picture.

        Returns
        -------
        The path of ``worst.json``. Each row in it names the problem file in the command that repeats it.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        table = self.to_dict()
        for one, entry in zip(self.claims, table["claims"]):
            path = target / f"{re.sub(r'[^a-z0-9]+', '-', one.claim.lower()).strip('-')}.toml"
            problem = replace(one.candidate.problem, start=one.candidate.x0, name=path.stem)
            entry["problem"] = save(problem, path).name
            entry["reproduce"] = self.command(one, str(path))
        (target / RESULT).write_text(json.dumps(table, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        if pictures and self.claims:
            self.picture().savefig(target / "worst.svg")
        return target / RESULT

    def command(self, one: Tightness, problem: str) -> str:
        """The command line that judges a claim again on its worst instance, kept in a problem file."""
        words = ["bilevel-verify", "verify", self.statement, "--problem", problem]
        words += [] if one.candidate.eps is None else ["--eps", repr(one.candidate.eps)]
        words += ["--x0=" + ",".join(repr(number) for number in one.candidate.x0)]
        words += [] if self.method is None else ["--method", self.method]
        for name, value in self.letters.items():
            words += ["--set", f"{name}={value}"]
        return shlex.join(words)


def _plain(number: float) -> float | str:
    """A number that strict JSON can hold."""
    return number if abs(number) < float("inf") else str(number)
