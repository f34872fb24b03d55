"""What can be asked of a callable: gradients, inner solvers, whole methods, promises, relations, problems by hand."""
