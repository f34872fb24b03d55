"""The kit tests itself: broken solvers, the package's own methods, the detection matrix."""
