"""Entries of a card, one kind a module: links, steps, ranges, bookkeeping, pseudo-code; their repair and scripts."""
