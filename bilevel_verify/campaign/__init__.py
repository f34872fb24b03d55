"""Many verifications at once: a grid of cells, a store that loses nothing, and what can be said about the whole.

A *cell* is one question ("this statement on this problem at these tolerances"), deterministic and independent of every
other cell. Its answer goes into an append-only SQLite file under a key that covers everything it depends on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use

if TYPE_CHECKING:
    from bilevel_verify.campaign.builtin_job import main_job
    from bilevel_verify.campaign.cell import Cell, Limits
    from bilevel_verify.campaign.export import export_csv, export_parquet
    from bilevel_verify.campaign.grids import Campaign, grid, load_campaign
    from bilevel_verify.campaign.run import Outcome, Plan, plan, run_campaign
    from bilevel_verify.campaign.statistics import bound_ratios, data_profile, exponent, performance_profile, success
    from bilevel_verify.campaign.store import Failure, Store, StoredCell, StoreUnavailableError

_HOME = {
    "cell": "Cell Limits",
    "export": "export_csv export_parquet",
    "grids": "Campaign grid load_campaign",
    "builtin_job": "main_job",
    "run": "Outcome Plan plan run_campaign",
    "statistics": "bound_ratios data_profile exponent performance_profile success",
    "store": "Failure Store StoredCell StoreUnavailableError",
}

__all__ = [
    "Campaign",
    "Cell",
    "Failure",
    "Limits",
    "Outcome",
    "Plan",
    "Store",
    "StoreUnavailableError",
    "StoredCell",
    "bound_ratios",
    "data_profile",
    "exponent",
    "export_csv",
    "export_parquet",
    "grid",
    "load_campaign",
    "main_job",
    "performance_profile",
    "plan",
    "run_campaign",
    "success",
]


__getattr__ = on_first_use(__name__, _HOME)  # a worker process needs none of the heavy rooms to start
