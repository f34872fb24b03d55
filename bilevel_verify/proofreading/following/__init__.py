"""Steps of proofs derived from what they cite: what follows, what does not, and what it would follow from."""
