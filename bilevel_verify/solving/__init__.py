"""From a problem to a run in one call: letters by the method's theorem, what is given by hand winning.

``calls`` : :func:`solve`, :func:`solve_batch`. ``prescribed`` : what a theorem says of the letters. ``by_hand`` : what
is certainly false of letters that a user gave.
"""

from bilevel_verify.solving.by_hand import ByHand
from bilevel_verify.solving.calls import solve, solve_batch
from bilevel_verify.solving.prescribed import statement_of

__all__ = ["ByHand", "solve", "solve_batch", "statement_of"]
