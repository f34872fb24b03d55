"""Problems: what the user states. Four kinds, domains, feasible sets, files, the zoo."""

from bilevel_verify.problems.catalogue import ProblemRecord, zoo
from bilevel_verify.problems.construct import bilevel, minimax, simple_bilevel, single_level
from bilevel_verify.problems.family import ProblemFamily
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.problems.files import dump, load, loads, save
from bilevel_verify.problems.problem import KINDS, Interval, Kind, Problem
from bilevel_verify.problems.to_sympy import to_sympy
from bilevel_verify.problems.vocabulary import KNOWN_FUNCTIONS

__all__ = [
    "KINDS",
    "KNOWN_FUNCTIONS",
    "Ball",
    "Box",
    "FeasibleSet",
    "HalfSpace",
    "Intersection",
    "Interval",
    "Isotonic",
    "Kind",
    "L1Ball",
    "Orthant",
    "Problem",
    "ProblemFamily",
    "ProblemRecord",
    "Simplex",
    "WholeSpace",
    "bilevel",
    "dump",
    "load",
    "loads",
    "minimax",
    "save",
    "simple_bilevel",
    "single_level",
    "to_sympy",
    "zoo",
]
