"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


v_L_tilde = mpf(1)/1
v_rho_tilde = mpf(1)/1
v_eps = mpf(1)/1
v_chi = mpf(1)/1
v_q_s = mpf(1)/100
left = ((((-((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4))))) * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) / (mpf(4) * (mpf(1) / (mpf(4) * v_L_tilde)) * ((mpf(2) * v_chi) / ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4))))))) + (((mpf(5) * (mpf(1) / (mpf(4) * v_L_tilde)) * ((mpf(2) * v_chi) / ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))))) / (mpf(2) * ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))))) * (((mpf(2) * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) + (v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2)))) ** mpf(2))) + ((v_rho_tilde / mpf(6)) * (((mpf(3) * ((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde)))) + ((mpf(1) / (mpf(4) * v_L_tilde)) * (v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))))) ** mpf(3))) + ((((mpf(1) / (mpf(4) * v_L_tilde)) * ((mpf(2) * v_chi) / ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))))) / (mpf(2) * ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))))) * ((v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) ** mpf(2))) + (((v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) / mpf(4)))
right = ((-(v_eps ** (mpf(3)/2))) / (mpf(663552) * sqrt(v_rho_tilde) * (v_chi ** mpf(5))))
print("hypothesis", 'chi >= 1', bool((v_chi >= mpf(1))))
print("hypothesis", '1/2*(rho_tilde*eps*(1/(4*L_tilde))**2)**(1/4) < 1', bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))))
print("hypothesis", '1/(4*L_tilde) > 0', bool(((mpf(1) / (mpf(4) * v_L_tilde)) > mpf(0))))
print("hypothesis", '1/(288*chi**2)*sqrt(eps/rho_tilde) > 0', bool((((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) > mpf(0))))
print("hypothesis", '1/2*(rho_tilde*eps*(1/(4*L_tilde))**2)**(1/4) > 0', bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) > mpf(0))))
print("hypothesis", '1/2*(rho_tilde*eps*(1/(4*L_tilde))**2)**(1/4) < 1', bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))))
print("hypothesis", '2*chi/(1/2*(rho_tilde*eps*(1/(4*L_tilde))**2)**(1/4)) > 0', bool((((mpf(2) * v_chi) / ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4))))) > mpf(0))))
print("hypothesis", 'q_s*rho_tilde*(1/(288*chi**2)*sqrt(eps/rho_tilde))**2 > 0', bool(((v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) > mpf(0))))
print("hypothesis", 'L_tilde > 0', bool((v_L_tilde > mpf(0))))
print("hypothesis", 'rho_tilde > 0', bool((v_rho_tilde > mpf(0))))
print("hypothesis", 'eps > 0', bool((v_eps > mpf(0))))
print("hypothesis", 'chi >= 1', bool((v_chi >= mpf(1))))
print("hypothesis", 'q_s > 0', bool((v_q_s > mpf(0))))
print("hypothesis", 'q_s <= 1/80', bool((v_q_s <= (mpf(1) / mpf(80)))))
refuted = not (left <= right) and bool((v_chi >= mpf(1))) and bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))) and bool(((mpf(1) / (mpf(4) * v_L_tilde)) > mpf(0))) and bool((((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) > mpf(0))) and bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) > mpf(0))) and bool((((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4)))) < mpf(1))) and bool((((mpf(2) * v_chi) / ((mpf(1) / mpf(2)) * ((v_rho_tilde * v_eps * ((mpf(1) / (mpf(4) * v_L_tilde)) ** mpf(2))) ** (mpf(1) / mpf(4))))) > mpf(0))) and bool(((v_q_s * v_rho_tilde * (((mpf(1) / (mpf(288) * (v_chi ** mpf(2)))) * sqrt((v_eps / v_rho_tilde))) ** mpf(2))) > mpf(0))) and bool((v_L_tilde > mpf(0))) and bool((v_rho_tilde > mpf(0))) and bool((v_eps > mpf(0))) and bool((v_chi >= mpf(1))) and bool((v_q_s > mpf(0))) and bool((v_q_s <= (mpf(1) / mpf(80))))
print("left ", mp.nstr(left, 30))
print("right", mp.nstr(right, 30))
print("left <= right is", bool(left <= right))
raise SystemExit(0 if refuted else 1)
