"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_mu = mpf(2)/1
v_ell = mpf(2)/1
v_rho = mpf(1)/1
v_lam = mpf(2)/1
left = ((v_lam * v_rho) + (v_lam * (((mpf(2) * v_ell * v_rho) / v_mu) + (((v_ell ** mpf(2)) * v_rho) / (v_mu ** mpf(2))))))
right = ((v_lam * v_rho) + ((mpf(2) * v_ell * v_rho) / v_mu) + (((v_ell ** mpf(2)) * v_rho) / (v_mu ** mpf(2))))
print("hypothesis", 'lam >= 2*ell/mu', bool((v_lam >= ((mpf(2) * v_ell) / v_mu))))
print("hypothesis", 'mu > 0', bool((v_mu > mpf(0))))
print("hypothesis", 'ell >= mu', bool((v_ell >= v_mu)))
print("hypothesis", 'rho >= 0', bool((v_rho >= mpf(0))))
print("hypothesis", 'lam > 0', bool((v_lam > mpf(0))))
refuted = not (left <= right) and bool((v_lam >= ((mpf(2) * v_ell) / v_mu))) and bool((v_mu > mpf(0))) and bool((v_ell >= v_mu)) and bool((v_rho >= mpf(0))) and bool((v_lam > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
