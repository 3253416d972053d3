"""The cells of a study, trained in processes of their own, and the outcome of each."""
