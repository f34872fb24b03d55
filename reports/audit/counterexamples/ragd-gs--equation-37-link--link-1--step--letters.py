"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_nu_f = mpf(0)/1
v_Delta_lam = mpf(1)/1
v_L = mpf(1)/1
v_H_nu = mpf(2)/1
v_e_1 = mpf(1)/1
left = (v_Delta_lam / ((mpf(1) / mpf(100)) * (v_L ** ((-mpf(1)) / mpf(2))) * (v_e_1 ** ((mpf(4) + (mpf(3) * v_nu_f)) / (mpf(2) + (mpf(2) * v_nu_f)))) * (v_H_nu ** ((-mpf(1)) / (mpf(2) + (mpf(2) * v_nu_f))))))
right = (mpf(100) * v_Delta_lam * (v_L ** (mpf(1) / mpf(2))) * (v_H_nu ** ((-mpf(1)) / (mpf(2) + (mpf(2) * v_nu_f)))) * (v_e_1 ** ((-(mpf(4) + (mpf(3) * v_nu_f))) / (mpf(2) + (mpf(2) * v_nu_f)))))
print("hypothesis", 'nu_f >= 0', bool((v_nu_f >= mpf(0))))
print("hypothesis", 'nu_f <= 1', bool((v_nu_f <= mpf(1))))
print("hypothesis", 'Delta_lam >= 0', bool((v_Delta_lam >= mpf(0))))
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'H_nu > 0', bool((v_H_nu > mpf(0))))
print("hypothesis", 'e_1 > 0', bool((v_e_1 > mpf(0))))
refuted = not (left <= right) and bool((v_nu_f >= mpf(0))) and bool((v_nu_f <= mpf(1))) and bool((v_Delta_lam >= mpf(0))) and bool((v_L > mpf(0))) and bool((v_H_nu > mpf(0))) and bool((v_e_1 > mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
