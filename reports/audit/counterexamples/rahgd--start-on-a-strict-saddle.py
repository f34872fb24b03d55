"""Theorems 4.1 and 5.2 and Corollary 4.3: a run that starts exactly on a strict saddle is the same for every seed.

Bilevel: f = cos(x) + cos(y)/2, g = y^2 - x*y, so y*(x) = x/2 and Phi(x) = cos(x) + cos(x/2)/2 with Phi''(0) = -9/8.
Minimax: cos(x) + x*y/2 - y^2, so y*(x) = x/4 and Phi(x) = cos(x) + x^2/16 with Phi''(0) = -7/8.
Algorithms 3 and 4 are written out below with exact fractions; sin is only ever asked for sin(0) = 0. No restart
happens, hence no perturbation is drawn, and the output is the saddle itself. Needs no package.
"""

from fractions import Fraction


def sin(t):
    assert t == 0, "an iterate left the saddle"
    return Fraction(0)


def run(K, B, T, minimax):
    """Algorithm 3 (perturbed) or 4 from x = 0; eta, theta, alpha and beta may be any numbers of the theorems."""
    eta, theta, alpha, beta = Fraction(1, 50), Fraction(1, 20), Fraction(2, 5), Fraction(1, 40)
    x = before = y = v = Fraction(0)
    moved = k = restarts = 0
    outputs = []
    while k < K:
        w = x + (1 - theta) * (x - before)
        z = y
        for _ in range(T):  # AGD on the lower level: its gradient is 2y - x, or 2y - x/2
            step = z - alpha * (2 * z - (w / 2 if minimax else w))
            y, z = step, step + beta * (step - y)
        if minimax:
            u = -sin(w) + y / 2
        else:
            v = -sin(y) / 2 / 2  # conjugate gradients are exact in one dimension: grad_yy g = 2
            u = -sin(w) + v  # grad_xy g = -1
        before, x = x, w - eta * u
        outputs.append(w)
        k += 1
        moved += (x - before) ** 2
        if k * moved > B**2:
            restarts += 1  # the only place where a perturbation is drawn
            break
    return restarts, sum(outputs) / len(outputs)


if __name__ == "__main__":
    for name, minimax, curvature, bound in (
        ("Theorem 4.1, Corollary 4.3", False, Fraction(-9, 8), 1.011 * (50.741 * 0.02) ** 0.5),
        ("Theorem 5.2", True, Fraction(-7, 8), 1.011 * (7.603 * 0.03) ** 0.5),
    ):
        restarts, output = run(K=700, B=Fraction(1, 10**7), T=90, minimax=minimax)
        print(
            f"{name}: {restarts} restarts, output {output}, lambda_min = {float(curvature)}, promised >= {-bound:.4f}"
        )
        assert restarts == output == 0
        assert curvature < -bound
