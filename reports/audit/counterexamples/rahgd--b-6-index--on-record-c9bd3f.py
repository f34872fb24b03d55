"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_sigma = mpf(1)/1
v_eta = mpf(1)/1
v_B = mpf(1)/1
v_C = mpf(1)/1
v_b = mpf(1)/1
v_c = mpf(0)/1
left = (v_b + ((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)))
right = (v_c + ((mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)))
print("hypothesis", 'b <= c + 2*B + eta*sigma + eta*C', bool((v_b <= (v_c + (mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)))))
print("hypothesis", 'sigma > 0', bool((v_sigma > mpf(0))))
print("hypothesis", 'eta > 0', bool((v_eta > mpf(0))))
print("hypothesis", 'B > 0', bool((v_B > mpf(0))))
print("hypothesis", 'C > 0', bool((v_C > mpf(0))))
print("hypothesis", 'b >= 0', bool((v_b >= mpf(0))))
print("hypothesis", 'c >= 0', bool((v_c >= mpf(0))))
refuted = not (left <= right) and bool((v_b <= (v_c + (mpf(2) * v_B) + (v_eta * v_sigma) + (v_eta * v_C)))) and bool((v_sigma > mpf(0))) and bool((v_eta > mpf(0))) and bool((v_B > mpf(0))) and bool((v_C > mpf(0))) and bool((v_b >= mpf(0))) and bool((v_c >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
