"""The closed list of verdicts, their rows, how they are counted and shown."""
