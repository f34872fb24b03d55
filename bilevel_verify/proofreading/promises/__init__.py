"""What statements promise and assume: against their proofs, their special cases, and taken together."""
