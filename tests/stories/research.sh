# A researcher has a folder of training and test rows, and a plan that compares two augmentations.
tailwright study plan.toml --out study
tailwright compare study/cells/*/run
