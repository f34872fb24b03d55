"""A relation in several systems of units: the quotient of its sides must not change. mpmath only."""
from mpmath import mp, mpf, e, pi

mp.dps = 60


def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value


def sides(F, G, X):
    """Both sides; the arguments are the sizes of the base units."""
    v_eps = mpf(27)/11 * F ** (mpf(1)/1) * X ** (mpf(-1)/1)
    v_sigma = mpf(43)/18 * F ** (mpf(1)/1) * X ** (mpf(-1)/1)
    return v_sigma, (v_eps ** mpf(2))


one = sides(mpf(1), mpf(1), mpf(1))
print("in the first units", mp.nstr(one[0], 20), mp.nstr(one[1], 20), "quotient", mp.nstr(one[0] / one[1], 20))
changes = []
for k in (1, -1, 5, -5, 40, -40):
    s = mpf(2) ** k
    other = sides(s ** 1, s ** 3, s ** 5)
    changes.append(abs(other[0] / other[1] / (one[0] / one[1]) - 1))
    print("in other units", mp.nstr(other[0], 20), mp.nstr(other[1], 20), "quotient", mp.nstr(other[0] / other[1], 20))
print("largest change of the quotient: the factor 1 +", mp.nstr(max(changes), 10))
raise SystemExit(0 if max(changes) > mpf(10) ** -20 else 1)
