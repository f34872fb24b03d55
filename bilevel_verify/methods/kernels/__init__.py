"""Solver loops: one source that reads like the papers, runs as plain Python, compiled, and in multi-precision.

Rules of these modules (they are concatenated and compiled as one):

* functions on vectors given by the caller, filled in place; no allocation, no closures, no exceptions, no keywords;
* scalar arithmetic in loops, sums in the order of the index, no array functions: so the three forms agree;
* no division that can meet a zero unguarded; fractions start from ``number[ONE]`` so that they are exact enough
  in multi-precision;
* oracles are asked through ``oracles.counted`` only: that is where calls are counted.
"""
