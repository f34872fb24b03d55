"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L = mpf(1)/1
v_theta = mpf(1)/10
v_lam_j = mpf(0)/1
left = ((((-mpf(1)) / mpf(2)) * (mpf(1) / (mpf(1) + ((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta))))) * ((((mpf(1) + (-v_theta)) ** mpf(3)) / (mpf(1) / (mpf(4) * v_L))) + (-(((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta)) * v_lam_j) / mpf(2))))) + (mpf(1) / (mpf(32) * (mpf(1) / (mpf(4) * v_L)))))
right = (((-mpf(1)) / mpf(2)) * ((((mpf(1) + (-v_theta)) ** mpf(3)) / (mpf(1) / (mpf(4) * v_L))) + (-(((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta)) * v_lam_j) / mpf(2))) + (-(mpf(1) / (mpf(16) * (mpf(1) / (mpf(4) * v_L)))))))
print("hypothesis", '1/(4*L) > 0', bool(((mpf(1) / (mpf(4) * v_L)) > mpf(0))))
print("hypothesis", '1/(1 + (1 - 2*theta)*(1 - theta)) >= 1/2', bool(((mpf(1) / (mpf(1) + ((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta))))) >= (mpf(1) / mpf(2)))))
print("hypothesis", '1/(1 + (1 - 2*theta)*(1 - theta)) <= 1', bool(((mpf(1) / (mpf(1) + ((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta))))) <= mpf(1))))
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'theta > 0', bool((v_theta > mpf(0))))
print("hypothesis", 'theta <= 1/10', bool((v_theta <= (mpf(1) / mpf(10)))))
print("hypothesis", 'lam_j >= -L', bool((v_lam_j >= (-v_L))))
print("hypothesis", 'lam_j <= L', bool((v_lam_j <= v_L)))
refuted = not (left <= right) and bool(((mpf(1) / (mpf(4) * v_L)) > mpf(0))) and bool(((mpf(1) / (mpf(1) + ((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta))))) >= (mpf(1) / mpf(2)))) and bool(((mpf(1) / (mpf(1) + ((mpf(1) + (-(mpf(2) * v_theta))) * (mpf(1) + (-v_theta))))) <= mpf(1))) and bool((v_L > mpf(0))) and bool((v_theta > mpf(0))) and bool((v_theta <= (mpf(1) / mpf(10)))) and bool((v_lam_j >= (-v_L))) and bool((v_lam_j <= v_L))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
