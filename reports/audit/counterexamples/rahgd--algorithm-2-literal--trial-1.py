"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

Algorithm 2: division by zero (start 0.3)
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {index} was never assigned")


dot = lambda a, b: a*b

def run(A, b, T, q_0):
    a = Entries()
    p = Entries()
    q = Entries()
    res = Entries()
    q[0] = q_0  # 1
    res[0] = A*q[0] - b  # 2
    p[0] = -res[0]  # 2
    for t in range(0, T):  # 3
        a[t] = dot(res[t], res[t])/dot(p[t], A*p[t])  # 4
        q[t + 1] = q[t] + a[t]*p[t]  # 5
        res[t + 1] = res[t] + a[t]*(A*p[t])  # 6
        b_next = dot(res[t + 1], res[t + 1])/dot(res[t], res[t])  # 7
        p[t + 1] = -res[t + 1] + b_next*p[t]  # 8
    return q[T]  # 10


shown = False
for numbers in (dict(A=2.0, b=1.0, T=3, q_0=0.0), dict(A=2.0, b=1.0, T=3, q_0=0.0), dict(A=2.0, b=1.0, T=3, q_0=0.0), ):
    try:
        print("output", run(**numbers))
    except (ZeroDivisionError) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# 4")
raise SystemExit(0 if shown else 1)
