"""Studies: grids of model x augmentation x settings x fraction x seed, and their results.

| folder | holds |
|---|---|
| `plan/` | from a TOML file to the cells to train |
| `run/` | the cells, each trained in its own process, and their outcomes |
| `compare/` | outcomes side by side, with intervals: tables, two runs |
| `quality/` | the quality of rows that augmentations made |
| `report/` | the HTML report |
| `page/` | what all HTML pages share |
| `advise/` | which augmentation to use on a corpus, by short probes |
"""
