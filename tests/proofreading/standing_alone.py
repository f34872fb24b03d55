"""Scripts of findings run by a Python that knows nothing of this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def status(folder: Path, text: str) -> int:
    """The exit status of a script; it writes no error."""
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-S", path], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode
