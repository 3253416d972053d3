"""Features of a frozen encoder: equal to fresh ones, computed once, and not lost by a kill."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny_encoders
import torch
from scripts import start_anew, start_script
from tiny_encoders import TEXTS, save_tiny

from tailwright.encoders import frozen_features as module
from tailwright.encoders.frozen_features import frozen_features
from tailwright.encoders.token_batches import bucketed_order
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.errors import TailwrightError
from tailwright.store.shared import spared_seconds


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the encoder read in each of its passes."""
    found: list[int] = []
    forward = TransformerEncoder.forward

    def counted(self, batch, mixing=None):
        found.append(len(batch))
        return forward(self, batch, mixing)

    monkeypatch.setattr(TransformerEncoder, "forward", counted)
    return found


@pytest.mark.parametrize(("precision", "close"), [("float32", 1e-5), ("float16", 5e-3)])
@pytest.mark.parametrize("kind", ["tokens", "first", "first-of-five"])
def test_frozen_features_are_those_of_the_encoder(tiny, kind, precision, close, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_A_BLOCK", 25)
    encoder = TransformerEncoder.pretrained(tiny, kind)
    rows = encoder.tokenizer.rows(TEXTS * 3, encoder.max_tokens)
    frozen = frozen_features(encoder, rows, tmp_path, precision=precision)
    assert (len(frozen), frozen.vectors.dtype) == (len(rows), precision)
    chosen = np.array([4, 0, 11, 1])
    batch = rows.batch(chosen)
    with torch.no_grad():
        fresh = encoder(batch).states
    found = frozen.batch(chosen)
    assert (found.dtype, found.shape) == (torch.float32, fresh.shape)
    if kind == "tokens":
        assert torch.equal(frozen.mask(chosen), torch.from_numpy(batch.inside))
        assert not found[~frozen.mask(chosen)].any()
        fresh, found = fresh[frozen.mask(chosen)], found[frozen.mask(chosen)]
    torch.testing.assert_close(found, fresh, rtol=close, atol=close)


def test_epochs_over_frozen_features_do_no_encoder_work(tiny_bert, tmp_path, calls):
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "tokens")
    rows = encoder.tokenizer.rows(TEXTS * 5, encoder.max_tokens)
    frozen = frozen_features(encoder, rows, tmp_path)
    assert sum(calls) == len(rows)
    for epoch in range(3):
        order = bucketed_order(rows.lengths, 8, 0, "phase", epoch)
        for start in range(0, len(order), 8):
            assert frozen.batch(order[start : start + 8]).isfinite().all()
    again = frozen_features(encoder, rows, tmp_path)
    assert sum(calls) == len(rows)
    np.testing.assert_array_equal(again.vectors, frozen.vectors)


def test_whatever_decides_on_features_gives_another_file(tiny_bert, tiny_roberta, tmp_path):
    first = TransformerEncoder.pretrained(str(tiny_bert), "first")
    changed = TransformerEncoder.pretrained(str(tiny_bert), "first")
    with torch.no_grad():
        next(changed.parameters()).add_(0.1)
    rows = first.tokenizer.rows(TEXTS, 40)
    frozen_features(first, rows, tmp_path)
    frozen_features(first, first.tokenizer.rows(TEXTS, 5), tmp_path)
    frozen_features(first, first.tokenizer.rows(TEXTS[::-1], 40), tmp_path)
    frozen_features(first, rows, tmp_path, precision="float16")
    frozen_features(changed, rows, tmp_path)
    frozen_features(TransformerEncoder.pretrained(str(tiny_bert), "first-of-five"), rows, tmp_path)
    frozen_features(TransformerEncoder.pretrained(str(tiny_roberta), "first"), rows, tmp_path)
    assert len(list(tmp_path.glob("frozen-*/features.npy"))) == 7


