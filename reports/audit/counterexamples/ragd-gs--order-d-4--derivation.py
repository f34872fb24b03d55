"""A direction along which an order fails. Needs mpmath only; prints the ratio of the sides."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def ratio(t):
    """The left side over the right side, order symbols left out."""
    v_L_f = t ** (mpf(-1)/1)
    v_ell = mpf(2) ** 1 * t ** (mpf(0)/1)
    v_kappa = mpf(2) ** 1 * t ** (mpf(0)/1)
    v_nu_g = mpf(0)/1
    return ((((mpf(2) * v_ell) / ((v_ell / v_kappa) ** mpf(2))) * (((v_ell / v_kappa) / (mpf(2) * v_L_f)) ** (mpf(1) + (-v_nu_g))) * ((mpf(1) + (v_ell / (v_ell / v_kappa))) ** mpf(2)) * (v_L_f + ((v_ell * v_ell) / (v_ell / v_kappa)))) + (((mpf(14) * v_ell * v_ell * (v_kappa ** mpf(3))) / ((v_ell / v_kappa) ** mpf(2))) * (((v_ell / v_kappa) / (mpf(2) * v_L_f)) ** (mpf(1) + (-v_nu_g)))) + (((mpf(50) * (v_ell ** mpf(2))) / ((v_ell / v_kappa) ** mpf(3))) * ((v_ell * (((v_ell / v_kappa) / (mpf(2) * v_L_f)) ** (mpf(1) + (-v_nu_g)))) + (v_ell * ((v_ell / (v_ell / v_kappa)) ** v_nu_g))))) / (v_kappa ** (mpf(4) + v_nu_g))


values = [ratio(mpf(10) ** k) for k in (3, 6, 9, 12)]
for k, value in zip((3, 6, 9, 12), values):
    print("t = 1e%d" % k, "ratio", mp.nstr(value, 15))
steps = [mp.log(b / a) for a, b in zip(values, values[1:])]
endless = abs(steps[-1]) > abs(steps[0]) / 10  # steps towards a limit would shrink a thousandfold
raise SystemExit(0 if endless and (all(s > 0 for s in steps) or all(s < 0 for s in steps)) else 1)
