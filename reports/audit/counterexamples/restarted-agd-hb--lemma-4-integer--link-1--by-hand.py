"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L = mpf(1)/1
v_rho = mpf(1)/100
v_eps = mpf(1)/1
v_K = mpf(2)/1
left = ((((-mpf(3)) * (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))) * (sqrt((v_eps / v_rho)) ** mpf(2))) / (mpf(8) * (mpf(1) / (mpf(4) * v_L)) * v_K)) + ((mpf(10) * (v_rho ** mpf(2)) * (sqrt((v_eps / v_rho)) ** mpf(4)) * (mpf(1) / (mpf(4) * v_L)) * v_K) / (mpf(2) * (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))))) + ((mpf(9)/2) * v_rho * (sqrt((v_eps / v_rho)) ** mpf(3))))
right = ((-(v_eps ** (mpf(3) / mpf(2)))) / sqrt(v_rho))
print("hypothesis", '4*(eps*rho*(1/(4*L))**2)**(1/4) < 1', bool(((mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))))
print("hypothesis", 'K >= 1/(4*(eps*rho*(1/(4*L))**2)**(1/4))', bool((v_K >= (mpf(1) / (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4))))))))
print("hypothesis", 'K < 1/(4*(eps*rho*(1/(4*L))**2)**(1/4)) + 1', bool((v_K < ((mpf(1) / (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4))))) + mpf(1)))))
print("hypothesis", '1/(4*L) > 0', bool(((mpf(1) / (mpf(4) * v_L)) > mpf(0))))
print("hypothesis", 'sqrt(eps/rho) > 0', bool((sqrt((v_eps / v_rho)) > mpf(0))))
print("hypothesis", '4*(eps*rho*(1/(4*L))**2)**(1/4) > 0', bool(((mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))) > mpf(0))))
print("hypothesis", 'L > 0', bool((v_L > mpf(0))))
print("hypothesis", 'rho > 0', bool((v_rho > mpf(0))))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'K >= 1', bool((v_K >= mpf(1))))
refuted = not (left <= right) and bool(((mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))) and bool((v_K >= (mpf(1) / (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4))))))) and bool((v_K < ((mpf(1) / (mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4))))) + mpf(1)))) and bool(((mpf(1) / (mpf(4) * v_L)) > mpf(0))) and bool((sqrt((v_eps / v_rho)) > mpf(0))) and bool(((mpf(4) * ((v_eps * v_rho * ((mpf(1) / (mpf(4) * v_L)) ** mpf(2))) ** (mpf(1) / mpf(4)))) > mpf(0))) and bool((v_L > mpf(0))) and bool((v_rho > mpf(0))) and bool((v_eps > mpf(0))) and bool((v_K >= mpf(1)))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
