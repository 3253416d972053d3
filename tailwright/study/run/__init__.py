"""The cells of a study, each trained in its own process, and their outcomes."""
