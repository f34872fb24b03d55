"""Lower levels over a simple polyhedron: the face on which y* lies, and the unconstrained problem on that face."""
