"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_theta = mpf(1)/2
v_a = mpf(2)/1
left = ((mpf(1) + (v_theta / mpf(2))) ** ((mpf(2) / v_theta) * log(v_a)))
right = v_a
print("hypothesis", '2/theta*log(a) > 0', bool((((mpf(2) / v_theta) * log(v_a)) > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta < 1', bool((v_theta < mpf(1))))
print("hypothesis", 'a > 1', bool((v_a > mpf(1))))
refuted = not (left >= right) and bool((((mpf(2) / v_theta) * log(v_a)) > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta < mpf(1))) and bool((v_a > mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left >= right is", bool(left >= right))
raise SystemExit(0 if refuted else 1)
