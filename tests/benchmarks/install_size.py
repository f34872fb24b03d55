"""Which installed distributions are needed to import, to check, to verify: sizes and who loads them (docs/install-size.md).

python tests/benchmarks/install_size.py
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

USES = {
    "import": "import bilevel_verify",
    "check": "from bilevel_verify.audit.limits import in_this_process\nfrom bilevel_verify.audit import check\n"
    "with in_this_process(): check('1 + t <= exp(t)', 't = [0, 1]', seconds=2)",
    "constants": "from bilevel_verify.cli import main\nmain(['constants', 'zoo:ramp'])",
    "verify": "from bilevel_verify.cli import main\n"
    "main(['verify', 'restarted-agd-hb/theorem-1', '--problem', 'zoo:ramp', '--eps', '0.1', '--out', 'report'])",
}
TELL = "\nimport sys, json; print('@@' + json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"


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


def loaded(code: str) -> set[str]:
    """Distributions whose modules a program loads."""
    home = str(Path(__file__).parents[2])
    program = f"import sys; sys.path.insert(0, {home!r})\n{code}{TELL}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], cwd=folder, capture_output=True, text=True
        )
    owners = metadata.packages_distributions()
    return {named(owner) for module in json.loads(done.stdout.split("@@")[-1]) for owner in owners.get(module, [])}


def main() -> None:
    """Print the table in Markdown."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, metadata.Distribution] = {}
    for text in project["dependencies"]:
        needed(re.match(r"[A-Za-z0-9._-]+", text)[0], found)  # type: ignore[index]
    used = {use: loaded(code) for use, code in USES.items()}
    print(f"| distribution | MB | {' | '.join(USES)} |\n|---|---:|{'---|' * len(USES)}")
    sizes = {
        name: sum(path.stat().st_size for f in one.files or [] if (path := Path(str(one.locate_file(f)))).exists())
        / 1e6
        for name, one in found.items()
    }
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        marks = " | ".join("x" if name in used[use] else "" for use in USES)
        print(f"| {name} | {sizes[name]:.1f} | {marks} |")
    print(f"| {len(sizes)} together | {sum(sizes.values()):.0f} | {' | '.join('' for _ in USES)} |")


if __name__ == "__main__":
    main()
