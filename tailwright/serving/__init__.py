"""Runs behind HTTP: `tailwright serve`.

| file | holds |
|---|---|
| `settings.py` | what can be set of a server |
| `queue.py`, `batch.py` | requests that wait, and many of them answered by one pass of the model |
| `service.py`, `hosted.py`, `reloading.py` | the runs by name, and their replacement while requests come in |
| `asking.py` | a request's options, checked against a run |
| `api.py`, `bodies.py`, `openapi.py` | our own API, what goes in and out of it, and its description |
| `labels.py`, `why.py` | the labels of a run, and explanations |
| `open_inference.py`, `annif.py` | the same answers in the words of two other protocols |
| `door.py`, `problems.py`, `body.py` | what every request passes: ids, keys, limits, logs, errors |
| `metrics.py`, `log.py` | what Prometheus reads, and a line of JSON a request |
| `page.py` | the page at `/` |
| `app.py`, `connections.py` | the application, and how uvicorn serves it |
| `sockets.py`, `workers.py`, `worker.py` | several processes on one port |
"""
