"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

Algorithm 1: 't' was never assigned (start 0.3)
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {index} was never assigned")




def run(h, z_0, K, eta, theta):
    z = Entries()
    zt = Entries()
    zt[0] = z_0  # 1
    z[0] = z_0  # 1
    for k in range(0, K):  # 2
        z[k + 1] = zt[k] - eta*h(zt[k])  # 3
        zt[k + 1] = z[t + 1] + theta*(z[k + 1] - z[k])  # 4
    return z[K]  # 6


shown = False
for numbers in (dict(h=lambda z: z, z_0=0.3, K=4, eta=0.1, theta=0.3), dict(h=lambda z: z, z_0=0.0, K=4, eta=0.1, theta=0.3), dict(h=lambda z: z, z_0=2.0, K=4, eta=0.1, theta=0.3), ):
    try:
        print("output", run(**numbers))
    except (LookupError, NameError) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# 4")
raise SystemExit(0 if shown else 1)
