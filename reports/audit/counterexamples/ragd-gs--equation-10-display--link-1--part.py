"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L = mpf(1)/1
v_k = mpf(0)/1
left = ((((v_k / (v_k + mpf(1))) + (-(((v_k + mpf(1)) / (v_k + mpf(2))) ** mpf(2)))) / mpf(2)) * (v_L / mpf(2)))
right = ((((((v_k + mpf(1)) / (v_k + mpf(2))) ** mpf(2)) + (v_k / (v_k + mpf(1))) + (-mpf(2))) / mpf(4)) * v_L)
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'k >= 0', bool((v_k >= mpf(0))))
refuted = not (left <= right) and bool((v_L > mpf(0))) and bool((v_k >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
