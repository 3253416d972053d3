"""Studies: grids of model x augmentation x settings x fraction x seed, and what came of them.

| folder | holds |
|---|---|
| `plan/` | from a TOML file to the cells to train |
| `run/` | the cells in processes of their own, and the outcome of each |
| `compare/` | outcomes side by side, with intervals: tables, two runs |
| `quality/` | how good the rows are that augmentations made |
| `report/` | the HTML report |
| `page/` | what all HTML pages share |
| `advise/` | which augmentation to use on a corpus, by short probes |
"""
