"""A tuning that is killed at any moment ends, when it is asked for again, with the same weights."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest
from scripts import start_anew, start_script
from stopped_fits import stopped_after

from tailwright.language.tuning import tuned_generator, tuning_folder

sys.path.insert(0, str(Path(__file__).parent))
import tiny_tuning


def environment(cache: Path) -> dict[str, str]:
    return {"TAILWRIGHT_CACHE": str(cache), "OMP_NUM_THREADS": "2"}


def place(cache: Path) -> tuple[int, int]:
    """(epoch, batch) of the newest checkpoint; (0, 0) before the first and in the moment of replacing it."""
    try:
        (found,) = cache.glob("work/generator-*/checkpoint/place.json")
        read = json.loads(found.read_text())
    except (OSError, ValueError):
        return 0, 0
    return read["epoch"], read["batch"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "tuning"), [("gpt2", "full"), ("llama", "lora")])
def test_killed_twice_it_ends_with_the_same_weights(kind, tuning, tiny_gpt2, tiny_llama, tmp_path):
    name = tiny_gpt2 if kind == "gpt2" else tiny_llama
    asked = (tiny_tuning.__file__, name, tuning)
    undisturbed = start_script(*asked, strict=True, **environment(tmp_path / "undisturbed"))
    expected, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    cache = tmp_path / "killed"
    for after in ((0, 3), (1, 2)):
        tuning_process = start_script(*asked, strict=True, **environment(cache))
        while tuning_process.poll() is None and place(cache) < after:
            time.sleep(0.001)
        tuning_process.kill()
        tuning_process.communicate()
        assert tuning_process.returncode == -signal.SIGKILL
    last = start_anew(*asked, strict=True, **environment(cache))
    found, _ = last.communicate()
    assert last.returncode == 0
    assert found == expected
    (log,) = cache.glob("work/generator-*/log.jsonl")
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()].count("resume") >= 1


@pytest.mark.parametrize(
    ("tuning", "stop"),
    [
        ("full", 7),
        ("lora", 8),
        *(pytest.param("full", stop, marks=pytest.mark.slow) for stop in (1, 8, 15)),
        *(pytest.param("lora", stop, marks=pytest.mark.slow) for stop in (1, 7, 15)),
    ],
)
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(
    tiny_gpt2, tuning, stop, tmp_path, monkeypatch
):
    name, pairs, settings = str(tiny_gpt2), tiny_tuning.copies(60), tiny_tuning.settings(tuning)
    expected = tiny_tuning.digest(tuned_generator(name, pairs, settings, seed=5))
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "other"))
    with stopped_after(stop):
        tuned_generator(name, pairs, settings, seed=5)
    assert place(tmp_path / "other") > (0, 0)
    assert tiny_tuning.digest(tuned_generator(name, pairs, settings, seed=5)) == expected


def test_a_damaged_checkpoint_is_left_and_tuning_starts_again(tiny_llama, caplog):
    name, pairs, settings = str(tiny_llama), tiny_tuning.copies(20), tiny_tuning.settings("full")
    with stopped_after(1):
        tuned_generator(name, pairs, settings, seed=0)
    weights = tuning_folder(name, pairs, settings, seed=0) / "checkpoint" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    tuned_generator(name, pairs, settings, seed=0)
    assert "tuned from the start" in caplog.text
