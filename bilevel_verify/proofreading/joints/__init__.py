"""Joints between statements: citations, totals, cases."""
