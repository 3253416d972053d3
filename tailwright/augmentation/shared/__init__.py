"""What several augmentations share; no method lives here."""
