"""Bounds by rules: closed forms, norms of tensors, special terms, sums over data."""
