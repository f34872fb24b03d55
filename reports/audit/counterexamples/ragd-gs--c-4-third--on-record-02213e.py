"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_nu_g = mpf(1)/1
v_mu = mpf(1)/1
v_M_g = mpf(1)/1
v_C_f = mpf(1)/1
v_rho_f = mpf(0)/1
v_lam = mpf(1)/1
v_delta_x = mpf(1)/2
left = ((v_M_g * (v_delta_x ** v_nu_g)) + (v_rho_f / v_lam))
right = ((v_rho_f / v_lam) + (v_M_g * ((v_C_f / (v_lam * v_mu)) ** v_nu_g)))
print("hypothesis", 'delta_x <= C_f/(lam*mu)', bool((v_delta_x <= (v_C_f / (v_lam * v_mu)))))
print("hypothesis", 'delta_x > 0', bool((v_delta_x > mpf(0))))
print("hypothesis", 'nu_g >= 0', bool((v_nu_g >= mpf(0))))
print("hypothesis", 'nu_g <= 1', bool((v_nu_g <= mpf(1))))
print("hypothesis", 'mu > 0', bool((v_mu > mpf(0))))
print("hypothesis", 'M_g >= 0', bool((v_M_g >= mpf(0))))
print("hypothesis", 'C_f >= 0', bool((v_C_f >= mpf(0))))
print("hypothesis", 'rho_f >= 0', bool((v_rho_f >= mpf(0))))
print("hypothesis", 'lam > 0', bool((v_lam > mpf(0))))
print("hypothesis", 'delta_x >= 0', bool((v_delta_x >= mpf(0))))
refuted = not (left == right) and bool((v_delta_x <= (v_C_f / (v_lam * v_mu)))) and bool((v_delta_x > mpf(0))) and bool((v_nu_g >= mpf(0))) and bool((v_nu_g <= mpf(1))) and bool((v_mu > mpf(0))) and bool((v_M_g >= mpf(0))) and bool((v_C_f >= mpf(0))) and bool((v_rho_f >= mpf(0))) and bool((v_lam > mpf(0))) and bool((v_delta_x >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
