"""Simple bilevel problems: min f over argmin g, exactly where that can be, with checked error bars elsewhere."""
