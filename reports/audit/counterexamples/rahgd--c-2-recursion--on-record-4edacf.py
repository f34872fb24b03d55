"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L_tilde = mpf(1)/1
v_eta = mpf(1)/1
v_theta = mpf(1)/2
v_lam_j = mpf(0)/1
v_om = mpf(0)/1
v_z = mpf(0)/1
v_dx = mpf(1)/1
v_a = mpf(0)/1
v_e = mpf(1)/1
left = (abs((((mpf(2) + (-v_theta)) * v_z) + (-((mpf(1) + (-v_theta)) * v_dx)) + (-(v_eta * (((v_lam_j + v_om) * (((mpf(2) + (-v_theta)) * v_z) + (-((mpf(1) + (-v_theta)) * v_dx)))) + (-v_a) + v_e))))) ** mpf(2))
right = (abs((((mpf(2) + (-v_theta)) * (mpf(1) + (-(v_eta * v_lam_j)) + (-(v_eta * v_om))) * v_z) + (-((mpf(1) + (-v_theta)) * (mpf(1) + (-(v_eta * v_lam_j)) + (-(v_eta * v_om))) * v_dx)) + (-(v_eta * (v_a + (-v_e)))))) ** mpf(2))
print("hypothesis", 'L_tilde > 0', bool((v_L_tilde > mpf(0))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta < 1', bool((v_theta < mpf(1))))
print("hypothesis", 'lam_j >= -L_tilde', bool((v_lam_j >= (-v_L_tilde))))
print("hypothesis", 'lam_j <= L_tilde', bool((v_lam_j <= v_L_tilde)))
refuted = not (left == right) and bool((v_L_tilde > mpf(0))) and bool((v_eta > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta < mpf(1))) and bool((v_lam_j >= (-v_L_tilde))) and bool((v_lam_j <= v_L_tilde))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
