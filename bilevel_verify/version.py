"""The version of the package, below everything that writes it down."""

from __future__ import annotations

VERSION = "0.2.0"
