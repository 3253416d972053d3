"""From a TOML file to the cells of a study."""
