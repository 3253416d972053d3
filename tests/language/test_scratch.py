"""The generator `scratch`: a vocabulary and a small model of the corpus' own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scripts import start_anew, start_script

from tailwright.errors import InputError
from tailwright.language.causal import scratch_generator
from tailwright.language.settings import TuningSettings
from tailwright.language.tuning import tuned_generator

sys.path.insert(0, str(Path(__file__).parent))
from tiny_tuning import copies, digest, text_pairs


def made(seed: int = 0, lower_case: bool = True):
    pairs = text_pairs(["Red cat", "Grüße 日本"], ["big dog 🙂", ""])
    settings = TuningSettings(
        scratch_width=32, scratch_layers=2, scratch_vocabulary=300, separator=None, lower_case=lower_case
    )
    return scratch_generator(pairs, settings, seed)


def test_any_text_can_be_written_and_read():
    generator = made(lower_case=False)
    for text in ("Red cat", "Ωmega \u200b x", "日本 🙂 ñandú", "a" * 50):
        assert generator.text(generator.tokens(text)) == " ".join(text.split())
    assert generator.tokens("") == []


def test_the_vocabulary_is_bounded_and_has_end_and_separator():
    generator = made()
    assert len(generator.tokenizer) <= 301
    assert generator.model.config.vocab_size == len(generator.tokenizer)
    assert generator.end != generator.separator[0]


def test_weights_follow_the_seed():
    assert digest(made(0)) == digest(made(0))
    assert digest(made(0)) != digest(made(1))


@pytest.mark.slow
def test_another_process_makes_the_same_vocabulary_and_weights(tmp_path):
    (tmp_path / "makes.py").write_text(
        "import test_scratch as t; g = t.made();print(t.digest(g), g.tokenizer.backend_tokenizer.to_str())"
    )
    found = {start(tmp_path / "makes.py").communicate()[0] for start in (start_script, start_anew)}
    assert len(found) == 1
    assert found.pop().startswith(digest(made()))


def test_it_is_tuned_like_any_other():
    settings = TuningSettings(epochs=2, batch=8, scratch_width=32, scratch_layers=1, scratch_vocabulary=300)
    first, again = (tuned_generator("scratch", copies(20), settings, seed=0) for _ in range(2))
    assert digest(first) == digest(again) != digest(tuned_generator("scratch", copies(20), settings, seed=1))


def test_small_matrices_beside_random_ones_are_refused():
    with pytest.raises(InputError, match="expected full for the generator scratch"):
        tuned_generator("scratch", copies(20), TuningSettings(mode="lora"), seed=0)
