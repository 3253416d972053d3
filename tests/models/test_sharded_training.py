"""Two processes that have half of the labels each learn what one process learns with all of them."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import start_anew, start_script
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.augmentation import augmenter
from tailwright.errors import InputError
from tailwright.training.team import Team, working_together
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
import tiny_text_models
from tiny_text_models import SHARDED, learnt, losses, new, rows

ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def of_two(encoder: str, folder: Path, *names: str) -> dict[str, tuple[list[float], str]]:
    """(losses, digest) of each model that two processes go on with there, who must agree."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    team = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **ONE_THREAD}
    pair = [
        start(tiny_text_models.__file__, encoder, folder, *names, **team, RANK=rank, LOCAL_RANK=rank)
        for rank, start in (("0", start_script), ("1", start_anew))
    ]
    said = [process.communicate(timeout=1200)[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    leader, follower = ([json.loads(line) for line in text.splitlines()] for text in said)
    assert [line[2] for line in leader] == [line[2] for line in follower]
    return {name: (curve, digest) for name, curve, digest in leader}


def share_of(name: str) -> int:
    """The rows that each of two processes has of a batch."""
    return 32 if name.endswith("odd") else 8


def assert_curve(encoder: str, folder: Path, name: str, found: list[float]) -> None:
    """That of one process, with micro-batches of the size of two processes' shares."""
    learnt(name, encoder, Workplace(folder), micro_batch=share_of(name))
    wanted = losses(folder)
    assert wanted[-1] < wanted[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, err_msg=name)


@pytest.mark.slow
def test_two_processes_with_half_of_the_labels_each_have_the_loss_curve_of_one(tmp_path, tiny_reader):
    name = "xml-cnn-sharded"
    curve, _ = of_two(tiny_reader, tmp_path / "two", name)[name]
    assert_curve(tiny_reader, tmp_path / "one", name, curve)
    alone, resumed = (new(name, tiny_reader, micro_batch=8) for _ in range(2))
    alone.fit(rows(), seed=3)
    # The last checkpoint of the two has whole tables: one process goes on from it.
    resumed.fit(rows(), seed=3, work=Workplace(tmp_path / "two" / name, resume=True))
    wanted = weights_of(alone.network)
    for table, weight in weights_of(resumed.network).items():
        np.testing.assert_allclose(weight, wanted[table], rtol=1e-3, atol=1e-5, err_msg=table)


@pytest.mark.slow
def test_any_number_of_processes_goes_on_from_a_checkpoint(tmp_path, tiny_reader):
    undisturbed = of_two(tiny_reader, tmp_path / "two", *SHARDED)
    for name in SHARDED:
        assert_curve(tiny_reader, tmp_path / name, name, undisturbed[name][0])
        with stopped_after(3):
            place = Workplace(tmp_path / "stopped" / name, checkpoint_seconds=0)
            learnt(name, tiny_reader, place, micro_batch=share_of(name))
    resumed = of_two(tiny_reader, tmp_path / "stopped", *SHARDED)
    for name, (curve, _) in resumed.items():
        np.testing.assert_allclose(curve, undisturbed[name][0], rtol=1e-4, err_msg=name)


def test_what_a_sharded_head_cannot_do_is_one_line(tiny_reader):
    model = new("xml-cnn-sharded", tiny_reader)
    model.mixes = [augmenter("wordmix")]
    with (
        working_together(Team(0, 2)),
        pytest.raises(InputError, match="wordmix with a sharded head, expected"),
    ):
        model.fit(rows())
    model = new("roberta-sharded", tiny_reader, start_labels="texts")
    with working_together(Team(0, 2)), pytest.raises(InputError, match="start_labels=texts with a sharded"):
        model.fit(rows())


def test_alone_a_process_has_the_whole_head(tmp_path):
    corpus, settings = rows(), {"width": 16, "filters": 8, "bottleneck": 16, "epochs": 1, "batch": 16}
    runs = [tw.train(corpus, "xml-cnn", settings={**settings, "sharded": on}) for on in (True, False)]
    texts = corpus.train.texts
    np.testing.assert_array_equal(*(run.model.predict(texts, 3).scores for run in runs))
