"""RAHGD, PRAHGD, PRAGDA (Algorithms 1 to 4) and the baselines of section 3.6, line by line from the sheet."""

from __future__ import annotations

import itertools
import math

import numpy as np
from methods_transcription_li_lin import Rows, _average

norm = np.linalg.norm


def agd(slope, z0, T, alpha, beta):
    """Algorithm 1."""
    z = tilde = z0
    for _ in range(T):
        new = tilde - alpha * slope(tilde)
        tilde = new + beta * (new - z)
        z = new
    return z


def cg(product, b, T, q):
    """Algorithm 2; leaves at a zero residual."""
    r = product(q) - b
    p = -r
    for _ in range(T):
        if not r.any():
            break
        Ap = product(p)
        a = (r @ r) / (p @ Ap)
        q = q + a * p
        new = r + a * Ap
        p = -new + (new @ new) / (r @ r) * p
        r = new
    return q


def rahgd(p, eta, theta, alpha, beta, K, B, T_m1, T_k, Tp_0, Tp_k, noise=None, y0=None, v0=None):
    """Algorithm 3. Lengths are constants or lists over epochs."""
    rows, t, x0 = Rows(), 0, p.x0.copy()
    cold = np.zeros(p.dy) if y0 is None else y0
    at = lambda length, epoch: length if isinstance(length, int) else length[min(epoch, len(length) - 1)]
    lower = lambda x: lambda y: p.grad_g(x, y)[1]
    y = agd(lower(x0), cold, at(T_m1, 0), alpha, beta)
    v = y if v0 is None else v0
    rows.put(t, -1, y=y, v=v)
    while True:
        xs, ws, k = [x0], [], 0
        while k < K:
            w = xs[k] + (1 - theta) * (xs[k] - (xs[k - 1] if k else xs[0]))
            y = agd(lower(w), y, at(T_k, t), alpha, beta)
            fx, fy = p.grad_f(w, y)
            v = cg(lambda q: p.hvp(w, y, q), fy, at(Tp_0 if k == 0 else Tp_k, t), v)  # noqa: B023
            u = fx - p.jvp(w, y, v)
            rows.put(t, k, x=xs[k], w=w, y=y, v=v, u=u)
            ws.append(w)
            xs.append(w - eta * u)
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                break
        else:
            rows.put(t, k, x=xs[k])
            return rows, _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], ws)
        rows.put(t, k, x=xs[k])
        x0 = xs[k] if noise is None else xs[k] + noise[t % len(noise)]
        t += 1
        y = agd(lower(x0), cold, at(T_m1, t), alpha, beta)
        rows.put(t, -1, y=y, v=v)


def pragda(p, eta, theta, alpha, beta, K, B, T_m1, T_k, noise):
    """Algorithm 4."""
    rows, t, x0 = Rows(), 0, p.x0.copy()
    lower = lambda x: lambda y: -p.grad_f(x, y)[1]
    while True:
        y = agd(lower(x0), np.zeros(p.dy), T_m1, alpha, beta)
        rows.put(t, -1, y=y)
        xs, ws, k = [x0], [], 0
        while k < K:
            w = xs[k] + (1 - theta) * (xs[k] - (xs[k - 1] if k else xs[0]))
            y = agd(lower(w), y, T_k, alpha, beta)
            rows.put(t, k, x=xs[k], w=w, y=y)
            ws.append(w)
            xs.append(w - eta * p.grad_f(w, y)[0])
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                break
        else:
            rows.put(t, k, x=xs[k])
            return rows, _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], ws)
        rows.put(t, k, x=xs[k])
        x0 = xs[k] + noise[t % len(noise)]
        t += 1


def _descent(slope, y, steps, alpha):
    path = [y]
    for _ in range(steps):
        path.append(path[-1] - alpha * slope(path[-1]))
    return path


def aid(p, alpha, beta, D, N_cg, steps, eps=None, y0=None, v0=None):
    rows, x = Rows(), p.x0.copy()
    y = np.zeros(p.dy) if y0 is None else y0
    v = np.zeros(p.dy) if v0 is None else v0
    for k in range(steps):
        y = _descent(lambda q: p.grad_g(x, q)[1], y, D, alpha)[-1]  # noqa: B023
        fx, fy = p.grad_f(x, y)
        v = cg(lambda q: p.hvp(x, y, q), fy, N_cg, v)  # noqa: B023
        h = fx - p.jvp(x, y, v)
        rows.put(0, k, x=x, y=y, v=v, h=h)
        if eps is not None and norm(h) <= eps:
            return rows, x
        x = x - beta * h
    rows.put(0, steps, x=x)
    return rows, x


