"""What a process holds of a dense head over very many labels, and a step's time: whole, or shared out.

    .venv/bin/python benchmarks/bench_sharded_head.py [--labels 400000] [--width 64] [--processes 2]

Each process has one thread. `one` has the whole head alone; of `whole`, each process has it too; of
`sharded`, each has its part of the labels. The losses of three steps must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time

import common
import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.heads.dense import DenseHead
from tailwright.heads.sharded_dense import ShardedDenseHead
from tailwright.streams import stream
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.team import connected

ROWS, STEPS, POSITIVES = 32, 3, 5
MB = 2**20


def trained(kind: str, labels: int, width: int) -> dict[str, object]:
    """What this process of a team holds, after some steps on random states."""
    torch.set_num_threads(1)
    with connected() as team:
        if kind == "sharded":
            head: DenseHead = ShardedDenseHead(team.part(labels), width, team, seed=0, name="head")
        else:
            head = DenseHead(labels, width, seed=0, name="head")
        optimisers = ModuleOptimisers(nn.ModuleDict({"head": head}), Plan(1, ROWS, {"head": 1e-3}))
        draws = stream(0, "rows")
        states = torch.from_numpy(draws.standard_normal((ROWS, width), dtype=np.float32))
        positives = np.sort(draws.integers(0, labels, (ROWS, POSITIVES)), axis=1).astype(np.int32)
        mine = team.share(np.arange(ROWS))
        count = len(mine)
        targets = BatchTargets(
            np.arange(count + 1) * POSITIVES,
            positives[mine].ravel(),
            np.ones(count * POSITIVES, np.float32),
            np.zeros(count + 1, np.int64),
            np.empty(0, np.int32),
            np.ones(count, np.float32),
        )
        encoded = Encoded(states[torch.from_numpy(mine)].requires_grad_(), None)
        losses, share = [], count / ROWS
        start = time.perf_counter()
        for _ in range(STEPS):
            losses.append(team.total(share * optimisers.learn(lambda: head(encoded, targets), 1.0)))
            optimisers.step(1.0, share=share, team=team, mass=float(ROWS))
        seconds = time.perf_counter() - start
        adams = optimisers.dense.values()
        return {
            "parameters_mb": round(sum(p.numel() * p.element_size() for p in head.parameters()) / MB, 1),
            "moments_mb": round(sum(a.state()[n].nbytes for a in adams for n in ("mean", "square")) / MB, 1),
            "peak_rss_mb": round(common.peak_rss_bytes() / MB),
            "seconds_a_step": round(seconds / STEPS, 3),
            "losses": losses,
        }


def of_team(kind: str, processes: int, labels: int, width: int) -> list[dict[str, object]]:
    """What each of so many processes holds."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    team = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    local = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--labels", str(labels), "--width", str(width), "--kind", kind]
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, **team, **local, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    return [json.loads(process.communicate()[0]) for process in started]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=int, default=400_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kind", choices=["whole", "sharded"], help="of one process of a team")
    options = parser.parse_args()
    if options.kind is not None:
        print(json.dumps(trained(options.kind, options.labels, options.width)))
        return
    found = {
        "one": of_team("whole", 1, options.labels, options.width),
        "whole": of_team("whole", options.processes, options.labels, options.width),
        "sharded": of_team("sharded", options.processes, options.labels, options.width),
    }
    common.emit("sharded_head", {"labels": options.labels, "width": options.width, "rows": ROWS, **found})


if __name__ == "__main__":
    main()
