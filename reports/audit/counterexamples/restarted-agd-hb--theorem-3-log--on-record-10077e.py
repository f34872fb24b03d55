"""A direction along which an order fails. Needs mpmath only; prints the ratio of the sides."""
from mpmath import mp, mpf, e, log, pi

mp.dps = 60


def ratio(t):
    """The left side over the right side, order symbols left out."""
    v_Delta = mpf(2) ** -1 * t ** (mpf(0)/1)
    v_L = mpf(2) ** -1 * t ** (mpf(0)/1)
    v_d = mpf(2) ** 1 * t ** (mpf(0)/1)
    v_eps = mpf(2) ** -1 * t ** (mpf(-1)/1)
    v_rho = mpf(2) ** 1 * t ** (mpf(0)/1)
    v_zeta = mpf(2) ** -1 * t ** (mpf(0)/1)
    return ((v_Delta * (v_L ** (mpf(1) / mpf(2))) * (v_rho ** (mpf(1) / mpf(4))) * (log((v_d / (v_zeta * v_eps))) ** mpf(6))) / (v_eps ** (mpf(7) / mpf(4)))) / ((v_Delta * (v_L ** (mpf(1) / mpf(2))) * (v_rho ** (mpf(1) / mpf(4))) * log((v_d / (v_zeta * v_eps)))) / (v_eps ** (mpf(7) / mpf(4))))


values = [ratio(mpf(10) ** k) for k in (3, 6, 9, 12)]
for k, value in zip((3, 6, 9, 12), values):
    print("t = 1e%d" % k, "ratio", mp.nstr(value, 15))
steps = [mp.log(b / a) for a, b in zip(values, values[1:])]
endless = abs(steps[-1]) > abs(steps[0]) / 10  # steps towards a limit would shrink a thousandfold
raise SystemExit(0 if endless and (all(s > 0 for s in steps) or all(s < 0 for s in steps)) else 1)
