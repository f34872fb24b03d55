"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_mu = mpf(1)/1
v_ell = mpf(1)/1
v_Delta = mpf(1)/2
v_Delta_lam = mpf(1)/1
v_lam = mpf(2)/1
v_M = mpf(1)/5
v_P_3 = mpf(100)/1
v_D_0 = mpf(1)/1
left = (mpf(8) * v_P_3)
right = ((mpf(192) / v_M) * v_Delta)
print("hypothesis", 'P_3 <= 24*Delta_lam/M', bool((v_P_3 <= ((mpf(24) * v_Delta_lam) / v_M))))
print("hypothesis", 'Delta_lam <= Delta + D_0/lam', bool((v_Delta_lam <= (v_Delta + (v_D_0 / v_lam)))))
print("hypothesis", 'Delta > 0', bool((v_Delta > mpf(0))))
print("hypothesis", 'lam >= 2*ell/mu', bool((v_lam >= ((mpf(2) * v_ell) / v_mu))))
print("hypothesis", 'mu > 0', bool((v_mu > mpf(0))))
print("hypothesis", 'ell >= mu', bool((v_ell >= v_mu)))
print("hypothesis", 'Delta >= 0', bool((v_Delta >= mpf(0))))
print("hypothesis", 'Delta_lam >= 0', bool((v_Delta_lam >= mpf(0))))
print("hypothesis", 'lam > 0', bool((v_lam > mpf(0))))
print("hypothesis", 'M > 0', bool((v_M > mpf(0))))
print("hypothesis", 'P_3 >= 0', bool((v_P_3 >= mpf(0))))
print("hypothesis", 'D_0 >= 0', bool((v_D_0 >= mpf(0))))
refuted = not (left <= right) and bool((v_P_3 <= ((mpf(24) * v_Delta_lam) / v_M))) and bool((v_Delta_lam <= (v_Delta + (v_D_0 / v_lam)))) and bool((v_Delta > mpf(0))) and bool((v_lam >= ((mpf(2) * v_ell) / v_mu))) and bool((v_mu > mpf(0))) and bool((v_ell >= v_mu)) and bool((v_Delta >= mpf(0))) and bool((v_Delta_lam >= mpf(0))) and bool((v_lam > mpf(0))) and bool((v_M > mpf(0))) and bool((v_P_3 >= mpf(0))) and bool((v_D_0 >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
