"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_mu_p = mpf(1)/5
v_ell_p = mpf(1)/5
print("hypothesis", 'mu_p > 0', bool((v_mu_p > mpf(0))))
print("hypothesis", 'ell_p >= mu_p', bool((v_ell_p >= v_mu_p)))
print("hypothesis", 'ell_p < 1', bool((v_ell_p < mpf(1))))
print("a part of the formula is defined:", bool((abs((v_ell_p + (-v_mu_p))) > mpf(0))))
for name, side in (("left ", lambda: (((-mpf(2)) / (v_ell_p + (-v_mu_p))) * (v_mu_p + (-((v_ell_p + v_mu_p) / mpf(2)))))), ("right", lambda: ((mpf(2) / (v_ell_p + (-v_mu_p))) * (v_ell_p + (-((v_ell_p + v_mu_p) / mpf(2)))))), ):
    try:
        print(name, mp.nstr(side(), 30))
    except (ArithmeticError, ValueError) as error:
        print(name, "is not defined:", error)
refuted = not (abs((v_ell_p + (-v_mu_p))) > mpf(0)) and bool((v_mu_p > mpf(0))) and bool((v_ell_p >= v_mu_p)) and bool((v_ell_p < mpf(1)))
raise SystemExit(0 if refuted else 1)
