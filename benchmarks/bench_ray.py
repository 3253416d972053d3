"""What Ray costs and gives on one machine: rows a second of `predict`, `augment` and a study.

    .venv/bin/python benchmarks/bench_ray.py [--parts predict augment study recovery] [--rows 100000]

Each is done without Ray in one thread, on a cluster with one worker, and with two, each of one thread, in a
process of its own. `rows_a_second` is what more rows take: the difference between a large and a small input,
so that starting processes, importing and loading do not count; those are `start_seconds`, after a first piece
of work that wakes up the workers. `overhead` is the
time with one worker over that without Ray, less 1; `gain` the time with one worker over that with two.
`same` says whether all results are equal, by digest. `recovery` kills a worker, and a node of two, while rows
are labelled, and says how many seconds that took, and whether the result is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import tailwright as tw
from tailwright.cluster.connection import connected
from tailwright.cluster.predicting import ShardedPredictions, ShardedRequest, predict_shards
from tailwright.cluster.row_digest import digest_of, summed
from tailwright.cluster.tasks import RayTasks
from tailwright.data.text_source import text_source
from tailwright.runs.predicting import Request
from tailwright.runs.prediction_files import Labelled, write_predictions
from tailwright.study.run.outcomes import outcomes_of
from tailwright.training.executor import executing_on
from tailwright.training.threads import THREAD_VARIABLES

PREDICTED, AUGMENTED, STUDIED = "tibkat-keywords-titles", "yso-finna-en", "cooking-se"
SMALL = 0.25  # of the rows, which tell the start from the rest
FIRST = 64  # rows that wake up the workers
WORKERS = (0, 1, 2)  # 0: without Ray
K = 5


def one_thread() -> dict[str, str]:
    """The environment of every process: one thread, and Ray on loopback with workers of ordinary priority."""
    ray = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
    }
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1"), **ray}


def prepared(work: Path, rows: int) -> None:
    """A run of the default, and texts to label: the test rows of a corpus, as often as it takes."""
    corpus = tw.read(common.data_folder() / PREDICTED)
    tw.train(corpus, "linear+twin+label-matcher", seed=0, out=work / "run")
    texts = corpus.splits()["test"].texts.to_pylist()
    more = [texts[number % len(texts)] for number in range(rows)]
    for name, count in (("first", FIRST), ("small", int(SMALL * rows)), ("large", rows)):
        pq.write_table(pa.table({"text": more[:count]}), work / f"{name}.parquet")


def asked_of(run: tw.Run) -> Request:
    """The best labels, as they are."""
    return Request.of(run, k=K, tail=0.0, threshold=None, only=None, without=None, abstain=None)


def timed(work: Callable[[str], Any], digest: Callable[[Any], str]) -> dict[str, Any]:
    """Seconds of each input, of which the first wakes up the workers, and the digest of the large result."""
    seconds = {}
    for size in ("first", "small", "large"):
        start = time.perf_counter()
        found = work(size)
        seconds[size] = time.perf_counter() - start
    return {**seconds, "digest": digest(found)}


def predict(work: Path, workers: int) -> dict[str, Any]:
    """Label the rows of a Parquet file."""
    run = tw.load(work / "run")
    request = asked_of(run)

    def here(size: str) -> str:
        out = work / f"here-{size}.parquet"
        with text_source(work / f"{size}.parquet") as source:
            said = (Labelled(block, request.answer(run, block.texts)) for block in source.blocks())
            write_predictions(out, said, run.labels)
        return str(out)

    if not workers:
        return timed(here, lambda out: summed([digest_of(pq.read_table(out))]))
    start = time.perf_counter()
    with connected("ray", workers=workers) as cluster:
        started = time.perf_counter() - start

        def there(size: str) -> ShardedPredictions:
            asked = ShardedRequest(
                (work / "run",),
                request,
                work / f"{size}.parquet",
                work / f"there-{size}-{workers}",
                overwrite=True,
            )
            return predict_shards(run, asked, cluster)

        return {**timed(there, lambda written: written.digest), "cluster_seconds": started}


def augment(work: Path, workers: int) -> dict[str, Any]:
    """Edit the rows of a corpus, four new ones of each."""
    corpus = tw.read(common.data_folder() / AUGMENTED)
    sizes = {"small": corpus.sample(SMALL, seed=0), "large": corpus}
    sizes["first"] = corpus.sample(SMALL / 4, seed=0)

    def added(size: str) -> tw.Corpus:
        return tw.augment(sizes[size], "eda", settings={"rows": "all", "outputs": 4}, seed=0)

    if not workers:
        return timed(added, tw.Corpus.digest)
    start = time.perf_counter()
    with connected("ray", workers=workers) as cluster, executing_on(RayTasks(cluster)):
        started = time.perf_counter() - start
        return {**timed(added, tw.Corpus.digest), "cluster_seconds": started}


PLAN = """title = "Ray"
seeds = [{seeds}]
[datasets]
corpus = "{path}"
[models.linear]
[augmentations.none]
[augmentations.gandalf]
"""


def study(work: Path, workers: int) -> dict[str, Any]:
    """Cells of `linear` over a corpus: four of them, and sixteen."""

    def run(size: str) -> Path:
        place = work / f"study-{size}-{workers}"
        if size == "first":
            return place  # each study is a process of its own
        seeds = range(2 if size == "small" else 8)
        plan = work / f"{size}-{workers}.toml"
        plan.write_text(PLAN.format(seeds=", ".join(map(str, seeds)), path=common.data_folder() / STUDIED))
        on = ["--on", "ray", "--workers", str(workers), "--threads", "1"] if workers else ["--threads", "1"]
        command = [sys.executable, "-m", "tailwright", "study", str(plan), "--out", str(place), *on]
        subprocess.run([*command, "--quiet"], check=True, stdout=subprocess.DEVNULL, env=one_thread())
        return place

    def digest_of_all(place: Path) -> str:
        digest = hashlib.sha256()
        for outcome in sorted(outcomes_of(place), key=lambda outcome: outcome.cell.title):
            digest.update(outcome.top.tobytes())
        return digest.hexdigest()

    return timed(run, digest_of_all)


def killed_worker(work: Path) -> None:
    """Wait until a labeller has been busy for a while, and kill it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for process in psutil.process_iter(["pid", "cmdline"]):
            words = " ".join(process.info["cmdline"] or [])
            if "MapWorker" in words and any(work.glob("*.partial/done/*.json")):
                os.kill(process.info["pid"], signal.SIGKILL)
                return
        time.sleep(0.05)