@pytest.mark.parametrize("kind", ["tokens", "first"])
def test_rows_before_others_are_read_once(tiny_bert, kind, tmp_path, calls, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_A_BLOCK", 25)
    encoder = TransformerEncoder.pretrained(str(tiny_bert), kind)
    originals, made = TEXTS * 3, ["a made row", "and another one"]
    frozen_features(encoder, encoder.tokenizer.rows(originals, 40), tmp_path)
    calls.clear()
    both = encoder.tokenizer.rows([*originals, *made], 40)
    found = frozen_features(encoder, both, tmp_path)
    assert sum(calls) < len(both) / 2
    np.testing.assert_array_equal(found.vectors, frozen_features(encoder, both, tmp_path / "alone").vectors)


def test_a_damaged_block_is_not_copied(tiny_bert, tmp_path, calls, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_A_BLOCK", 25)
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "first")
    frozen_features(encoder, encoder.tokenizer.rows(TEXTS, 40), tmp_path)
    (path,) = tmp_path.glob("frozen-*/features.npy")
    np.lib.format.open_memmap(path, mode="r+")[:] += 1
    calls.clear()
    more = encoder.tokenizer.rows([*TEXTS, "one more"], 40)
    frozen_features(encoder, more, tmp_path)
    assert sum(calls) == len(more)


@pytest.mark.parametrize("damage", ["a byte", "the header", "the notes", "the end"])
def test_what_is_damaged_is_computed_again(tiny_bert, tmp_path, calls, monkeypatch, damage):
    monkeypatch.setattr(module, "TOKENS_A_BLOCK", 25)
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "tokens")
    rows = encoder.tokenizer.rows(TEXTS * 3, encoder.max_tokens)
    whole = np.array(frozen_features(encoder, rows, tmp_path).vectors)
    (path,) = tmp_path.glob("frozen-*/features.npy")
    content = bytearray(path.read_bytes())
    if damage == "a byte":
        content[-1] ^= 1
    elif damage == "the header":
        content[3] ^= 1
    elif damage == "the end":
        del content[-8:]
    else:
        (path.parent / "blocks.json").write_bytes(b"[")
    path.write_bytes(content)
    calls.clear()
    np.testing.assert_array_equal(frozen_features(encoder, rows, tmp_path).vectors, whole)
    assert 0 < sum(calls) < len(rows) if damage == "a byte" else sum(calls) == len(rows)


def test_numbers_too_large_for_float16_are_refused(tiny_bert, tmp_path):
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "first")
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if name.endswith("LayerNorm.weight"):
                parameter.fill_(1e6)
    rows = encoder.tokenizer.rows(TEXTS, 40)
    with pytest.raises(TailwrightError, match="not finite in float16"):
        frozen_features(encoder, rows, tmp_path, precision="float16")
    assert frozen_features(encoder, rows, tmp_path).batch(np.arange(6)).isfinite().all()


def test_time_that_shared_features_save_is_counted(tiny_bert, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_A_BLOCK", 25)
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "tokens")
    rows = encoder.tokenizer.rows(TEXTS * 3, encoder.max_tokens)
    frozen_features(encoder, rows, tmp_path)
    (path,) = tmp_path.glob("frozen-*/blocks.json")
    noted = [[*block[:3], 100.0] for block in json.loads(path.read_text()) if block[3] >= 0]
    path.write_text(json.dumps(noted))
    spared = spared_seconds()
    frozen_features(encoder, rows, tmp_path)
    assert spared_seconds() == spared  # a folder of one training
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    frozen_features(encoder, rows, tmp_path)
    assert 0 < spared + 100 * len(noted) - spared_seconds() < 100


def test_no_rows_have_no_features(tiny_bert, tmp_path):
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "tokens")
    frozen = frozen_features(encoder, encoder.tokenizer.rows([], 9), tmp_path)
    assert len(frozen) == 0
    assert frozen.batch(np.arange(0)).shape == (0, 0, 16)


def test_notes_that_a_killed_process_left_half_written_are_removed(tiny_bert, tmp_path):
    encoder = TransformerEncoder.pretrained(str(tiny_bert), "first")
    rows = encoder.tokenizer.rows(TEXTS, 40)
    frozen_features(encoder, rows, tmp_path)
    (notes,) = tmp_path.glob("frozen-*/blocks.json")
    left = notes.with_name(".blocks.json.tmp-0123abcd")
    left.mkdir()
    (left / notes.name).touch()
    frozen_features(encoder, rows, tmp_path)
    assert notes.exists()
    assert not left.exists()


@pytest.mark.slow
def test_killed_twice_the_file_is_finished_and_the_same(tmp_path):
    name = str(save_tiny(tmp_path / "bert", "bert"))

    # The lock and the notes are what is tested, not the machine's threads.
    asked = {"strict": True, "OMP_NUM_THREADS": "1"}
    whole = start_script(tiny_encoders.__file__, name, tmp_path / "whole", **asked)
    *undisturbed, expected = whole.communicate()[0].split()
    for blocks in (3, 2):
        process = start_script(tiny_encoders.__file__, name, tmp_path / "killed", **asked)
        process.wait_for_line(blocks)
        process.kill()
        assert process.communicate()[0].startswith("block\n" * blocks)
    last = start_anew(tiny_encoders.__file__, name, tmp_path / "killed", **asked)
    *left, found = last.communicate()[0].split()
    assert found == expected
    # A kill comes before, while or after the block that was announced last is written.
    assert len(undisturbed) - 5 <= len(left) <= len(undisturbed) - 3
    assert not list(Path(tmp_path / "killed").glob("*/.*"))
