"""From claims and evidence to rows: along runs, at points, over sweeps and seeds."""
