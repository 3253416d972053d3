"""Flat text models that are killed and resumed, or trained by two processes, learn what one learns."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scripts import Script, start_anew, start_script
from stopped_fits import stopped_after

from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_text_models
from tiny_text_models import FLAT, STEPS, learnt, losses

ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.mark.parametrize("name", FLAT)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, tiny_reader, name):
    wanted = learnt(name, tiny_reader, Workplace())
    for stop in (1, 4, 6, STEPS):
        folder = tmp_path / str(stop)
        with stopped_after(stop):
            learnt(name, tiny_reader, Workplace(folder, checkpoint_seconds=0))
        assert learnt(name, tiny_reader, Workplace(folder, resume=True)) == wanted, f"stopped at {stop}"


def said(process: Script | subprocess.Popen[str]) -> dict[str, tuple[list[float], str]]:
    """(losses, digest) of each model that a process has trained."""
    text, _ = process.communicate(timeout=1200)
    assert process.returncode == 0
    return {name: (curve, digest) for name, curve, digest in map(json.loads, text.splitlines())}


@pytest.mark.slow
def test_killed_in_the_training_of_each_they_end_with_the_same_weights(tmp_path, tiny_reader):
    names = ("xml-cnn", "roberta", "la-roberta")
    asked = (tiny_text_models.__file__, tiny_reader)
    undisturbed = said(start_script(*asked, tmp_path / "undisturbed", *names, **ONE_THREAD))
    kills = 0
    for name in names:
        fit = start_script(*asked, tmp_path / "killed", *names, **ONE_THREAD)
        checkpoint = tmp_path / "killed" / name
        while fit.poll() is None and not (checkpoint / "checkpoint").exists():
            time.sleep(0.001)
        if fit.poll() is None:
            fit.kill()
            kills += 1
        fit.communicate()
    assert kills >= 2
    found = said(start_anew(*asked, tmp_path / "killed", *names, **ONE_THREAD))
    assert {name: digest for name, (_, digest) in found.items()} == {
        name: digest for name, (_, digest) in undisturbed.items()
    }


@pytest.mark.slow
def test_two_processes_have_the_loss_curve_of_one_with_the_same_batch(tmp_path, tiny_reader):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    team = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **ONE_THREAD}
    folder = tmp_path / "two"
    pair = [
        start(tiny_text_models.__file__, tiny_reader, folder, **team, RANK=rank, LOCAL_RANK=rank)
        for rank, start in (("0", start_script), ("1", start_anew))
    ]
    leader, follower = map(said, pair)
    for name in FLAT:
        # What is dropped in a share is what is dropped in a micro-batch of its size.
        learnt(name, tiny_reader, Workplace(tmp_path / name), micro_batch=8)
        wanted = losses(tmp_path / name)
        assert wanted[-1] < wanted[0]
        np.testing.assert_allclose(leader[name][0], wanted, rtol=1e-4, err_msg=name)
        assert leader[name][1] == follower[name][1], name
