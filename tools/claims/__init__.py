"""The claims ledger: what papers say of augmentation, judged by the outcomes of our own studies.

| file | holds |
|---|---|
| `ledger` | the claims of `studies/claims.toml` |
| `sides` | which cells a claim speaks of |
| `judging` | what they show, and where they cannot be compared |
| `verdicts` | effects, and one verdict over all of them |
| `kept` | effects of studies that are not at hand, judged by the rules of today |
| `page` | `docs/results/claims.md` |
"""
