"""Formulas as MathML: LaTeX, expressions of cards, and what running text has of them."""
