"""One seed for every random draw of the tests.

It is fixed, so that the suite says the same on every day and machine; ``BILEVEL_VERIFY_SEED`` sets another one, as the
rotating step of ``.ci/run`` does. Tests that draw with it carry the marker ``seeded`` (see ``conftest.py``).
"""

from __future__ import annotations

import os

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", "20261101"))
