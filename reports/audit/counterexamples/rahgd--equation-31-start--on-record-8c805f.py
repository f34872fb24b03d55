"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_kappa = mpf(1)/1
v_L_tilde = mpf(1)/1
v_rho_tilde = mpf(1)/1
v_eps = mpf(1)/1
v_Delta = mpf(0)/1
v_norm_y0 = mpf(1)/1
v_sigma = mpf(3)/1
v_eta = mpf(1)/1
v_B = mpf(1)/1
v_C = mpf(1)/1
left = (((mpf(2) * v_L_tilde * sqrt((v_kappa + mpf(1)))) / v_sigma) * (v_norm_y0 + (((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)) * v_kappa * v_Delta * sqrt(v_rho_tilde) * (v_eps ** ((-mpf(3)) / mpf(2))))))
right = mpf(1)
print("hypothesis", 'norm_y0 + (2*B + eta*sigma + eta*C)*kappa*Delta*sqrt(rho_tilde)*eps**(-3/2) > 0', bool(((v_norm_y0 + (((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)) * v_kappa * v_Delta * sqrt(v_rho_tilde) * (v_eps ** ((-mpf(3)) / mpf(2))))) > mpf(0))))
print("hypothesis", 'kappa >= 1', bool((v_kappa >= mpf(1))))
print("hypothesis", 'L_tilde > 0', bool((v_L_tilde > mpf(0))))
print("hypothesis", 'rho_tilde > 0', bool((v_rho_tilde > mpf(0))))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'Delta >= 0', bool((v_Delta >= mpf(0))))
print("hypothesis", 'norm_y0 >= 0', bool((v_norm_y0 >= mpf(0))))
print("hypothesis", 'sigma > 0', bool((v_sigma > mpf(0))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'B > 0', bool((v_B > mpf(0))))
print("hypothesis", 'C > 0', bool((v_C > mpf(0))))
refuted = not (left > right) and bool(((v_norm_y0 + (((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)) * v_kappa * v_Delta * sqrt(v_rho_tilde) * (v_eps ** ((-mpf(3)) / mpf(2))))) > mpf(0))) and bool((v_kappa >= mpf(1))) and bool((v_L_tilde > mpf(0))) and bool((v_rho_tilde > mpf(0))) and bool((v_eps > mpf(0))) and bool((v_Delta >= mpf(0))) and bool((v_norm_y0 >= mpf(0))) and bool((v_sigma > mpf(0))) and bool((v_eta > mpf(0))) and bool((v_B > mpf(0))) and bool((v_C > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left > right is", bool(left > right))
raise SystemExit(0 if refuted else 1)
