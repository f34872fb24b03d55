"""What the modules of named methods share: papers, readings that several methods take."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bilevel_verify.methods.registry import Reading

LI_LIN, YANG, RAGD = "restarted-agd-hb", "rahgd", "ragd-gs"


def sequences(**places: str) -> Mapping[str, str]:
    """Sequence of the paper -> its column of the trace."""
    return MappingProxyType(places)


ROUNDING = Reading(
    "loop test and floor(K/2)",
    "K = 1/theta, not an integer in general",
    "K is an integer letter; cards round 1/theta up",
    "the paper treats K as an integer",
)
FIRST_TIE = Reading(
    "argmin over k",
    "argmin, ties not specified",
    "the smallest index; variant 'last-tie': the largest, as Algorithm 7",
    "a tie has to go somewhere",
)
