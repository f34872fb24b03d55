"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_rho = mpf(1)/1
v_kappa = mpf(1)/1
v_eps = mpf(1)/1
v_m = mpf(1)/1
left = sqrt(((mpf(8) * (v_m + mpf(1)) * mpf(4) * sqrt(mpf(2)) * (v_kappa ** mpf(3)) * v_rho) * (mpf(2) ** ((-mpf(5)) / mpf(2))) * v_eps))
right = ((v_kappa ** (mpf(3) / mpf(2))) * sqrt((v_m * v_rho * v_eps)))
print("hypothesis", '8*(m + 1)*4*sqrt(2)*kappa**3*rho > 0', bool(((mpf(8) * (v_m + mpf(1)) * mpf(4) * sqrt(mpf(2)) * (v_kappa ** mpf(3)) * v_rho) > mpf(0))))
print("hypothesis", 'rho > 0', bool((v_rho > mpf(0))))
print("hypothesis", 'kappa >= 1', bool((v_kappa >= mpf(1))))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'm >= 1', bool((v_m >= mpf(1))))
refuted = not (left <= right) and bool(((mpf(8) * (v_m + mpf(1)) * mpf(4) * sqrt(mpf(2)) * (v_kappa ** mpf(3)) * v_rho) > mpf(0))) and bool((v_rho > mpf(0))) and bool((v_kappa >= mpf(1))) and bool((v_eps > mpf(0))) and bool((v_m >= mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
