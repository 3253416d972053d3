"""Commands on a Ray cluster: the same rows, texts, predictions and weights as on one machine.

| file | holds |
|---|---|
| `connection` | starts a local cluster or connects to one; what a worker gets |
| `halves` | rows that a worker has too little memory for, as two halves |
| `tasks` | an executor whose pieces are Ray tasks, with retries |

Ray is imported inside functions: it comes with the extra `ray`, and `--help` must not load it.
"""
