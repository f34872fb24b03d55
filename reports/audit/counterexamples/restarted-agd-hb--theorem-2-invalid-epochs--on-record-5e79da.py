"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_B = mpf(1)/1
v_B0 = mpf(2)/1
v_c = mpf(3)/1
left = mpf(1)
right = (log((v_B0 / v_B)) / log(v_c))
print("hypothesis", 'B0 > B', bool((v_B0 > v_B)))
print("hypothesis", 'B0 <= c*B', bool((v_B0 <= (v_c * v_B))))
print("hypothesis", 'B > 0', bool((v_B > mpf(0))))
print("hypothesis", 'B0 > 0', bool((v_B0 > mpf(0))))
print("hypothesis", 'c > 1', bool((v_c > mpf(1))))
refuted = not (left <= right) and bool((v_B0 > v_B)) and bool((v_B0 <= (v_c * v_B))) and bool((v_B > mpf(0))) and bool((v_B0 > mpf(0))) and bool((v_c > mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
