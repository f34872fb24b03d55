"""A direction along which an order fails. Needs mpmath only; prints the ratio of the sides."""
from mpmath import mp, mpf, e, pi, sqrt

mp.dps = 60


def ratio(t):
    """The left side over the right side, order symbols left out."""
    v_Delta = t ** (mpf(0)/1)
    v_chi = t ** (mpf(1)/1)
    v_eps = t ** (mpf(0)/1)
    v_kappa = t ** (mpf(0)/1)
    v_rho_tilde = t ** (mpf(0)/1)
    return (v_kappa * (v_Delta * sqrt(v_rho_tilde) * (v_chi ** mpf(5)) * (v_eps ** ((-mpf(3)) / mpf(2))))) / (v_kappa * v_Delta * sqrt(v_rho_tilde) * (v_eps ** ((-mpf(3)) / mpf(2))))


values = [ratio(mpf(10) ** k) for k in (3, 6, 9, 12)]
for k, value in zip((3, 6, 9, 12), values):
    print("t = 1e%d" % k, "ratio", mp.nstr(value, 15))
steps = [mp.log(b / a) for a, b in zip(values, values[1:])]
endless = abs(steps[-1]) > abs(steps[0]) / 10  # steps towards a limit would shrink a thousandfold
raise SystemExit(0 if endless and (all(s > 0 for s in steps) or all(s < 0 for s in steps)) else 1)
