"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_eps = mpf(1)/1
v_M = mpf(2)/1
left = ((v_eps ** mpf(3)) / (mpf(128) * v_M))
right = ((mpf(1) / mpf(128)) * sqrt(((v_eps ** mpf(3)) / v_M)))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'M > 0', bool((v_M > mpf(0))))
refuted = not (left == right) and bool((v_eps > mpf(0))) and bool((v_M > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
