"""Which augmentation to use on a corpus, by short probes."""