def recovery(work: Path, what: str) -> dict[str, Any]:
    """Label all rows on two nodes of one core each, undisturbed or with a worker or a node that is killed."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    run = tw.load(work / "run")
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    other = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False)
    out = work / f"recovery-{what}"

    def kill_node() -> None:
        while not any(work.glob(f"{out.name}.partial/done/*.json")):
            time.sleep(0.05)
        nodes.remove_node(other, allow_graceful=False)

    killers = {"worker": lambda: killed_worker(work), "node": kill_node}
    if what in killers:
        threading.Thread(target=killers[what], daemon=True).start()
    with connected("ray", workers=2) as cluster:
        start = time.perf_counter()
        asked = ShardedRequest((work / "run",), asked_of(run), work / "large.parquet", out)
        digest = predict_shards(run, asked, cluster).digest
        seconds = time.perf_counter() - start
    ray.shutdown()
    nodes.shutdown()
    return {"seconds": seconds, "digest": digest}


PARTS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "predict": predict,
    "augment": augment,
    "study": study,
}


def in_process(part: str, how: str, work: Path) -> dict[str, Any]:
    """What this file, started anew, measures."""
    command = [sys.executable, __file__, "--one", part, how, str(work)]
    ended = subprocess.run(command, env=one_thread(), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def compared(part: str, work: Path, pieces: dict[str, int]) -> dict[str, Any]:
    """A part without Ray, and with one and two workers."""
    told = {workers: in_process(part, str(workers), work) for workers in WORKERS}
    more = {workers: one["large"] - one["small"] for workers, one in told.items()}
    rows = pieces["large"] - pieces["small"]
    return {
        "rows_a_second": {workers: round(rows / seconds, 2) for workers, seconds in more.items()},
        "seconds": {workers: round(one["large"], 2) for workers, one in told.items()},
        "start_seconds": {
            workers: round(one["large"] - more[workers] * pieces["large"] / rows, 2)
            for workers, one in told.items()
        },
        "cluster_seconds": {w: round(one.get("cluster_seconds", 0.0), 2) for w, one in told.items()},
        "overhead": round(more[1] / more[0] - 1, 3),
        "gain": round(more[1] / more[2], 2),
        "same": len({one["digest"] for one in told.values()}) == 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=[*PARTS, "recovery"], choices=[*PARTS, "recovery"])
    parser.add_argument("--rows", type=int, default=100_000, help="texts to label")
    parser.add_argument("--one", nargs=3, metavar=("PART", "HOW", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        part, how, folder = asked.one
        work = Path(folder)
        told = recovery(work, how) if part == "recovery" else PARTS[part](work, int(how))
        print(json.dumps(told))
        return
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        if {"predict", "recovery"} & set(asked.parts):
            prepared(work, asked.rows)
        rows = {
            "predict": {"small": int(SMALL * asked.rows), "large": asked.rows},
            "study": {"small": 4, "large": 16},
        }
        if "augment" in asked.parts:
            count = len(tw.read(common.data_folder() / AUGMENTED).train)
            rows["augment"] = {"small": int(SMALL * count), "large": count}
        for part in asked.parts:
            if part != "recovery":
                result[part] = compared(part, work, rows[part])
                continue
            told = {what: in_process(part, what, work) for what in ("nothing", "worker", "node")}
            result[part] = {
                "seconds": {what: round(one["seconds"], 2) for what, one in told.items()},
                "seconds_lost": {
                    what: round(told[what]["seconds"] - told["nothing"]["seconds"], 2)
                    for what in ("worker", "node")
                },
                "same": len({one["digest"] for one in told.values()}) == 1,
            }
    common.emit("ray", result)


if __name__ == "__main__":
    main()
