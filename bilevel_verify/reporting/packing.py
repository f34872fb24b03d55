"""A large page in little space: its inner pages as one compressed store, unpacked when a reader opens one of them.

A page below :data:`PLAIN` bytes stays as it is, readable without a script.
"""

from __future__ import annotations

import base64
import json
import re
import zlib

PLAIN = 400_000
KEPT = ("summary", "theorems", "problems", "rows", "reading")
"""Pages that are never packed: what a reader sees first, and what needs no detail."""
_SECTION = re.compile(r'(<section class="page" id="([^"]+)"[^>]*>)(.*?)(</section>)', re.S)
_ID = re.compile(r'\sid="([^"]+)"')
_DATA = re.compile(r'(<script type="application/json" id="row-data">)(.*?)(</script>)', re.S)
MARK = '<script type="application/json" id="packed"></script>'


def pack(page: str) -> str:
    """The page with its inner pages and rows packed, if it is large.

    Parameters
    ----------
    page : the whole HTML; it holds :data:`MARK` where the store goes.
    """
    if len(page.encode()) < PLAIN:
        return page.replace(MARK, "")
    bodies: list[str] = []
    places: dict[str, int] = {}

    def take(found: re.Match[str]) -> str:
        head, name, body, end = found.groups()
        if name in KEPT:
            return found[0]
        for inner in _ID.findall(body):
            places[inner] = len(bodies)
        bodies.append(body)
        return f'{head[:-1]} data-packed="{len(bodies) - 1}">{end}'

    page = _SECTION.sub(take, page)
    rows = _DATA.search(page)
    store = {"pages": bodies, "places": places, "rows": rows[2] if rows else "null"}
    page = _DATA.sub(lambda found: f"{found[1]}null{found[3]}", page)
    compress = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = compress.compress(json.dumps(store, separators=(",", ":"), ensure_ascii=False).encode()) + compress.flush()
    data = base64.b64encode(packed).decode()
    return page.replace(MARK, MARK.replace("></", f' data-bytes="{len(packed)}">"{data}"</'))


def unpack(page: str) -> str:
    """The page as it was before :func:`pack`; for programs that read a report's HTML."""
    found = re.search(r'<script type="application/json" id="packed"[^>]*>"([^"]*)"</script>', page)
    if found is None:
        return page
    store = json.loads(zlib.decompress(base64.b64decode(found[1]), -zlib.MAX_WBITS))
    page = page.replace(found[0], "")
    page = _DATA.sub(lambda one: f"{one[1]}{store['rows']}{one[3]}", page)

    def put(section: re.Match[str]) -> str:
        place = re.search(r' data-packed="(\d+)"', section[1])
        if place is None:
            return section[0]
        body: str = store["pages"][int(place[1])]
        return section[1].replace(place[0], "") + body + section[4]

    return _SECTION.sub(put, page)
