"""Certificates of numbers: a bound on a box as a tree of boxes; on each leaf the small checker's intervals show it."""
