"""Experiments of the papers as data files, run by the campaign engine (``bilevel-verify experiments``)."""
