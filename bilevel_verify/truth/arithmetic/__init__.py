"""Numbers in which truth is proved: boxes, balls, the linear algebra of both, and a value with its error."""
