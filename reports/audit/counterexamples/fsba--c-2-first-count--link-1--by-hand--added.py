"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, ceil, e, log, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_eps_t = mpf(1)/1
v_R = mpf(1)/3
v_kappa2 = mpf(3)/1
left = ceil((mpf(2) * sqrt(v_kappa2) * log(((sqrt((v_kappa2 + mpf(1))) / v_eps_t) * v_R))))
right = mpf(0)
print("hypothesis", 'kappa2 >= 3', bool((v_kappa2 >= mpf(3))))
print("hypothesis", 'R > 0', bool((v_R > mpf(0))))
print("hypothesis", 'eps_t > 0', bool((v_eps_t > mpf(0))))
print("hypothesis", 'R >= 0', bool((v_R >= mpf(0))))
print("hypothesis", 'kappa2 >= 1', bool((v_kappa2 >= mpf(1))))
refuted = not (left >= right) and bool((v_kappa2 >= mpf(3))) and bool((v_R > mpf(0))) and bool((v_eps_t > mpf(0))) and bool((v_R >= mpf(0))) and bool((v_kappa2 >= mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left >= right is", bool(left >= right))
raise SystemExit(0 if refuted else 1)
