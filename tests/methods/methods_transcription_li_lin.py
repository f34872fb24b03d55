"""Li & Lin, Algorithms 1 to 7 and section 5.2, line by line from the sheet, with NumPy; and convex until guilty."""

from __future__ import annotations

import itertools
import math

import numpy as np

norm = np.linalg.norm


class Tie(Exception):
    """A branch that rounding decides: the case says nothing about the method."""


class Endless(Exception):
    """The printed loop goes round and round at these parameters; ``rows`` is what it wrote before we stopped it."""

    def __init__(self, rows):
        super().__init__(f"no end within {len(rows)} steps")
        self.rows = rows


class Rows(dict):
    """(t, k) -> {sequence: point}; refuses to grow for ever, since parameters no theorem prescribes may never end."""

    MOST = 20_000
    exploited = 0

    def put(self, t, k, **points):
        if len(self) >= self.MOST:
            raise Endless(self)
        self.setdefault((t, k), {}).update({name: np.array(point, dtype=float) for name, point in points.items()})


def _average(K, moves, points):
    """Lines 10 and 11 of Algorithm 1, by brute force."""
    best = min(range(K // 2, K), key=lambda k: (moves[k], k))
    return sum(points[: best + 1]) / (best + 1)


def gradient_descent(p, eta, N, eps=None):
    rows, x, k = Rows(), p.x0.copy(), 0
    while True:
        rows.put(0, k, x=x)
        if k == N:
            break
        g = p.grad(x)
        if eps is not None and norm(g) <= eps:
            break
        x = x - eta * g
        k += 1
    return rows, x


def gd_frame(p, eta, B, K):
    rows, x, t = Rows(), p.x0.copy(), 0
    while True:
        xs, restarted = [x], False
        for k in range(K):
            xs.append(xs[-1] - eta * p.grad(xs[-1]))
            if (k + 1) * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                restarted = True
                break
        for k, point in enumerate(xs):
            rows.put(t, k, x=point)
        if not restarted:
            return rows, sum(xs[:K]) / K
        x, t = xs[-1], t + 1


def restarted_agd(p, eta, theta, B, K, noise=None):
    """Algorithm 1; with noise the perturbed line 7 of section 2.2."""
    rows, x_int, t, used = Rows(), p.x0.copy(), 0, 0
    while True:
        xs, ys, k = [x_int], [], 0  # xs[k] = x^k, x^{-1} = x^0
        while k < K:
            previous = xs[k - 1] if k > 0 else xs[0]
            ys.append(xs[k] + (1 - theta) * (xs[k] - previous))
            g = p.grad(ys[k])
            xs.append(ys[k] - eta * g)
            rows.put(t, k, x=xs[k], y=ys[k])
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                break
        else:
            rows.put(t, k, x=xs[k])
            return rows, _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], ys)
        rows.put(t, k, x=xs[k])
        x_int = xs[k]
        if noise is not None and norm(g) <= B / eta:
            x_int = x_int + noise[used % len(noise)]
            used += 1
        t += 1


def restarted_hb(p, eta, theta, B, K):
    """Algorithm 3."""
    rows, start, t = Rows(), p.x0.copy(), 0
    while True:
        xs, k = [start], 0
        while k < K:
            previous = xs[k - 1] if k > 0 else xs[0]
            xs.append(xs[k] - eta * p.grad(xs[k]) + (1 - theta) * (xs[k] - previous))
            rows.put(t, k, x=xs[k])
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                break
        else:
            rows.put(t, k, x=xs[k])
            return rows, _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], xs[:K])
        weight = (1 - 2 * theta) * (1 - theta)
        start = (xs[k] + weight * xs[k - 1]) / (1 + weight)
        rows.put(t, k, x=xs[k], z=start)
        t += 1


def practical(p, eta, theta, B, K, B0, c, eps, L, rho, heavy=False, unknown=None, noise=None):
    """Algorithms 2 and 4; ``unknown = (c1, c2, c3)``: Remark 2; with noise the perturbed restart of section 2.2."""
    rows, current, t, used = Rows(), p.x0.copy(), 0, 0
    while True:
        xs, ys, k, ended = [current], [], 0, False
        while k < K or B0 > B:
            previous = xs[k - 1] if k > 0 else xs[0]
            if heavy:
                ys.append(xs[k])
                xs.append(xs[k] - eta * p.grad(xs[k]) + (1 - theta) * (xs[k] - previous))
                rows.put(t, k, x=xs[k])
            else:
                ys.append(xs[k] + (1 - theta) * (xs[k] - previous))
                g = p.grad(ys[k])
                xs.append(ys[k] - eta * g)
                rows.put(t, k, x=xs[k], y=ys[k])
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > max(B**2, B0**2) or k > K:
                ended = True
                break
        rows.put(t, k, x=xs[k])
        if not ended:
            average = _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], ys)
            first, second = norm(p.grad(xs[K])), norm(p.grad(average))
            return rows, xs[K] if first <= second else average
        if heavy:
            weight = (1 - 2 * theta) * (1 - theta)
            end = (xs[k] + weight * xs[k - 1]) / (1 + weight)
            rows.put(t, k, z=end)
            threshold = min(eps**1.5 / math.sqrt(rho), 3 * eps * L / (16 * rho))
        else:
            end, threshold = xs[k], min(eps**1.5 / math.sqrt(rho), eps * L / rho)
        if p.f(end) - p.f(xs[0]) <= -threshold:
            current = end
            if noise is not None and norm(g) <= B / eta:
                current = end + noise[used % len(noise)]
                used += 1
        elif unknown is None:
            B0 = B0 / c
        else:
            B0, L, rho = B0 / unknown[0], L * unknown[1], rho * unknown[2]
            eta = 1 / (4 * L)
            theta = (10 if heavy else 4) * (eps * rho * eta**2) ** 0.25
            B = math.sqrt(eps / (4 * rho)) if heavy else math.sqrt(eps / rho)
            K = math.ceil(1 / theta)
        t += 1


