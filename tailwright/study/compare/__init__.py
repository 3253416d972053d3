"""Outcomes side by side.

| file | holds |
|---|---|
| `comparisons` | means over seeds, gains over the baseline, verdicts |
| `sheets` | a table before it is Markdown or LaTeX |
| `tables` | the tables of a study |
| `two_runs` | two runs on the same test rows |
| `conclusion` | everything that a finished study writes |
"""
