"""Answers of a conic solver: primal value and dual bound, an independent word."""
