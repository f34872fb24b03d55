"""One group of interacting variables: the routes, put together, and who is to blame where none gives a bound."""
