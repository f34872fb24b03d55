"""How smooth a problem is, with proof: ``constants(p)`` and the definitions behind every letter."""

from bilevel_verify.constants.api import FamilyConstants, constants
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.papers import DEFAULT, PAPERS, Letter, letters_of

__all__ = ["DEFAULT", "PAPERS", "Constant", "FamilyConstants", "Letter", "Reason", "constants", "letters_of"]
