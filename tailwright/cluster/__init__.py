"""Commands on a Ray cluster: the same rows, texts, predictions and weights as on one machine.

| file | holds |
|---|---|
| `connection` | starts a local cluster or connects to one; what a worker gets |
| `tasks` | an executor whose pieces are Ray tasks, with retries |
| `room` | says so where no node has room for a piece of work |
| `training` | trains a model on a cluster, in the way that suits it |
| `team_training` | one torch model trained by all workers, by Ray Train |

Ray is imported inside functions: it comes with the extra `ray`, and `--help` must not load it.
"""
