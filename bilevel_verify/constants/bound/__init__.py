"""One bound with its provenance, and how bounds are put together."""
