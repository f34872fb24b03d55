"""What a solver may ask: exact oracles in plain, compiled and multi-precision form, which count their own calls."""

from bilevel_verify.oracles.convention import COUNTERS, OracleSet, named_counts, new_counts
from bilevel_verify.oracles.handed import HandedOracles
from bilevel_verify.oracles.notices import OracleWarning
from bilevel_verify.oracles.oracles import BudgetExhausted, Oracles, oracles, unpack_third

__all__ = [
    "COUNTERS",
    "BudgetExhausted",
    "HandedOracles",
    "OracleSet",
    "OracleWarning",
    "Oracles",
    "named_counts",
    "new_counts",
    "oracles",
    "unpack_third",
]
