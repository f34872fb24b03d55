"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L_f = mpf(1)/1
v_L_g = mpf(1)/1
v_D = mpf(1)/1
v_R = mpf(1)/1
v_k = mpf(2)/1
left = (total(lambda v_i: ((((v_i + mpf(1)) / (mpf(4) * v_L_f)) * mpf(2) * v_L_g * (v_R ** mpf(2))) / ((v_i + mpf(1)) ** mpf(2))), mpf(0), (v_k + (-mpf(1)))) + ((v_L_g / (mpf(4) * v_L_f)) * v_k * (v_D ** mpf(2))))
right = (((v_L_g / (mpf(2) * v_L_f)) * (v_R ** mpf(2)) * (log(v_k) + mpf(1))) + ((v_L_g / (mpf(4) * v_L_f)) * (v_D ** mpf(2)) * v_k))
print("hypothesis", 'L_f > 0', bool((v_L_f > mpf(0))))
print("hypothesis", 'L_g > 0', bool((v_L_g > mpf(0))))
print("hypothesis", 'D > 0', bool((v_D > mpf(0))))
print("hypothesis", 'R >= 0', bool((v_R >= mpf(0))))
print("hypothesis", 'k >= 1', bool((v_k >= mpf(1))))
refuted = not (left == right) and bool((v_L_f > mpf(0))) and bool((v_L_g > mpf(0))) and bool((v_D > mpf(0))) and bool((v_R >= mpf(0))) and bool((v_k >= mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left == right is", bool(left == right))
raise SystemExit(0 if refuted else 1)
