"""``python -m bilevel_verify``: the command line, where the script is not on the path."""

import sys

from bilevel_verify.cli import main

if __name__ == "__main__":
    sys.exit(main())
