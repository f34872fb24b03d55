"""Runs: of a named method, of a card's own steps, of a user's solver."""
