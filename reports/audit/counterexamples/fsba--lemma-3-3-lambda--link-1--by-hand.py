"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_mu = mpf(1)/2
v_ell = mpf(1)/2
v_ellbar = mpf(1)/2
v_eps = mpf(1)/1
v_Delta = mpf(1)/1
v_M = mpf(1)/1
v_kappa = mpf(1)/1
left = max(((v_ellbar * ((v_ellbar / v_mu) ** mpf(2))) / v_Delta), ((v_ellbar * ((v_ellbar / v_mu) ** mpf(3))) / v_eps), ((v_ellbar * ((v_ellbar / v_mu) ** mpf(5))) / sqrt((v_M * v_eps))))
right = ((mpf(2) * v_ell) / v_mu)
print("hypothesis", 'ellbar >= ell', bool((v_ellbar >= v_ell)))
print("hypothesis", 'Delta > 0', bool((v_Delta > mpf(0))))
print("hypothesis", 'ellbar/mu >= 1', bool(((v_ellbar / v_mu) >= mpf(1))))
print("hypothesis", 'mu > 0', bool((v_mu > mpf(0))))
print("hypothesis", 'ell >= mu', bool((v_ell >= v_mu)))
print("hypothesis", 'ellbar > 0', bool((v_ellbar > mpf(0))))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'Delta >= 0', bool((v_Delta >= mpf(0))))
print("hypothesis", 'M > 0', bool((v_M > mpf(0))))
refuted = not (left >= right) and bool((v_ellbar >= v_ell)) and bool((v_Delta > mpf(0))) and bool(((v_ellbar / v_mu) >= mpf(1))) and bool((v_mu > mpf(0))) and bool((v_ell >= v_mu)) and bool((v_ellbar > mpf(0))) and bool((v_eps > mpf(0))) and bool((v_Delta >= mpf(0))) and bool((v_M > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left >= right is", bool(left >= right))
raise SystemExit(0 if refuted else 1)
