"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for the integers low..high, both included."""
    value = mpf(1 if times else start)
    for i in range(int(low), int(high) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_r = mpf(2)/1
left = log((mpf(1) + v_r))
right = log(v_r)
print("hypothesis", 'r > 1', bool((v_r > mpf(1))))
refuted = not (left <= right) and bool((v_r > mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
