"""Scalar mathematics: one inequality over a range, decided by the first engine that can."""
