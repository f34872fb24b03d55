"""Convex sets and convex minimisation over them, in floats."""
