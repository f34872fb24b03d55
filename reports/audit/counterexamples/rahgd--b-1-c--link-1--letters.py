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
v_a = mpf(1)/1
v_e = mpf(1)/1
left = ((((mpf(5) * v_eta) / mpf(8)) * (abs((v_a + v_e)) ** mpf(2))) + (-((v_eta / mpf(2)) * ((abs(v_a) ** mpf(2)) + (abs((v_a + v_e)) ** mpf(2)) + (-(abs(v_e) ** mpf(2)))))))
right = (((((-mpf(3)) * v_eta) / mpf(8)) * (abs(v_a) ** mpf(2))) + (((mpf(5) * v_eta) / mpf(8)) * (abs(v_e) ** mpf(2))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
refuted = not (left <= right) and bool((v_eta > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
