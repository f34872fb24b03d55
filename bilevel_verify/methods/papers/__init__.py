"""Methods that papers name: cells of the table, under the papers' letters. A module that lies here is found."""

from __future__ import annotations

from bilevel_verify.methods import estimators, schemes  # noqa: F401  (they fill the table)
from bilevel_verify.methods.registry import import_all

import_all(__name__, __path__)
