"""Numbers: the protocol of arithmetics and its instances, conversions rounded outwards, three-valued logic."""
