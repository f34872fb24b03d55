"""LaTeX source as data: tokens, nested items, printed symbols, macros written out."""
