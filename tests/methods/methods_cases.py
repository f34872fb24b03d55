"""One entry per named method: random parameters, the project's call, and the transcription's call."""

from __future__ import annotations

import math

import methods_transcription_li_lin as li_lin
import methods_transcription_ragd_gs as ragd
import methods_transcription_rahgd as yang
import numpy as np
from methods_random_problems import SEED


def _noise(rng, p, r):
    return np.round(rng.uniform(-r, r, (7, p.dx)), 9)


def _outer(rng, p):
    L = getattr(p, "L", 4.0)
    return {
        "eta": round(float(rng.choice([0.25, 0.7])) / L, 5),
        "theta": round(float(rng.uniform(0.05, 0.4)), 3),
        "B": round(float(rng.choice([0.05, 0.2, 0.8])), 3),
        "K": int(rng.integers(2, 20)),
    }


def _inner_agd(p):
    kappa = p.ell / getattr(p, "mu", 0.5)
    return {"alpha": round(1 / p.ell, 6), "beta": round((math.sqrt(kappa) - 1) / (math.sqrt(kappa) + 1), 6)}


def gradient_descent(rng, p):
    q = {"eta": round(0.7 / p.L, 5), "N": 60, **({"eps": 0.1} if rng.integers(2) else {})}
    return q, {}, lambda: li_lin.gradient_descent(p, **q)


def gradient_descent_restarted(rng, p):
    q = {k: v for k, v in _outer(rng, p).items() if k != "theta"}
    return q, {}, lambda: li_lin.gd_frame(p, **q)


def restarted_agd(rng, p):
    q = _outer(rng, p)
    return q, {}, lambda: li_lin.restarted_agd(p, **q)


def restarted_agd_perturbed(rng, p):
    q, noise = _outer(rng, p), _noise(rng, p, 0.01)
    return q, {"noise": noise}, lambda: li_lin.restarted_agd(p, **q, noise=noise)


def restarted_hb(rng, p):
    q = _outer(rng, p)
    return q, {}, lambda: li_lin.restarted_hb(p, **q)


def _practical(rng, p, heavy):
    q = _outer(rng, p) | {"B0": 2.0, "c": 1.7, "eps": 0.01, "L": round(p.L, 4), "rho": round(p.rho, 4)}
    unknown = None
    if rng.integers(2):
        q |= {"c1": 2.0, "c2": 1.5, "c3": 1.3, "L": round(p.L / 4, 4), "rho": round(p.rho / 4, 4)}
        unknown = (2.0, 1.5, 1.3)
    plain = {k: v for k, v in q.items() if k not in ("c1", "c2", "c3")}
    return q, {}, lambda: li_lin.practical(p, **plain, heavy=heavy, unknown=unknown)


def restarted_agd_practical(rng, p):
    return _practical(rng, p, False)


def restarted_agd_practical_perturbed(rng, p):
    eps, eta = float(rng.choice([0.01, 0.002])), round(0.25 / p.L, 5)
    theta = min(0.9, round(4 * (eps * p.rho * eta**2) ** 0.25, 4))  # the theorem's: else epochs may be dropped for ever
    q = {"eta": eta, "theta": theta, "B": round(math.sqrt(eps / p.rho), 4), "K": math.ceil(1 / theta)}
    q |= {"B0": 2.0, "c": 1.7, "eps": eps, "L": round(p.L, 4), "rho": round(p.rho, 4)}
    noise = _noise(rng, p, 1e-5)
    return q, {"noise": noise}, lambda: li_lin.practical(p, **q, noise=noise)


def restarted_hb_practical(rng, p):
    return _practical(rng, p, True)


def agd_jin(rng, p):
    q = _outer(rng, p) | {"gamma": float(rng.choice([0.01, 0.2])), "s": float(rng.choice([0.05, 0.5]))}
    return q, {}, lambda: li_lin.agd_jin(p, **q)


def convex_until_guilty(rng, p):
    q = {"L": round(p.L, 3), "rho": round(p.rho, 3), "eps": 0.05}
    return q, {}, lambda: li_lin.until_guilty(p, **q)


def ragd_gs(rng, p):
    lam = float(rng.choice([5.0, 20.0]))
    q = {"L": 8.0, "H_nu": 0.5, "nu_f": float(rng.choice([0.5, 1.0])), "lam": lam, **_inner_agd(p), "eps": 0.02}
    q |= {"alpha_p": round(1 / (lam * p.ell + 4), 7), "beta_p": 0.4, "T_0": 6, "T_k": 3, "Tp_0": 9, "Tp_k": 4}
    return q, {"budget": {"iterations": 3000, "calls": 10**7}}, lambda: ragd.ragd_gs(p, **q)


def f2ba(rng, p):
    q = {"eta": 0.1, "alpha": round(1 / p.ell, 6), "lam": 10.0, "tau": round(1 / (10 * p.ell + 4), 7), "T": 25, "K": 4}
    return q, {"y0": p.y0}, lambda: ragd.f2ba(p, **q, y0=p.y0)


def accf2ba(rng, p):
    q = _outer(rng, p) | {"lam": 10.0, **_inner_agd(p), "alpha_p": round(1 / (10 * p.ell + 4), 7), "beta_p": 0.4}
    q |= {"T": 3, "Tp": 4}
    return q, {"y0": p.y0}, lambda: ragd.accf2ba(p, **q, y0=p.y0)


def _aid(rng, p):
    return {
        "alpha": round(1 / p.ell, 6),
        "D": int(rng.integers(1, 5)),
        "N_cg": int(rng.integers(1, p.dy + 1)),
        "steps": 30,
    }


