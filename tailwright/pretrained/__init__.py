"""Pretrained weights by name: a hub id, a folder, or a package that carries them; data only, never code."""
