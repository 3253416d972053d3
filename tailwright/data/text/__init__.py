"""Texts to words, TF-IDF features and token ids."""
