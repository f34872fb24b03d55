"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_rho_tilde = mpf(1)/1
v_zeta = mpf(1)/2
v_d_x = mpf(1)/1
v_sigma = mpf(1)/1
v_eta = mpf(1)/1
v_theta = mpf(1)/2
v_B = mpf(2)/1
v_K = mpf(1)/1
v_r = mpf(4)/1
left = (((-(v_B ** mpf(2))) / (mpf(8) * v_eta)) + (v_sigma * v_B) + ((mpf(5) * v_eta * (v_sigma ** mpf(2)) * v_K) / mpf(8)))
right = ((-(v_B ** mpf(2))) / (mpf(8) * v_eta))
print("hypothesis", 'sigma <= rho_tilde*B*zeta*r*theta/(2*sqrt(d_x))', bool((v_sigma <= ((v_rho_tilde * v_B * v_zeta * v_r * v_theta) / (mpf(2) * sqrt(v_d_x))))))
print("hypothesis", 'rho_tilde > 0', bool((v_rho_tilde > mpf(0))))
print("hypothesis", 'zeta > 0', bool((v_zeta > mpf(0))))
print("hypothesis", 'zeta < 1', bool((v_zeta < mpf(1))))
print("hypothesis", 'd_x >= 1', bool((v_d_x >= mpf(1))))
print("hypothesis", 'sigma > 0', bool((v_sigma > mpf(0))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta < 1', bool((v_theta < mpf(1))))
print("hypothesis", 'B > 0', bool((v_B > mpf(0))))
print("hypothesis", 'K > 0', bool((v_K > mpf(0))))
print("hypothesis", 'r > 0', bool((v_r > mpf(0))))
refuted = not (left <= right) and bool((v_sigma <= ((v_rho_tilde * v_B * v_zeta * v_r * v_theta) / (mpf(2) * sqrt(v_d_x))))) and bool((v_rho_tilde > mpf(0))) and bool((v_zeta > mpf(0))) and bool((v_zeta < mpf(1))) and bool((v_d_x >= mpf(1))) and bool((v_sigma > mpf(0))) and bool((v_eta > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta < mpf(1))) and bool((v_B > mpf(0))) and bool((v_K > mpf(0))) and bool((v_r > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
