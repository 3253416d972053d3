"""Encoders: the torch modules that turn features of a text into its vector, shared by models."""
