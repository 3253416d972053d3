"""The claims ledger: what papers say of augmentation, judged by the outcomes of our own studies.

| file | holds |
|---|---|
| `ledger` | the claims of `studies/claims.toml` |
| `judging` | which cells a claim speaks of, and what they show |
| `verdicts` | effects, and one verdict over all of them |
| `page` | `docs/results/claims.md` |
"""
