"""Moduli of continuity and Hoelder pairs."""
