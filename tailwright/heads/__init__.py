"""Heads: how label vectors are scored against the vector of a text, shared by models."""
