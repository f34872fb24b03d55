"""Names and indices over a whole paper: bound, free, defined where, of which shape, decorated how."""
