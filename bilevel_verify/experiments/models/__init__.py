"""The objectives of the experimental sections as models for external oracles: one pass over the data a call."""
