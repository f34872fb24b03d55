"""RAGD-GS (Algorithms 1 and 2), F2BA and AccF2BA (section 10), line by line from the sheet."""

from __future__ import annotations

import itertools

import numpy as np
from methods_transcription_li_lin import Rows, _average
from methods_transcription_rahgd import agd

norm = np.linalg.norm


def _exact_gradient(p, x, lam):
    """grad L*_lambda by a dozen Newton steps from 0."""
    y, z = np.zeros(p.dy), np.zeros(p.dy)
    for _ in range(12):
        z = z - np.linalg.solve(p.yy_g(x, z), p.grad_g(x, z, "free")[1])
        slope = p.grad_f(x, y, "free")[1] + lam * p.grad_g(x, y, "free")[1]
        y = y - np.linalg.solve(p.yy_f(x, y) + lam * p.yy_g(x, y), slope)
    return p.grad_f(x, y, "free")[0] + lam * (p.grad_g(x, y, "free")[0] - p.grad_g(x, z, "free")[0])


def _inner(p, w, y, z, lam, T, Tp, alpha, beta, alpha_p, beta_p):
    z = agd(lambda q: p.grad_g(w, q)[1], z, T, alpha, beta)
    y = agd(lambda q: p.grad_f(w, q)[1] + lam * p.grad_g(w, q)[1], y, Tp, alpha_p, beta_p)
    return y, z, p.grad_f(w, y)[0] + lam * (p.grad_g(w, y)[0] - p.grad_g(w, z)[0])


def ragd_gs(p, L, H_nu, nu_f, lam, alpha, beta, alpha_p, beta_p, T_0, T_k, Tp_0, Tp_k, eps, most=3000):
    """Algorithm 1; no test right after a restart, where wbar[t, 0] is not defined."""
    rows, t, k, total = Rows(), 0, 0, 0
    x = [p.x0.copy()]
    w = [p.x0.copy()]
    y = z = np.zeros(p.dy)
    while total < most:
        lengths = (T_0, Tp_0) if k == 0 else (T_k, Tp_k)
        y, z, u = _inner(p, w[k], y, z, lam, *lengths, alpha, beta, alpha_p, beta_p)
        rows.put(t, k, x=x[k], w=w[k], y=y, z=z, u=u)
        x.append(w[k] - u / L)
        w.append(x[k + 1] + (k + 1) / (k + 2) * (x[k + 1] - x[k]))
        k, total = k + 1, total + 1
        S = sum(norm(b - a) ** 2 for a, b in itertools.pairwise(x))
        average = sum(2 * (i + 1) / (k * (k + 1)) * w[i] for i in range(k))
        rows.put(t, k, x=x[k], w=w[k], wbar=average)
        if (k + 1) ** (4 + nu_f) * H_nu**2 * S**nu_f > L**2:
            x, w, y, z = [x[k]], [x[k]], np.zeros(p.dy), np.zeros(p.dy)
            k, t = 0, t + 1
        elif norm(_exact_gradient(p, average, lam)) <= eps:
            return rows, average
    if k == 0:  # ended by its budget right after a restart: the start of the new epoch is the last point
        rows.put(t, 0, x=x[0])
    return rows, None


def f2ba(p, eta, alpha, tau, lam, T, K, y0):
    rows, x, y, z = Rows(), p.x0.copy(), y0, y0
    for t in range(T):
        rows.put(0, t, x=x, y=y, z=z)
        for _ in range(K):
            z = z - alpha * p.grad_g(x, z)[1]
            y = y - tau * (p.grad_f(x, y)[1] + lam * p.grad_g(x, y)[1])
        x = x - eta * (p.grad_f(x, y)[0] + lam * (p.grad_g(x, y)[0] - p.grad_g(x, z)[0]))
    rows.put(0, T, x=x, y=y, z=z)
    return rows, x


def accf2ba(p, eta, theta, B, K, lam, alpha, beta, alpha_p, beta_p, T, Tp, y0):
    rows, t, start = Rows(), 0, p.x0.copy()
    y = z = y0
    while True:
        xs, ws, k = [start], [], 0
        while k < K:
            w = xs[k] + (1 - theta) * (xs[k] - (xs[k - 1] if k else xs[0]))
            y, z, u = _inner(p, w, y, z, lam, T, Tp, alpha, beta, alpha_p, beta_p)
            rows.put(t, k, x=xs[k], w=w, y=y, z=z)
            ws.append(w)
            xs.append(w - eta * u)
            k += 1
            if k * sum(norm(b - a) ** 2 for a, b in itertools.pairwise(xs)) > B**2:
                break
        else:
            rows.put(t, k, x=xs[k])
            return rows, _average(K, [norm(b - a) for a, b in itertools.pairwise(xs)], ws)
        rows.put(t, k, x=xs[k])
        start, t = xs[k], t + 1
