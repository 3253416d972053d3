"""Studies: grids of model x augmentation x settings x fraction x seed, and what can be said of what came out.

| files | hold |
|---|---|
| `cells` | `Cell`: one training of a study, in full |
| `plan`, `plan_file`, `plan_parts` | from a TOML file to its cells |
| `exam` | `Exam`: what the cells of one dataset are judged on |
| `trial`, `search` | what happens in a cell, from the corpus to its outcome |
| `worker` | a cell in a process of its own |
| `runner`, `workers`, `estimate`, `display` | all cells of a study, whatever happens on the way |
| `outcomes` | `Outcome`: what a finished cell gave, kept in its folder |
| `conclusion`, `results` | what is written of all outcomes, and the table of all metrics |
| `comparisons`, `tables`, `sheets` | outcomes side by side, with verdicts |
| `two_runs` | two runs on the same test rows |
| `claims`, `ledger`, `judging` | what papers claim, and whether it holds |
| `report/`, `similarity` | the HTML report |
| `quality`, `quality_*` | how good the rows are that augmentations made |
| `advisor`, `miniature` | which augmentation to use on a corpus, by short probes |
"""
