"""Tools of this repository: they read its files and are not installed with the package."""
