"""``python -m bilevel_check DIR``: a line for each refused certificate, the counts, exit status 0 or 1 (2: no DIR)."""

import sys
from collections import Counter
from pathlib import Path

from bilevel_check import check_folder


def main(arguments: list[str]) -> int:
    """Check every certificate of a folder; 0 if there are some and all are accepted."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m bilevel_check DIR  (a folder of certificates, *.json)", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    for path, verdict in check_folder(Path(arguments[0])):
        counts[verdict.shows or "refused"] += 1
        if not verdict.accepted:
            print(f"{ascii(str(path))[1:-1]}: refused: {verdict.reason}")
    proved, refuted, refused = (counts[word] for word in ("proved", "refuted", "refused"))
    print(f"accepted {proved + refuted} ({proved} proved, {refuted} refuted), refused {refused}")
    return 0 if refused == 0 and counts else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