def agd_jin(p, eta, theta, B, K, gamma, s):
    """Algorithms 5 and 6."""
    rows, x, v, t = Rows(), p.x0.copy(), np.zeros(p.dx), 0
    while True:
        xs, ys, vs, k = [x], [], [v], 0
        while k < K:
            ys.append(xs[k] + (1 - theta) * vs[k])
            g = p.grad(ys[k])
            rows.put(t, k, x=xs[k], y=ys[k], v=vs[k])
            new = ys[k] - eta * g
            case = 0
            gap = xs[k] - ys[k]
            left, right = p.f(xs[k]), p.f(ys[k]) + g @ gap - gamma / 2 * norm(gap) ** 2
            if k + t > 0 and abs(left - right) < 1e-13 and gap.any():
                raise Tie
            if left < right:
                new, case = _exploit(p, xs[k], vs[k], s), 1
                rows.exploited += 1
            elif (k + 1) * (sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) + norm(new - xs[k]) ** 2) > B**2:
                case = 2
            xs.append(new)
            vs.append(np.zeros(p.dx) if case == 1 else new - xs[k])
            k += 1
            if case:
                break
        rows.put(t, k, x=xs[k])
        if not case:
            first = min(range(1, math.ceil(K / 3) + 1), key=lambda j: (norm(xs[j] - xs[j - 1]), j))
            last = min(range(2 * K // 3, K), key=lambda j: (norm(xs[j + 1] - xs[j]), j))
            return rows, sum(ys[first : last + 1]) / (last - first + 1)
        x, v, t = xs[k], vs[k], t + 1


def _exploit(p, x, v, s):
    if norm(v) >= s:
        return x
    delta = s * v / norm(v)
    return x + delta if p.f(x + delta) <= p.f(x - delta) else x - delta


def average_on_the_fly(xs, ys, K):
    """Algorithm 7 as printed: xs has K+1 points, ys K."""
    S1, S2, K0 = 0.0, 0.0, 0
    for k in range(K):
        if k <= K // 2:
            S1, K0 = S1 + ys[k], k
        elif norm(xs[K0 + 1] - xs[K0]) < norm(xs[k + 1] - xs[k]):
            S2 = S2 + ys[k]
        else:
            S1, S2, K0 = S1 + S2 + ys[k], 0.0, k
    return S1 / (K0 + 1)


def until_guilty(p, L, rho, eps, most=200):
    """Section 3.11; epoch t = k - 1 of the outer loop, rows (t, i) hold x_i and y_i."""
    alpha = 2 * math.sqrt(rho * eps)
    eta_nc = alpha / rho
    rows, centre, t = Rows(), p.x0.copy(), 0
    while t < most:
        value = lambda z: p.f(z) + alpha * norm(z - centre) ** 2  # noqa: B023
        slope = lambda z: p.grad(z) + 2 * alpha * (z - centre)  # noqa: B023
        xs, ys, u, v = _agd_until_guilty(value, slope, centre, eps / 10, L + 2 * alpha, alpha)
        for i, (x, y) in enumerate(zip(xs, ys)):
            rows.put(t, i, x=x, y=y)
        if u is None:
            centre = ys[-1]
        else:
            b1 = min([u, *ys], key=p.f)
            delta = (u - v) / norm(u - v)
            b2 = min([u + eta_nc * delta, u - eta_nc * delta], key=p.f)
            centre = b1 if p.f(b1) <= p.f(b2) else b2
            rows.exploited += 1
        if norm(p.grad(centre)) <= eps:
            return rows, centre
        t += 1
    raise AssertionError("did not finish")


def _agd_until_guilty(value, slope, y0, eps, L, sigma):
    kappa = L / sigma
    omega = (math.sqrt(kappa) - 1) / (math.sqrt(kappa) + 1)
    xs, ys, slopes, t = [y0], [y0], [], 0
    while True:
        t += 1
        slopes.append(slope(xs[-1]))
        ys.append(xs[-1] - slopes[-1] / L)
        xs.append(ys[-1] + omega * (ys[-1] - ys[-2]))
        w, g = None, None
        if value(ys[t]) > value(ys[0]):
            w = ys[0]
        else:
            g = slope(ys[t])
            z = ys[t] - g / L
            psi = value(ys[0]) - value(z) + sigma / 2 * norm(z - ys[0]) ** 2
            if norm(g) ** 2 > 2 * L * psi * math.exp(-t / math.sqrt(kappa)):
                w = z
        if w is not None:
            for j in range(t):
                for u in (ys[j], w):
                    gap = u - xs[j]
                    if value(u) < value(xs[j]) + slopes[j] @ gap + sigma / 2 * norm(gap) ** 2:
                        return xs, ys, u, xs[j]
            raise AssertionError("no witness")
        if norm(g) <= eps:
            return xs, ys, None, None
