"""A prompt that is learnt is learnt once, and a kill makes no difference."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
import tiny_t5 as tiny
import torch
from scripts import start_anew, start_script

from tailwright.language import learning
from tailwright.language.corruption import Corruption, corruption_loss
from tailwright.language.prompt_tuning import PromptTuning, pretrains
from tailwright.language.settings import CorruptionSettings, PretrainingSettings, ScratchT5Settings
from tailwright.language.soft_prompt import PromptedT5
from tailwright.language.t5 import scratch_t5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_tiny_t5(tmp_path_factory.mktemp("models") / "t5")


def test_what_is_finished_is_loaded_and_not_learnt_again(folder, monkeypatch, tmp_path):
    first, _ = tiny.tuned(folder)
    (kept,) = tmp_path.rglob("weights.safetensors")
    assert kept.stat().st_size < 4 * first.prompt.numel() + 400  # the prompt alone

    def never(*_: object, **__: object) -> None:
        raise AssertionError("learnt again")

    monkeypatch.setattr(learning, "run_phases", never)
    again, _ = tiny.tuned(folder)
    assert torch.equal(again.prompt, first.prompt)
    for other in ({"length": 2}, {"start": "normal"}, {"rate": 0.2}):
        with pytest.raises(AssertionError, match="learnt again"):
            tiny.tuned(folder, **other)


@pytest.mark.slow
def test_killed_while_it_learns_it_ends_with_the_same_prompt(folder, tmp_path):
    def environment(place: str) -> dict[str, str]:
        return {"TAILWRIGHT_CACHE": str(tmp_path / place), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

    undisturbed = start_script(tiny.__file__, folder, strict=True, **environment("undisturbed"))
    expected, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    cache = tmp_path / "killed"
    process = start_script(tiny.__file__, folder, strict=True, **environment("killed"))
    while process.poll() is None and not any(cache.glob("work/prompt-*/checkpoint/place.json")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    last = start_anew(tiny.__file__, folder, strict=True, **environment("killed"))
    found, _ = last.communicate()
    assert found == expected
    (log,) = cache.glob("work/prompt-*/log.jsonl")
    assert "resume" in [json.loads(line)["event"] for line in log.read_text().splitlines()]


def test_a_new_t5_learns_to_fill_the_blanks_of_its_texts():
    infiller = scratch_t5(tiny.SENTENCES, ScratchT5Settings(width=32, layers=1, vocabulary=500), 0)
    data = Corruption(infiller, tiny.passages(), 0.15, 128, 0)
    tuning = PromptTuning(infiller, tiny.passages(), CorruptionSettings(), share=0.15, seed=0, key="scratch")

    def loss(network: PromptedT5) -> float:
        with torch.no_grad():
            return float(corruption_loss(network, infiller, data.pairs(range(5), 1000)))

    before = loss(PromptedT5(infiller.model, 0))
    network = tuning.pretrained(PretrainingSettings(epochs=60, batch=10, rate=1e-2))
    assert loss(network) < 0.6 * before
    assert not any(weight.requires_grad for weight in network.parameters())


@pytest.mark.parametrize(
    ("name", "pretrain", "learns"),
    [
        ("scratch", "auto", True),
        ("title-t5", "auto", True),
        ("t5-large", "auto", False),
        ("t5-large", "on", True),
        ("title-t5", "off", False),
    ],
)
def test_by_default_the_weights_of_a_t5_that_fills_no_blanks_learn(name, pretrain, learns):
    assert pretrains(name, PretrainingSettings(pretrain=pretrain)) == learns
