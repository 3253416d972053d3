"""Text vectors: of unit length, the same for the same text, the same after saving and loading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus

SMALL = {
    "astec": {
        "width": 8,
        "learners": 2,
        "surrogate.epochs": 2,
        "extreme.epochs": 1,
        "rerank.epochs": 1,
        "shortlist.points": 3,
    },
    "decaf": {"width": 8, "learners": 2, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1},
    "eclare": {"width": 8, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1},
    "twin": {"width": 8, "epochs": 1},
    "attentionxml": {"width": 8, "hidden": 4, "layers": (6,), "epochs": 1, "tree": "flat"},
}
WIDTH = {"astec": 16, "decaf": 16, "eclare": 8, "twin": 8, "attentionxml": 8}


@pytest.mark.parametrize("model", SMALL)
def test_vectors_have_unit_length_and_follow_the_text_alone(model: str, tmp_path: Path) -> None:
    corpus = tiny_corpus()
    run = tw.train(corpus, model, settings=SMALL[model], out=tmp_path / "run")
    texts = ["apple bridge", "zzyzx", "candle part1", "", "apple bridge"]
    vectors = run.model.text_vectors(texts)
    assert vectors is not None
    assert vectors.shape == (5, WIDTH[model])
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 0, 1, 0, 1], abs=1e-6)
    assert np.array_equal(vectors[0], vectors[4])
    assert not np.allclose(vectors[0], vectors[2])
    loaded = tw.load(tmp_path / "run").model.text_vectors(texts)
    assert np.array_equal(loaded, vectors)
    assert run.model.text_vectors([]).shape == (0, WIDTH[model])


def test_more_texts_than_a_block_keep_their_order() -> None:
    corpus = tiny_corpus()
    model = tw.train(corpus, "twin", settings=SMALL["twin"]).model
    texts = corpus.train.texts.to_pylist() * 40
    assert len(texts) > 4096
    few = model.text_vectors(texts[: len(corpus.train)])
    assert np.allclose(model.text_vectors(texts), np.tile(few, (40, 1)), atol=1e-6)


def test_a_model_without_one_encoder_for_all_labels_has_none() -> None:
    corpus, tree = tiny_corpus(), {**SMALL["attentionxml"], "tree": "tree", "max_leaf": 3}
    for name, settings in (("linear", {"trees": 1}), ("popularity", {}), ("attentionxml", tree)):
        assert tw.train(corpus, name, settings=settings).model.text_vectors(["apple"]) is None
