"""Bounds by branch and bound, and samples that show how tight they are."""
