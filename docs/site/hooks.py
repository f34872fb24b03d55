"""Hooks of the site: formulas become MathML while it is built, notebooks become pages; no network is needed.

``BILEVEL_VERIFY_LESSONS=run`` executes the lessons and shows their pictures (half a minute).
``BILEVEL_VERIFY_MANUSCRIPTS=DIR`` adds the marked manuscripts that ``bilevel-verify coverage --out DIR`` wrote.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

from bilevel_verify.reporting.mathml import to_mathml

_FENCED = re.compile(r"(```.*?```|`[^`\n]+`)", re.S)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*((?:reports|tests)/[^)]*|drafts)\)")
"""Links to what is in the repository and not on the site."""
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n]+(?:\n[^$\n]+)?)\$(?![\w$])")


def manuscripts() -> list[Path]:
    """The marked manuscripts that the site is to carry; none unless a folder is named."""
    folder = os.environ.get("BILEVEL_VERIFY_MANUSCRIPTS")
    return sorted(Path(folder).glob("manuscript-*.html")) if folder else []


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Formulas between dollar signs as MathML; code stays as it is. The page of the manuscripts lists them."""
    if page is not None and page.file.src_uri == "manuscripts.md":
        markdown += "".join(f"\n* [{path.stem.removeprefix('manuscript-')}]({path.name})" for path in manuscripts())
    markdown = _OUTSIDE.sub(lambda found: f"{found[1]} (`{found[2]}` of the repository)", markdown)
    return "".join(part if part.startswith("`") else _with_mathml(part) for part in _FENCED.split(markdown))


def _with_mathml(text: str) -> str:
    text = _DISPLAY.sub(lambda found: "\n" + to_mathml(" ".join(found[1].split()), block=True) + "\n", text)
    return _INLINE.sub(lambda found: to_mathml(" ".join(found[1].split())), text)


def on_files(files: Any, config: Any) -> Any:
    """Every notebook as a page of the same name; the manuscripts as they are."""
    from mkdocs.structure.files import File

    for path in manuscripts():
        files.append(File.generated(config, path.name, content=path.read_text(encoding="utf-8")))

    for path in sorted(Path(config["docs_dir"], "lessons").glob("*.ipynb")):
        files.append(File.generated(config, f"lessons/{path.stem}.md", content=page_of(path)))
    return files


def page_of(path: Path) -> str:
    """A notebook as Markdown: text, code, and what the code shows if the lessons are to be run."""
    book = json.loads(path.read_text(encoding="utf-8"))
    space: dict[str, Any] | None = {} if os.environ.get("BILEVEL_VERIFY_LESSONS") == "run" else None
    parts = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [] if space is None else _shown(source, space)
    name = path.name
    return "\n\n".join([parts[0], f"The notebook: [{name}]({name})", *parts[1:]]) + "\n"


def _shown(source: str, space: dict[str, Any]) -> list[str]:
    """Run a cell; what it prints, and the value of its last line."""
    import ast

    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    value = None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "lesson", "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "lesson", "eval"), space)
    parts = [f"```text\n{said.getvalue().rstrip()}\n```"] if said.getvalue().strip() else []
    if hasattr(value, "savefig"):
        stream = io.BytesIO()
        value.savefig(stream, format="png", dpi=130)
        parts.append(f'<img alt="" src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}">')
    elif hasattr(value, "_repr_html_"):
        parts.append(f"<div>{value._repr_html_()}</div>")
    elif value is not None:
        parts.append(f"```text\n{value}\n```")
    return parts
