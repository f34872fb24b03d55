"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_b = mpf(0)/1
v_c = mpf(1)/1
v_b_n = mpf(0)/1
v_c_n = mpf(1)/1
left = (((v_c_n + v_b_n) * v_b) + ((v_c_n + v_b_n) * v_c))
right = ((v_c_n * v_b) + (v_b_n * v_c))
print("hypothesis", 'b >= 0', bool((v_b >= mpf(0))))
print("hypothesis", 'c >= 0', bool((v_c >= mpf(0))))
print("hypothesis", 'b_n >= 0', bool((v_b_n >= mpf(0))))
print("hypothesis", 'c_n >= 0', bool((v_c_n >= mpf(0))))
refuted = not (left == right) and bool((v_b >= mpf(0))) and bool((v_c >= mpf(0))) and bool((v_b_n >= mpf(0))) and bool((v_c_n >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
