"""Language models that write texts: loaded, tuned on a corpus and asked, for augmentations that generate."""
