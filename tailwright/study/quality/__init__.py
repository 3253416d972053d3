"""How good the rows are that augmentations made: variety, repetition, label drift, examples."""
