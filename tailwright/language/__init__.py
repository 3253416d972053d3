"""Language models that write texts: loaded, fine-tuned on a corpus and asked, for augmentations that generate."""
