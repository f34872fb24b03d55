"""Units: every formula must be homogeneous under rescaling."""
