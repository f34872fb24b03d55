"""A joint that was judged: a step from what it cites, a cell from its theorem, a total from its parts."""

from __future__ import annotations

from dataclasses import dataclass

from bilevel_verify.proofreading.defect import Defect

VERDICTS = ("holds", "refuted", "undecided", "not applicable")
"""Words of the design's closed list for what is a relation."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One joint with its verdict.

    Attributes
    ----------
    kind : a key of :data:`~bilevel_verify.proofreading.defect.KINDS`.
    place : where a reader finds it.
    joint : what is joined to what, one sentence.
    verdict : a word of :data:`VERDICTS`; ``holds`` where the step was carried out and gives what is printed.
    reason : why, for all but ``holds``.
    defect : what is reported, of a refuted one.
    script : Python that shows it alone, of a refuted one.
    subject : the hypothesis that is missed: two rules that miss it at one place have found one thing.
    """

    kind: str
    place: str
    joint: str
    verdict: str
    reason: str = ""
    defect: Defect | None = None
    script: str = ""
    subject: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS or (self.verdict == "refuted") != (self.defect is not None):
            raise ValueError(f"{self.verdict!r} of a joint")

    def to_dict(self) -> dict[str, object]:
        """All fields, for JSON; the defect stands among the defects."""
        return {"kind": self.kind, "place": self.place, "joint": self.joint, "verdict": self.verdict,
                "reason": self.reason or None}  # fmt: skip
