"""See `model`."""
