"""How smooth a problem is, with proof: ``constants(p)`` and the definitions behind every letter."""

from bilevel_verify.constants.api import FamilyConstants, constants
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.papers import Letter, LetterSet, letter_sets, letters_of

__all__ = ["Constant", "FamilyConstants", "Letter", "LetterSet", "Reason", "constants", "letter_sets", "letters_of"]
