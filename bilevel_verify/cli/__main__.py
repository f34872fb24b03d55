"""``python -m bilevel_verify.cli``."""

import sys

from bilevel_verify.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
