"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L_tilde = mpf(3)/1
v_sigma = mpf(1)/1
v_eta = mpf(1)/1
v_theta = mpf(1)/2
v_B = mpf(43)/10000
v_K = mpf(1)/1
v_C = mpf(1)/10
v_r = mpf(1)/10000
left = ((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C) + v_r)
right = ((mpf(2) * v_B) + (v_B ** mpf(2)) + (v_eta * v_sigma) + (v_eta * v_C))
print("hypothesis", 'r <= theta*B/(20*K)', bool((v_r <= ((v_theta * v_B) / (mpf(20) * v_K)))))
print("hypothesis", 'r <= L_tilde*B**2/(4*C)', bool((v_r <= ((v_L_tilde * (v_B ** mpf(2))) / (mpf(4) * v_C)))))
print("hypothesis", 'r <= (B + B**2)/sqrt(2)', bool((v_r <= ((v_B + (v_B ** mpf(2))) / sqrt(mpf(2))))))
print("hypothesis", 'L_tilde > 0', bool((v_L_tilde > mpf(0))))
print("hypothesis", 'sigma > 0', bool((v_sigma > mpf(0))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta < 1', bool((v_theta < mpf(1))))
print("hypothesis", 'B > 0', bool((v_B > mpf(0))))
print("hypothesis", 'K >= 1', bool((v_K >= mpf(1))))
print("hypothesis", 'C > 0', bool((v_C > mpf(0))))
print("hypothesis", 'r > 0', bool((v_r > mpf(0))))
refuted = not (left <= right) and bool((v_r <= ((v_theta * v_B) / (mpf(20) * v_K)))) and bool((v_r <= ((v_L_tilde * (v_B ** mpf(2))) / (mpf(4) * v_C)))) and bool((v_r <= ((v_B + (v_B ** mpf(2))) / sqrt(mpf(2))))) and bool((v_L_tilde > mpf(0))) and bool((v_sigma > mpf(0))) and bool((v_eta > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta < mpf(1))) and bool((v_B > mpf(0))) and bool((v_K >= mpf(1))) and bool((v_C > mpf(0))) and bool((v_r > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
