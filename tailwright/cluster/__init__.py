"""Commands on a Ray cluster: the same rows, texts, predictions and weights as on one machine.

| file | holds |
|---|---|
| `connection` | starts a local cluster or connects to one; what a worker gets |
| `halves` | rows that a worker has too little memory for, as two halves |
| `tasks` | an executor whose pieces are Ray tasks, with retries |
| `training` | trains a model on a cluster, in the way that suits it |
| `team_training` | one torch model trained by all workers, by Ray Train |
| `predicting` | `predict_shards`: labels of any number of rows, as a folder of shards |
| `input_shards` | the rows of files in shards, whoever reads them |
| `shard_blocks` | shards as Ray Data moves them, and what workers say of each |
| `labeller` | the actor that holds a run, labels shards and writes them |
| `labelling_pipeline` | Ray Data from files to labelled shards |
| `remote_pipeline` | the actor that runs such a pipeline |
| `shard_folder` | a folder of shards on its way: marks, records, manifest |
| `row_digest` | one number for rows in order, however they are cut into shards |
| `ranking` | rankings for `evaluate`, by pieces of the test rows |
| `studying` | the cells of a study as Ray tasks |

Ray is imported inside functions: it comes with the extra `ray`, and `--help` must not load it.
"""
