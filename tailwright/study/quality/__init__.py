"""The quality of rows that augmentations made: variety, repetition, label drift, examples."""
