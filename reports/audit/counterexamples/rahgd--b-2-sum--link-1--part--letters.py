"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_eta = mpf(1)/1
v_theta = mpf(1)/2
v_b = mpf(1)/2
left = ((((-mpf(3)) * v_theta) / (mpf(8) * v_eta)) * (v_b ** mpf(2)))
right = ((((-mpf(3)) * v_theta) / (mpf(8) * v_eta)) * v_b)
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta < 1', bool((v_theta < mpf(1))))
print("hypothesis", 'b >= 0', bool((v_b >= mpf(0))))
refuted = not (left <= right) and bool((v_eta > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta < mpf(1))) and bool((v_b >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
