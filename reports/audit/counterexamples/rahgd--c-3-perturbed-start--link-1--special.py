"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_r = mpf(1)/1
v_s = mpf(0)/1
v_z = mpf(1)/1
left = abs((v_s + v_z))
right = abs(v_s)
print("hypothesis", 'abs(z) <= r', bool((abs(v_z) <= v_r)))
print("hypothesis", 'r > 0', bool((v_r > mpf(0))))
refuted = not (left == right) and bool((abs(v_z) <= v_r)) and bool((v_r > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
