"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_k = mpf(0)/1
v_L_g = mpf(1)/1
v_R = mpf(0)/1
print("hypothesis", 'k >= 0', bool((v_k >= mpf(0))))
print("a part of the formula is defined:", bool((abs((v_k * (v_k + mpf(1)))) > mpf(0))))
for name, side in (("left ", lambda: ((mpf(4) * v_L_g * (v_R ** mpf(2)) * (log(v_k) + mpf(1))) / (v_k * (v_k + mpf(1))))), ("right", lambda: ((mpf(8) * v_L_g * (v_R ** mpf(2)) * (log(v_k) + mpf(1))) / (v_k * (v_k + mpf(1))))), ):
    try:
        print(name, mp.nstr(side(), 30))
    except (ArithmeticError, ValueError) as error:
        print(name, "is not defined:", error)
refuted = not (abs((v_k * (v_k + mpf(1)))) > mpf(0)) and bool((v_k >= mpf(0)))
raise SystemExit(0 if refuted else 1)