def paid(p, eta, alpha, D, N_cg, steps, eps, T_pert, noise):
    rows, x, y, v, last, used = Rows(), p.x0.copy(), np.zeros(p.dy), np.zeros(p.dy), -math.inf, 0

    def estimate(x, y, v):
        y = _descent(lambda q: p.grad_g(x, q)[1], y, D, alpha)[-1]
        fx, fy = p.grad_f(x, y)
        v = cg(lambda q: p.hvp(x, y, q), fy, N_cg, v)
        return y, v, fx - p.jvp(x, y, v)

    for k in range(steps):
        rows.put(0, k, x=x)
        y, v, h = estimate(x, y, v)
        if norm(h) <= 4 / 5 * eps and k - last > T_pert:
            last, x = k, x + noise[used % len(noise)]
            used += 1
            y, v, h = estimate(x, y, v)
        rows.put(0, k, y=y, v=v, h=h)
        x = x - eta * h
    rows.put(0, steps, x=x)
    return rows, x


def itd(p, alpha, beta, D, steps, y0=None):
    rows, x, y = Rows(), p.x0.copy(), np.zeros(p.dy) if y0 is None else y0
    for k in range(steps):
        path = _descent(lambda q: p.grad_g(x, q)[1], y, D, alpha)  # noqa: B023
        y = path[-1]
        h, q = p.grad_f(x, y)
        for t in range(D - 1, -1, -1):
            h = h - alpha * p.jvp(x, path[t], q)
            q = q - alpha * p.hvp(x, path[t], q)
        rows.put(0, k, x=x, y=y, h=h)
        x = x - beta * h
    rows.put(0, steps, x=x)
    return rows, x


def ba(p, alpha, beta, c, steps, N_cg=None, y0=None, warm=None):
    """Cold where a start is given, warm-started from 0 otherwise; ``warm`` says which of the two whatever is given."""
    first = np.zeros(p.dy) if y0 is None else y0
    rows, x, y = Rows(), p.x0.copy(), first
    for k in range(steps):
        start = y if (y0 is None if warm is None else warm) else first
        y = _descent(lambda q: p.grad_g(x, q)[1], start, math.ceil(c * (k + 1) ** 0.25), beta)[-1]  # noqa: B023
        fx, fy = p.grad_f(x, y)
        if N_cg is None:
            xy, yy = p.hess_g(x, y)
            v = np.linalg.solve(yy, fy)
            h = fx - xy @ v
        else:
            v = cg(lambda q: p.hvp(x, y, q), fy, N_cg, np.zeros(p.dy))  # noqa: B023
            h = fx - p.jvp(x, y, v)
        rows.put(0, k, x=x, y=y, v=v, h=h)
        x = x - alpha * h
    rows.put(0, steps, x=x)
    return rows, x


def gda(p, eta_x, eta_y, steps, y0):
    rows, x, y = Rows(), p.x0.copy(), y0
    for k in range(steps):
        rows.put(0, k, x=x, y=y)
        gx, gy = p.grad_f(x, y)
        x, y = x - eta_x * gx, y + eta_y * gy
    rows.put(0, steps, x=x, y=y)
    return rows, x


def gdmax(p, eta_x, eta_y, D, steps, y0):
    rows, x, y = Rows(), p.x0.copy(), y0
    for k in range(steps):
        y = _descent(lambda q: -p.grad_f(x, q)[1], y, D, eta_y)[-1]  # noqa: B023
        rows.put(0, k, x=x, y=y)
        x = x - eta_x * p.grad_f(x, y)[0]
    rows.put(0, steps, x=x)
    return rows, x


def gda_alternating(p, eta_x, eta_y, steps, y0):
    """x first, then y at the new x; the y-step after the last x-step is not made, nothing reads it."""
    rows, x, y = Rows(), p.x0.copy(), y0
    for k in range(steps):
        rows.put(0, k, x=x, y=y)
        x = x - eta_x * p.grad_f(x, y)[0]
        if k + 1 < steps:
            y = y + eta_y * p.grad_f(x, y)[1]
    rows.put(0, steps, x=x)
    return rows, x
