"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_M = mpf(0)/1
v_alpha_1 = mpf(1)/1
print("hypothesis", 'M >= 0', bool((v_M >= mpf(0))))
print("a part of the formula is defined:", bool((abs((mpf(4) * v_M)) > mpf(0))))
for name, side in (("left ", lambda: (v_alpha_1 / (mpf(4) * v_M))), ("right", lambda: (v_alpha_1 / (mpf(2) * v_M))), ):
    try:
        print(name, mp.nstr(side(), 30))
    except (ArithmeticError, ValueError) as error:
        print(name, "is not defined:", error)
refuted = not (abs((mpf(4) * v_M)) > mpf(0)) and bool((v_M >= mpf(0)))
raise SystemExit(0 if refuted else 1)
