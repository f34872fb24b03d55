"""Experiments of the papers in small: simple bilevel (``python -m bilevel_verify.experiments --out FOLDER``) and second
order (``python -m bilevel_verify.experiments.second_order --out FOLDER``).
"""
