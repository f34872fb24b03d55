"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_nu_f = mpf(0)/1
v_L = mpf(4)/1
v_H_nu = mpf(1)/1
v_S_1 = mpf(0)/1
v_k = mpf(2)/1
print("hypothesis", 'k**(4 + nu_f)*H_nu**2*S_1**nu_f <= L**2', bool((((v_k ** (mpf(4) + v_nu_f)) * (v_H_nu ** mpf(2)) * (v_S_1 ** v_nu_f)) <= (v_L ** mpf(2)))))
print("hypothesis", 'nu_f >= 0', bool((v_nu_f >= mpf(0))))
print("hypothesis", 'nu_f <= 1', bool((v_nu_f <= mpf(1))))
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'H_nu > 0', bool((v_H_nu > mpf(0))))
print("hypothesis", 'S_1 >= 0', bool((v_S_1 >= mpf(0))))
print("hypothesis", 'k >= 2', bool((v_k >= mpf(2))))
print("a part of the formula is defined:", bool((abs(v_nu_f) > mpf(0))))
for name, side in (("left ", lambda: sqrt((v_k * v_S_1))), ("right", lambda: ((v_L / v_H_nu) ** (mpf(1) / v_nu_f))), ):
    try:
        print(name, mp.nstr(side(), 30))
    except (ArithmeticError, ValueError) as error:
        print(name, "is not defined:", error)
refuted = not (abs(v_nu_f) > mpf(0)) and bool((((v_k ** (mpf(4) + v_nu_f)) * (v_H_nu ** mpf(2)) * (v_S_1 ** v_nu_f)) <= (v_L ** mpf(2)))) and bool((v_nu_f >= mpf(0))) and bool((v_nu_f <= mpf(1))) and bool((v_L > mpf(0))) and bool((v_H_nu > mpf(0))) and bool((v_S_1 >= mpf(0))) and bool((v_k >= mpf(2)))
raise SystemExit(0 if refuted else 1)
