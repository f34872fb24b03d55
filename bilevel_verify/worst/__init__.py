"""How tight is a theorem: the instances of a family on which a claim uses up most of its bound, found by search.

A family is a problem file with ranges for its knobs. Every candidate is an ordinary instance: constants certified, both
sides of each claim enclosed by the checker itself; what is found is a problem file that ``verify`` repeats.
"""

from bilevel_verify.worst.drawing import RandomInstance, RandomVerification, random_instances, verify_random
from bilevel_verify.worst.family import Family, families, family
from bilevel_verify.worst.finding import worst_case
from bilevel_verify.worst.result import WorstCase
from bilevel_verify.worst.tightness import Tightness

__all__ = [
    "Family",
    "RandomInstance",
    "RandomVerification",
    "Tightness",
    "WorstCase",
    "families",
    "family",
    "random_instances",
    "verify_random",
    "worst_case",
]
