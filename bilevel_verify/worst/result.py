"""What a search for worst cases hands on: for every claim the largest share of its bound, and where it was found."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.errors import InputError
from bilevel_verify.problems.files import save
from bilevel_verify.worst.picture import picture
from bilevel_verify.worst.tightness import Tightness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bilevel_verify.worst.tightness_map import WorstRecord

RESULT = "worst.json"


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

    def to_dict(self) -> WorstRecord:
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
        """The share of the bound over the search, and the trajectory of the worst instance.

        Parameters
        ----------
        claim : name of a claim; the tightest by default.

        Raises
        ------
        InputError : no candidate decided the claim.
        """
        names = [one.claim for one in self.claims]
        if not names or (claim is not None and claim not in names):
            what = f"{claim!r}; there are {', '.join(names)}" if names else "any claim"
            raise InputError(f"{self.statement}: the search decided nothing about {what}")
        return picture(self.statement, self[claim or names[0]], self.families, self.history)

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
