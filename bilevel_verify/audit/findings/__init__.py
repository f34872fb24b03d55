"""What was decided: findings, their causes, what is on record, how much was covered."""
