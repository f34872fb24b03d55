"""Draw the gallery and write its page: ``python docs/gallery/make.py`` (half a minute)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROBLEM = """p = bv.bilevel(
    f="sin(x1) + cos(x1 - y1)/2",
    g="y1**2 + cos(y1)/2 - x1*y1",
    x="x1",
    y="y1",
    domain={"x1": (-3, 3), "y1": (-3, 3)},
)"""
WELL = 'well = bv.zoo("double-well")\nstart = {"eps": 1e-2, "x0": [0.1, 0.8]}'
PICTURES = {
    "hyper-objective": (
        "Contours of a hyper-objective with its certified stationary points",
        'bv.plot.hyper_objective(bv.zoo("toy-a"), box={"x1": (-6, 6), "x2": (-3, 6)})',
    ),
    "curve": ("A hyper-objective of one variable", f"{PROBLEM}\nbv.plot.hyper_objective(p)"),
    "penalty": (
        "The penalty functions approach it from below",
        f"{PROBLEM}\nbv.plot.penalty(p, lam=[0.3, 1, 3, 10])",
    ),
    "trajectory": (
        "Two runs on contours; squares are restarts",
        f"{WELL}\nruns = {{name: bv.solve(well, name, **start) for name in ('gradient-descent', 'restarted-agd')}}\n"
        "bv.plot.trajectory(runs, well)",
    ),
    "convergence": (
        "Gap and gradient norm against oracle calls",
        f"{WELL}\nbv.plot.convergence(well, ['gradient-descent', 'restarted-agd'], **start)",
    ),
    "bound": (
        "A claim of a theorem along a run: measured, promised, and where they are closest",
        f"{WELL}\nbv.plot.along(well, 'restarted-agd-hb/theorem-1', 'step-potential', **start)",
    ),
    "margins": (
        "How much of each bound is used",
        f"{WELL}\nbv.plot.margins(bv.verify(well, 'restarted-agd-hb/theorem-1', **start))",
    ),
    "scaling": (
        "Counts against the tolerance with the promised slope, and the local slopes",
        'ramp = bv.zoo("ramp", s="2*eps", drop=1)\n'
        "runs = [bv.solve(ramp.at(eps=e), 'gradient-descent', eps=e) for e in (1e-1, 3e-2, 1e-2, 3e-3)]\n"
        "bv.plot.scaling(runs, exponent=2)",
    ),
    "profile": (
        "Several methods on several instances",
        "problems = [bv.zoo('ridge-cosines'), bv.zoo('leaving-box')]\n"
        "names = ('gradient-descent', 'restarted-agd')\n"
        "runs = [bv.solve(p, name, eps=e) for p in problems for name in names for e in (0.1, 0.03, 0.01)]\n"
        "bv.plot.performance_profile(runs)",
    ),
    "curvature": (
        "Where a problem is least smooth",
        f'{PROBLEM}\nbv.plot.curvature(p, "L_g")',
    ),
}


def caught() -> Any:
    """The false claim of lesson 2 along its run: the picture that the README opens with."""
    import bilevel_verify as bv

    lesson = json.loads((HERE.parent / "lessons" / "2-verdicts.ipynb").read_text(encoding="utf-8"))
    space: dict[str, Any] = {}
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code" and "bowl" not in space:
            exec("".join(cell["source"]), space)
    return bv.plot.along(space["bowl"], f"{space['card']}/theorem-1", "decrease", eps=0.05)


def draw(code: str) -> Any:
    """The figure that the last line of the code is."""
    import bilevel_verify as bv

    space: dict[str, Any] = {"bv": bv}
    head, _, last = code.rpartition("\n")
    exec(head, space)
    return eval(last, space)


def small(path: Path) -> None:
    """The same picture with 256 colours, small areas of a colour of their own included: a third of the bytes."""
    from PIL import Image

    with Image.open(path) as shown:
        few = shown.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main() -> None:
    """Write every picture and the page."""
    parts = ["# Gallery", "Every picture with the lines that drew it, after `import bilevel_verify as bv`.\n"]
    for name, (title, code) in PICTURES.items():
        small(draw(code).write(HERE / f"{name}.png"))
        parts.append(f"## {title}\n\n![{title}]({name}.png)\n\n```python\n{code}\n```")
    small(caught().write(HERE / "caught.png"))
    (HERE / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
