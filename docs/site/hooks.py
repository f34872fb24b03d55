"""Hooks of the site: formulas become MathML while it is built, notebooks become pages; no network is needed.

The lessons are executed and their pictures shown (half a minute; ``BILEVEL_VERIFY_LESSONS=skip`` leaves that out).
The marked manuscripts are made from the verdicts kept in ``docs/manuscripts``; ``BILEVEL_VERIFY_MANUSCRIPTS=DIR`` takes
the pages that ``bilevel-verify coverage --out DIR`` wrote instead.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from bilevel_verify.reporting.typesetting.mathml import to_mathml

_FENCED = re.compile(r"(```.*?```|`[^`\n]+`)", re.S)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*((?:reports|tests)/[^)]*|drafts)\)")
"""Links to what is in the repository and not on the site."""
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n]+(?:\n[^$\n]+)?)\$(?![\w$])")

STYLE = (
    'math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math", "DejaVu Math TeX Gyre", math; }'
    ' math[display="block"] { margin: .6em 0; overflow-x: auto; }'
)
KEPT = Path(__file__).parents[1] / "manuscripts"


@cache
def manuscripts() -> dict[str, tuple[str, str]]:
    """Paper -> its page as a marked manuscript, and what the list says of it."""
    if folder := os.environ.get("BILEVEL_VERIFY_MANUSCRIPTS"):
        pages = sorted(Path(folder).glob("manuscript-*.html"))
        return {path.stem.removeprefix("manuscript-"): (path.read_text(encoding="utf-8"), "") for path in pages}
    return {path.stem: _manuscript(path) for path in sorted(KEPT.glob("*.json"))}


def _manuscript(path: Path) -> tuple[str, str]:
    """A page from the print of the paper and the verdicts that were kept of it."""
    from bilevel_verify.manuscript import load_print
    from bilevel_verify.manuscript.kept import read_kept
    from bilevel_verify.reporting.manuscript import manuscript_page
    from bilevel_verify.theorems.library import load_card

    card = load_card(path.stem)
    kept = read_kept(path, card, load_print(card.key))
    lines = kept.walk.relations
    counts = Counter("refuted" if line.verdict in ("refuted", "inconsistent") else line.verdict for line in lines)
    said = f"{card.title or card.key}: {len(lines)} relations, {counts['holds']} hold, {counts['refuted']} are refuted"
    old = "" if kept.current else f"; judged by version {kept.version} with an earlier state of the card"
    return manuscript_page(card, kept.walk, note=old.removeprefix("; ")), said + old


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Formulas between dollar signs as MathML; code stays as it is. The page of the manuscripts lists them."""
    if page is not None and page.file.src_uri == "manuscripts.md":
        listed = ((key, f". {said}" if said else "") for key, (_, said) in manuscripts().items())
        markdown += "\n" + "".join(f"\n* [{key}](manuscript-{key}.html){said}" for key, said in listed)
    markdown = _OUTSIDE.sub(lambda found: f"{found[1]} (`{found[2]}` of the repository)", markdown)
    return "".join(part if part.startswith("`") else _with_mathml(part) for part in _FENCED.split(markdown))


def _with_mathml(text: str) -> str:
    text = _DISPLAY.sub(lambda found: "\n" + to_mathml(" ".join(found[1].split()), block=True) + "\n", text)
    return _INLINE.sub(lambda found: f"<span>{to_mathml(' '.join(found[1].split()))}</span>", text)


def on_post_page(output: str, **_: Any) -> str:
    """The fonts of formulas, as in the reports."""
    return output.replace("</head>", f"<style>{STYLE}</style></head>", 1)


def on_files(files: Any, config: Any) -> Any:
    """Every notebook as a page of the same name; the manuscripts as they are."""
    from mkdocs.structure.files import File

    for key, (text, _) in manuscripts().items():
        files.append(File.generated(config, f"manuscript-{key}.html", content=text))

    for path in sorted(Path(config["docs_dir"], "lessons").glob("*.ipynb")):
        files.append(File.generated(config, f"lessons/{path.stem}.md", content=page_of(path)))
    return files


def page_of(path: Path) -> str:
    """A notebook as Markdown: text, code, and what the code shows if the lessons are to be run."""
    book = json.loads(path.read_text(encoding="utf-8"))
    space: dict[str, Any] | None = None if os.environ.get("BILEVEL_VERIFY_LESSONS") == "skip" else {}
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
