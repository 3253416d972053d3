"""Language models that write texts, for augmentations that generate: loaded, tuned on pairs of texts, asked.

| files | hold |
|---|---|
| `generator`, `causal`, `byte_pairs` | a causal model with its tokenizer, pretrained or new |
| `pairs`, `adapting`, `tuning` | how it learns to write a target for a source |
| `cached_sequences`, `beam`, `sampling`, `decoding`, `writing` | how it is asked for texts |
| `t5`, `soft_prompt` | a T5 that fills blanks, pretrained or new, and a prompt before each of its layers |
| `passages`, `masking`, `corruption`, `prompt_tuning` | how it learns, from texts with blanks |
| `greedy`, `filling` | how it is asked to fill the blanks of texts |
| `learning`, `shards`, `work` | learning and writing that survive a kill |
"""
