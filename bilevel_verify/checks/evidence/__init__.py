"""Runs of an instance: kept, repeated in many digits, judged block by block."""
