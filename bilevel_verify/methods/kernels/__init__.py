"""What solver loops share: one source that reads like the papers, runs as plain Python, compiled, in multi-precision.

The loops themselves are in ``methods.schemes`` and ``methods.estimators``; :mod:`~bilevel_verify.methods.kernels.state`
says how their letters and their state are handed to them by name. Rules for all of them:

* functions on vectors given by the caller, filled in place; no allocation, no closures, no exceptions, no keywords;
* scalar arithmetic in loops, sums in the order of the index, no array functions: so the three forms agree;
* no division that can meet a zero unguarded; fractions start from ``at.one`` so that they are exact enough
  in multi-precision;
* oracles are asked through ``oracles.counted`` only: that is where calls are counted.
"""
