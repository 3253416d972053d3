"""Training: what models fit with. Where a fit logs and checkpoints; the loop, losses and optimisers."""
