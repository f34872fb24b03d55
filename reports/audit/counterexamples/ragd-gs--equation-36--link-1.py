"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_nu_f = mpf(1)/100
v_L = mpf(13000)/1
v_H_nu = mpf(12)/1
v_S = mpf(1)/1
v_k = mpf(32)/1
left = v_S
right = ((((v_L ** mpf(2)) / (v_k ** (mpf(4) + v_nu_f))) / (v_H_nu ** mpf(2))) ** (mpf(1) / v_nu_f))
print("hypothesis", '(k + 1)**(4 + nu_f)*H_nu**2*S**nu_f > L**2', bool(((((v_k + mpf(1)) ** (mpf(4) + v_nu_f)) * (v_H_nu ** mpf(2)) * (v_S ** v_nu_f)) > (v_L ** mpf(2)))))
print("hypothesis", 'nu_f >= 0', bool((v_nu_f >= mpf(0))))
print("hypothesis", 'nu_f <= 1', bool((v_nu_f <= mpf(1))))
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'H_nu > 0', bool((v_H_nu > mpf(0))))
print("hypothesis", 'S >= 0', bool((v_S >= mpf(0))))
print("hypothesis", 'k >= 1', bool((v_k >= mpf(1))))
refuted = not (left > right) and bool(((((v_k + mpf(1)) ** (mpf(4) + v_nu_f)) * (v_H_nu ** mpf(2)) * (v_S ** v_nu_f)) > (v_L ** mpf(2)))) and bool((v_nu_f >= mpf(0))) and bool((v_nu_f <= mpf(1))) and bool((v_L > mpf(0))) and bool((v_H_nu > mpf(0))) and bool((v_S >= mpf(0))) and bool((v_k >= mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left > right is", bool(left > right))
raise SystemExit(0 if refuted else 1)
