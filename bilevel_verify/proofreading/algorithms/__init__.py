"""Algorithms without a run: printed lines read as statements, tests that never hold, loops without end, stale state."""
