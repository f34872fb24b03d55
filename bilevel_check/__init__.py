"""A small independent checker of certificates: standard library only, nothing of ``bilevel_verify`` is imported.

``python -m bilevel_check DIR`` checks a folder. What the rules are and why they are right: docs/certificates.md.
"""

from bilevel_check.rules import Verdict, check, check_folder

__all__ = ["Verdict", "check", "check_folder"]
