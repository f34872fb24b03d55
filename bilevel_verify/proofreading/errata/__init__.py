"""The errata of a paper: findings of all kinds, each defect once, the gravest first."""
