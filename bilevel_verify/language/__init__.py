"""What may be written: the expression tree, its whitelist parser and its limits."""

from bilevel_verify.language.parser import CARD, PROBLEM, Limits, check_names, convert, nearest, parse
from bilevel_verify.language.tree import Node, functions, letters

__all__ = ["CARD", "PROBLEM", "Limits", "Node", "check_names", "convert", "functions", "letters", "nearest", "parse"]
