"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_kappa = mpf(1)/1
v_T = mpf(1)/1
v_Q_t = mpf(5)/1
v_E_0 = mpf(0)/1
left = ((((mpf(4) * sqrt((mpf(3) * v_kappa)) * v_T) / mpf(3)) * (((mpf(3) / v_T) * v_E_0) + v_Q_t)) + (mpf(2) * v_T))
right = ((((mpf(2) * sqrt((mpf(3) * v_kappa)) * v_T) / mpf(3)) * ((mpf(3) / v_T) * v_E_0)) + (((mpf(2) * sqrt((mpf(3) * v_kappa)) * v_T) / mpf(3)) * v_Q_t) + (mpf(2) * v_T))
print("hypothesis", 'Q_t >= log(8*(3*kappa + 1)**(3/2))', bool((v_Q_t >= log((mpf(8) * (((mpf(3) * v_kappa) + mpf(1)) ** (mpf(3) / mpf(2))))))))
print("hypothesis", 'kappa >= 1', bool((v_kappa >= mpf(1))))
print("hypothesis", 'T >= 1', bool((v_T >= mpf(1))))
print("hypothesis", 'Q_t > 0', bool((v_Q_t > mpf(0))))
print("hypothesis", 'E_0 >= 0', bool((v_E_0 >= mpf(0))))
refuted = not (left <= right) and bool((v_Q_t >= log((mpf(8) * (((mpf(3) * v_kappa) + mpf(1)) ** (mpf(3) / mpf(2))))))) and bool((v_kappa >= mpf(1))) and bool((v_T >= mpf(1))) and bool((v_Q_t > mpf(0))) and bool((v_E_0 >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