def aid_bio(rng, p):
    q, v0 = _aid(rng, p) | {"beta": 0.1}, p.y0 / 2
    return q, {"y0": p.y0, "v0": v0}, lambda: yang.aid(p, **q, y0=p.y0, v0=v0)


def paid(rng, p):
    q = _aid(rng, p) | {"eta": 0.2, "eps": 0.3, "T_pert": 4}
    noise = _noise(rng, p, 0.05)
    return q, {"noise": noise}, lambda: yang.paid(p, **q, noise=noise)


def itd_bio(rng, p):
    q = {"alpha": round(1 / p.ell, 6), "beta": 0.1, "D": int(rng.integers(1, 6)), "steps": 25}
    return q, {"y0": p.y0}, lambda: yang.itd(p, **q, y0=p.y0)


def ba(rng, p):
    q = {"alpha": 0.1, "beta": round(1 / p.ell, 6), "c": float(rng.choice([0.5, 1.0, 2.0])), "steps": 25}
    if rng.integers(2):
        q["N_cg"] = int(rng.integers(1, p.dy + 1))
    y0 = p.y0 if rng.integers(2) else None
    return q, {"y0": y0}, lambda: yang.ba(p, **q, y0=y0)


def _rahgd(rng, p):
    many = bool(rng.integers(2))
    lengths = {"T_m1": [7, 5, 6], "T_k": [3, 2], "Tp_0": [2, 1], "Tp_k": [1, 2, 1]}
    constant = {"T_m1": 6, "T_k": 3, "Tp_0": min(2, p.dy), "Tp_k": 1}
    return _outer(rng, p) | _inner_agd(p) | (lengths if many and p.dy > 1 else constant)


def rahgd(rng, p):
    q, given = _rahgd(rng, p), bool(rng.integers(2))
    more = {"y0": p.y0, "v0": p.y0 / 2} if given else {}
    return q, more, lambda: yang.rahgd(p, **q, **more)


def prahgd(rng, p):
    q, noise = _rahgd(rng, p), _noise(rng, p, 0.01)
    return q, {"noise": noise}, lambda: yang.rahgd(p, **q, noise=noise)


def pragda(rng, p):
    q, noise = _outer(rng, p) | _inner_agd(p) | {"T_m1": 6, "T_k": 3}, _noise(rng, p, 0.01)
    return q, {"noise": noise}, lambda: yang.pragda(p, **q, noise=noise)


def gda(rng, p):
    q = {"eta_x": 0.1, "eta_y": round(0.7 / p.ell, 6), "steps": 40}
    return q, {"y0": p.y0}, lambda: yang.gda(p, **q, y0=p.y0)


def gda_alternating(rng, p):
    q = {"eta_x": 0.1, "eta_y": round(0.7 / p.ell, 6), "steps": 40}
    return q, {"y0": p.y0}, lambda: yang.gda_alternating(p, **q, y0=p.y0)


def gdmax(rng, p):
    q = {"eta_x": 0.1, "eta_y": round(0.7 / p.ell, 6), "D": 3, "steps": 30}
    return q, {"y0": p.y0}, lambda: yang.gdmax(p, **q, y0=p.y0)


SINGLE = (
    "gradient-descent gradient-descent-restarted restarted-agd restarted-agd-perturbed restarted-hb "
    "restarted-agd-practical restarted-agd-practical-perturbed restarted-hb-practical agd-jin convex-until-guilty"
).split()
BILEVEL = "ragd-gs f2ba accf2ba aid-bio paid itd-bio ba rahgd prahgd".split()
MINIMAX = "pragda gda gda-alternating gdmax".split()


def case(name, p, number):
    """Parameters, further arguments of ``run_method``, and the transcription as a function of nothing."""
    rng = np.random.default_rng([SEED, number, *name.encode()])
    return globals()[name.replace("-", "_")](rng, p)


def differences(run, rows, output, counts, tolerance=1e-11):
    """What differs between a run and a transcription, as a list of sentences."""
    found = []
    at = {(int(t), int(k)): row for row, (t, k) in enumerate(zip(run.trace.epoch, run.trace.k))}
    for (t, k), points in rows.items():
        if k < 0:
            found += _compare(f"epoch start {t}", points, run.trace.epoch_start, t, tolerance)
        elif (t, k) not in at:
            found.append(f"no row ({t}, {k})")
        else:
            found += _compare(f"row ({t}, {k})", points, run.trace.sequences, at[t, k], tolerance)
    if len(at) != sum(k >= 0 for _, k in rows):
        found.append(f"{len(at)} rows instead of {sum(k >= 0 for _, k in rows)}")
    if output is not None and not np.all(np.abs(run.x - output) <= tolerance * (1 + np.abs(output))):
        found.append(f"output {run.x} instead of {output}")
    wanted = {kind: number for kind, number in counts.items() if kind != "free"}
    have = {kind: run.counts.get(kind, 0) for kind in wanted}
    have |= {kind: n for kind, n in run.counts.items() if not kind.startswith("stop_") and "free" not in counts}
    if have != wanted:
        found.append(f"counts {have} instead of {wanted}")
    return found


def _compare(where, points, sequences, row, tolerance):
    found = []
    for name, point in points.items():
        if row >= len(sequences[name]):
            found.append(f"{where}: no {name}")
            continue
        have = np.asarray(sequences[name][row], dtype=float)
        if not np.all(np.abs(have - point) <= tolerance * (1 + np.abs(point))):
            found.append(f"{where}: {name} = {have} instead of {point}")
    return found
