"""Units of a whole card, and scripts that show a mismatch."""
