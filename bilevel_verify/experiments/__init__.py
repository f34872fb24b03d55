"""The experiments of the AGM-BiO paper in small: ``python -m bilevel_verify.experiments --out FOLDER``."""
