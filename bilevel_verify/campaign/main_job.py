"""The main job: every card on the built-in zoo, by the plan that the checks room ships as data."""

from __future__ import annotations

from bilevel_verify.campaign.grid import Campaign


def main_job() -> Campaign:
    raise NotImplementedError
