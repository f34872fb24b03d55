"""Which installed distributions are needed to import, check, verify, report (docs/install-size.md).

Needed is what a use fails without, or comes to other rows; each one that is loaded is taken away in turn.

python tests/benchmarks/install_size.py [USE ...]
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

VERIFY = "'verify', 'restarted-agd-hb/theorem-1', '--problem', 'zoo:ramp', '--eps', '0.1', '--json'"
ROWS = "[[r['statement'], r['claim'], r['verdict'], r['certainty']] for r in json.loads(text)['rows']]"
USES = {
    "import": "import bilevel_verify; said = bilevel_verify.__all__",
    "check": "from bilevel_verify.audit.limits import in_this_process\nfrom bilevel_verify.audit import check\n"
    "with in_this_process(): said = [f.verdict for f in check('1 + t <= exp(t)', 't = [0, 1]', seconds=2)]",
    "constants": "text = told('constants', 'zoo:ramp', '--json'); said = json.loads(text)",
    "verify": f"text = told({VERIFY}); said = {ROWS}",
    "report": f"text = told({VERIFY}, '--out', 'report')\n"
    f"said = [{ROWS}, sorted({{p.suffix for p in pathlib.Path('report').rglob('*') if p.is_file()}})]",
}
"""What is done, and what comes of it: the same has to come of it without a distribution that it does not need."""
HIDE = """
import contextlib, io, json, pathlib, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
sys.path.insert(0, {home!r})
def told(*words):
    from bilevel_verify.cli import main
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(list(words))
    return out.getvalue()
"""
TELL = "\nprint('@@' + json.dumps([sorted({m.split('.')[0] for m in sys.modules}), said]))"


def named(text: str) -> str:
    """A name of a distribution in its normal form."""
    return re.sub(r"[-_.]+", "-", text).lower()


def needed(name: str, found: dict[str, metadata.Distribution]) -> None:
    """What a distribution needs, itself included, extras left out."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    found[named(name)] = distribution
    for text in distribution.requires or []:
        other = re.match(r"[A-Za-z0-9._-]+", text)
        if other and "extra ==" not in text and named(other[0]) not in found:
            needed(other[0], found)


def run(use: str, hidden: Collection[str] = ()) -> tuple[set[str], object]:
    """The modules that a use loads and what comes of it; nothing where it fails without the ``hidden`` modules."""
    program = HIDE.format(hidden=sorted(hidden), home=str(Path(__file__).parents[2])) + USES[use] + TELL
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], cwd=folder, capture_output=True, text=True
        )
    modules, said = json.loads(done.stdout.split("@@")[-1]) if done.returncode == 0 else ([], None)
    return set(modules), said


def marks(use: str, names: Collection[str]) -> dict[str, str]:
    """For each distribution "needed", "loaded" (the use comes to the same without it) or nothing."""
    modules: dict[str, set[str]] = {name: set() for name in names}
    for module, owners in metadata.packages_distributions().items():
        for owner in {named(owner) for owner in owners} & modules.keys():
            modules[owner].add(module)
    loaded, whole = run(use)
    found = {}
    for name in names:
        seen = modules[name] & loaded
        found[name] = "" if not seen else "loaded" if run(use, modules[name])[1] == whole else "needed"
    return found


def main() -> None:
    """Print the table in Markdown."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, metadata.Distribution] = {}
    for text in project["dependencies"]:
        needed(re.match(r"[A-Za-z0-9._-]+", text)[0], found)  # type: ignore[index]
    uses = sys.argv[1:] or list(USES)
    used = {use: marks(use, found) for use in uses}
    print(f"| distribution | MB | {' | '.join(uses)} |\n|---|---:|{'---|' * len(uses)}")
    sizes = {
        name: sum(path.stat().st_size for f in one.files or [] if (path := Path(str(one.locate_file(f)))).exists())
        / 1e6
        for name, one in found.items()
    }
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        print(f"| {name} | {sizes[name]:.1f} | {' | '.join(used[use][name] for use in uses)} |")
    ends = [f"{sum(sizes[n] for n in sizes if used[use][n] == 'needed'):.0f} MB needed" for use in uses]
    print(f"| {len(sizes)} together | {sum(sizes.values()):.0f} | {' | '.join(ends)} |")


if __name__ == "__main__":
    main()
