"""Language models that write texts, for augmentations that generate: loaded, tuned on pairs of texts, asked.

| files | hold |
|---|---|
| `generator`, `causal` | a model with its tokenizer, pretrained or new |
| `pairs`, `adapting`, `tuning` | how it learns to write a target for a source |
| `cached_sequences`, `beam`, `sampling`, `decoding` | how it is asked for candidates |
| `writing`, `work` | a text for each of many sources, in shards that survive a kill |
"""
