"""Pretrained weights by name: a hub id, a folder, or a package that has them; data only, never code."""

from tailwright.pretrained.folders import identity_of, weights_folder
from tailwright.pretrained.packages import PACKAGES

__all__ = ["PACKAGES", "identity_of", "weights_folder"]
