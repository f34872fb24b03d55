"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_n = mpf(1)/1
left = (mpf(20) * (mpf(10) ** v_n))
right = mpf(2)
print("hypothesis", 'n >= 1', bool((v_n >= mpf(1))))
print("hypothesis", 'n <= 3', bool((v_n <= mpf(3))))
refuted = not (left <= right) and bool((v_n >= mpf(1))) and bool((v_n <= mpf(3)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
