"""Problems with known answers: smooth pieces, families, oracles that count, the same problem rewritten, strategies."""
