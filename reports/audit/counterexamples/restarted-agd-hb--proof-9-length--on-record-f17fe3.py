"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, ceil, e, floor, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_K = mpf(4)/1
v_K_1 = mpf(2)/1
v_K_2 = mpf(2)/1
left = (v_K_2 + (-v_K_1) + mpf(1))
right = (v_K / mpf(3))
print("hypothesis", 'K_1 <= ceil(K/3)', bool((v_K_1 <= ceil((v_K / mpf(3))))))
print("hypothesis", 'K_2 >= floor(2*K/3)', bool((v_K_2 >= floor(((mpf(2) * v_K) / mpf(3))))))
print("hypothesis", 'K_2 <= K - 1', bool((v_K_2 <= (v_K + (-mpf(1))))))
print("hypothesis", 'K >= 2', bool((v_K >= mpf(2))))
print("hypothesis", 'K_1 >= 1', bool((v_K_1 >= mpf(1))))
print("hypothesis", 'K_2 >= 0', bool((v_K_2 >= mpf(0))))
refuted = not (left >= right) and bool((v_K_1 <= ceil((v_K / mpf(3))))) and bool((v_K_2 >= floor(((mpf(2) * v_K) / mpf(3))))) and bool((v_K_2 <= (v_K + (-mpf(1))))) and bool((v_K >= mpf(2))) and bool((v_K_1 >= mpf(1))) and bool((v_K_2 >= mpf(0)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left >= right is", bool(left >= right))
raise SystemExit(0 if refuted else 1)
