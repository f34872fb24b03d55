"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_eps = mpf(10)/1
v_M = mpf(1)/1
v_rho_bar = mpf(0)/1
v_s = mpf(1)/4
v_q = mpf(0)/1
left = ((((-v_M) / mpf(4)) * (v_s ** mpf(3))) + ((v_rho_bar / mpf(2)) * (v_s ** mpf(2)) * v_q) + (((mpf(1) / mpf(576)) + (mpf(1) / mpf(1152))) * v_eps * v_s) + (((((mpf(6) * v_M) / mpf(288)) + (mpf(4) * v_rho_bar)) / mpf(24)) * (v_s ** mpf(3))))
right = ((((-v_M) / mpf(72)) * (v_s ** mpf(3))) + (((mpf(13) * (v_rho_bar ** mpf(3))) / (v_M ** mpf(2))) * (v_q ** mpf(3))))
print("hypothesis", 'rho_bar <= M', bool((v_rho_bar <= v_M)))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'M > 0', bool((v_M > mpf(0))))
print("hypothesis", 'rho_bar >= 0', bool((v_rho_bar >= mpf(0))))
print("hypothesis", 's >= 0', bool((v_s >= mpf(0))))
print("hypothesis", 'q >= 0', bool((v_q >= mpf(0))))
refuted = not (left <= right) and bool((v_rho_bar <= v_M)) and bool((v_eps > mpf(0))) and bool((v_M > mpf(0))) and bool((v_rho_bar >= mpf(0))) and bool((v_s >= mpf(0))) and bool((v_q >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
