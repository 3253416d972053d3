"""The cells of a study, trained in processes of their own, and what came of each.

| file | holds |
|---|---|
| `exam` | `Exam`: what the cells of one dataset are judged on |
| `trial` | what happens in a cell, from the corpus to its outcome |
| `outcomes` | `Outcome`: what a finished cell gave, kept in its folder |
| `worker` | a cell in a process of its own |
| `workers` | that process, as its study sees it |
| `runner` | all cells of a study, whatever happens on the way |
| `display` | what a study says while it runs |
| `results` | the table of all metrics |
"""
