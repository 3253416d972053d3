"""Commands on a Ray cluster: the same rows, texts, predictions and weights as on one machine.

| file | holds |
|---|---|
| `connection` | starts a local cluster or connects to one; what a worker gets |
| `tasks` | an executor whose pieces are Ray tasks, with retries |
| `studying` | the cells of a study as Ray tasks |

Ray is imported inside functions: it comes with the extra `ray`, and `--help` must not load it.
"""
