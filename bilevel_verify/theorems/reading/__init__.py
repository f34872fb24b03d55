"""From a TOML file to a card, strictly: what is not understood is an error that names the place."""
