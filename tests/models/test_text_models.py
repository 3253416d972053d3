"""What all flat text models hold to: roberta and la-roberta, live and frozen, both heads, and xml-cnn."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import tailwright as tw
from tailwright.augmentation import augmenters
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import empty_pairs, pairs_from_lists
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.errors import InputError
from tailwright.models.shared import token_model
from tailwright.runs import Ensemble, Run
from tailwright.training.phases import Phase

sys.path.insert(0, str(Path(__file__).parent))
from tiny_text_models import FLAT, asked, new

ENCODED = [name for name in FLAT if name != "xml-cnn"]
FROZEN = [name for name, (_, settings) in FLAT.items() if settings.get("frozen")]
# Methods at the rows door that need nothing but the corpus and a dictionary.
METHODS = {"gandalf": {}, "eda": {"rows": "all", "min_words": 1}, "wordnet": {"rows": "all", "min_words": 1}}


@pytest.fixture(scope="module")
def trained(tiny_reader, tmp_path_factory) -> dict[str, Run]:
    """A run of each model, kept in the folder of its name."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name in FLAT:
        model, settings = asked(name, tiny_reader)
        found[name] = tw.train(tiny_corpus(), model, settings=settings, out=folder / name)
    return found


def phase_of(model, corpus: Corpus, monkeypatch) -> Phase:
    """The one phase by which the model would learn."""
    found: list[Phase] = []
    with monkeypatch.context() as patch:
        patch.setattr(token_model, "run_phases", lambda network, phases, **_: found.extend(phases))
        model.fit(corpus, seed=1)
    (phase,) = found
    return phase


def all_scores(model, texts) -> np.ndarray:
    """(texts, labels) float64, in the order of the labels."""
    top = model.predict(texts, len(tiny_corpus().labels))
    return np.take_along_axis(top.scores, np.argsort(top.ids, axis=1), axis=1).astype(np.float64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FLAT)
def test_new_rows_of_every_method_are_learnt_from(name, method, tiny_reader, tmp_path):
    assert augmenters.get(method).card.door == "rows"
    corpus = tiny_corpus(40)
    model, settings = asked(name, tiny_reader, epochs=1)
    run = tw.train(
        corpus,
        model,
        settings=settings,
        augment=[method],
        augment_settings={method: METHODS[method]},
        out=tmp_path / "run",
    )
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    (start,) = (event for event in events if event["event"] == "start" and event["phase"] == model)
    assert start["rows"] > len(corpus.train)
    assert np.isfinite(run.model.predict(corpus.train.texts, 3).scores).all()


@pytest.mark.parametrize("name", ["xml-cnn", *FROZEN])
def test_soft_targets_weights_and_ignored_pairs_reach_the_loss_as_they_are(name, tiny_reader, monkeypatch):
    random = np.random.default_rng(0)
    rows, labels = 10, 11
    texts = tiny_corpus().train.texts.slice(0, rows)
    targets = np.where(random.random((rows, labels)) < 0.3, random.random((rows, labels)), 0)
    ignored = random.random((rows, labels)) < 0.2
    weights = random.uniform(0.1, 2, rows).astype(np.float32)
    pairs = [np.flatnonzero(row).tolist() for row in targets]
    values = [row[row > 0].tolist() for row in targets]
    data = Dataset(
        texts,
        pairs_from_lists(pairs, labels, values),
        weights,
        pairs_from_lists([np.flatnonzero(row).tolist() for row in ignored], labels),
    )
    still = {"drop_words": 0.0, "drop_hidden": 0.0} if name == "xml-cnn" else {}
    model = new(name, tiny_reader, **still)
    phase = phase_of(model, Corpus(data, tiny_corpus().labels), monkeypatch)
    batch = np.array([7, 0, 3, 9])
    model.network.train()
    loss = phase.loss(batch, np.random.default_rng(1), phase.prepare(0, 1)).item()
    model.network.eval()
    scores = all_scores(model, texts)
    losses = (np.logaddexp(0, scores) - targets * scores) * ~ignored * weights[:, None]
    assert loss == pytest.approx(losses[batch].mean(), rel=1e-5)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_encoder_reads_every_row_once(name, tiny_reader, tmp_path, monkeypatch):
    read: list[int] = []
    forward = TransformerEncoder.forward

    def counted(self, batch, mixing=None):
        read.append(len(batch))
        return forward(self, batch, mixing)

    monkeypatch.setattr(TransformerEncoder, "forward", counted)
    corpus = tiny_corpus(40).split(0.25)
    model = new(name, tiny_reader, epochs=4)
    model.watch = {"train": corpus.train}
    model.fit(corpus, seed=0)
    # The training rows for learning, the validation rows, and the watched ones, which are found again.
    assert sum(read) == len(corpus.train) + len(corpus.valid)
    read.clear()
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    for _ in range(2):
        new(name, tiny_reader, epochs=2).fit(corpus, seed=0)
    assert sum(read) == len(corpus.train) + len(corpus.valid)


@pytest.mark.parametrize("name", FROZEN)
def test_models_that_share_their_work_have_a_frozen_encoder_read_predicted_rows_once(
    name, trained, tmp_path, monkeypatch
):
    texts = tiny_corpus(20).train.texts
    alone = trained[name].model.predict(texts, 5)
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    first = trained[name].model.predict(texts, 5)
    monkeypatch.setattr(TransformerEncoder, "forward", None)
    again = trained[name].model.predict(texts, 5)
    assert np.array_equal(first.ids, alone.ids)
    assert np.allclose(first.scores, alone.scores, atol=1e-5)
    assert np.array_equal(again.scores, first.scores)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_encoder_stays_as_it_was(name, tiny_reader, trained):
    encoder = trained[name].model.network.encoder
    assert encoder.identity() == TransformerEncoder.pretrained(tiny_reader, encoder.kind).identity()


@pytest.mark.parametrize("name", [name for name in ENCODED if name not in FROZEN])
def test_a_live_encoder_is_trained(name, tiny_reader, trained):
    encoder = trained[name].model.network.encoder
    assert encoder.identity() != TransformerEncoder.pretrained(tiny_reader, encoder.kind).identity()


def test_two_runs_are_summed_as_probabilities_by_an_ensemble(trained):
    corpus = tiny_corpus()
    runs = trained["xml-cnn"], trained["la-roberta"]
    top = Ensemble(runs).top(corpus.train.texts, 5)
    sums = sum(expit(all_scores(run.model, corpus.train.texts)) for run in runs)
    assert np.array_equal(top.ids[:, 0], sums.argmax(axis=1))
    np.testing.assert_allclose(top.scores[:, 0], sums.max(axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", FLAT)
def test_text_vectors_have_unit_length_and_are_zero_where_nothing_was_read(name, trained):
    texts = ["apple bridge", "", "candle part1", "   ", "apple bridge"]
    vectors = trained[name].model.text_vectors(texts)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 0, 1], abs=1e-6)
    assert np.array_equal(vectors[0], vectors[4])
    assert not np.allclose(vectors[0], vectors[2])
    alone = trained[name].model.text_vectors(["candle part1"])
    np.testing.assert_allclose(alone[0], vectors[2], atol=1e-5)
    assert trained[name].model.text_vectors([]).shape == (0, vectors.shape[1])


def test_a_text_of_unknown_words_alone_has_no_vector(trained):
    assert not trained["xml-cnn"].model.text_vectors(["zzyzx qwv"]).any()


@pytest.mark.parametrize("name", FLAT)
def test_rows_without_labels_and_rows_of_one_word_are_learnt_from(name, tiny_reader):
    corpus = tiny_corpus(20)
    bare = corpus.with_train(replace(corpus.train, targets=empty_pairs(20, len(corpus.labels))))
    words = corpus.with_train(replace(corpus.train, texts=arrow_strings(["apple"] * 20)))
    for source in (bare, words, odd_corpus()):
        model = new(name, tiny_reader, epochs=1)
        model.fit(source, seed=0)
        top = model.predict(["apple", ""], len(source.labels) + 2)
        assert np.isfinite(top.scores[:, : len(source.labels)]).all()
        assert (top.ids[:, len(source.labels) :] == -1).all()


@pytest.mark.parametrize("name", FLAT)
def test_what_would_not_fit_into_memory_is_refused_beforehand(name, tiny_reader, monkeypatch):
    monkeypatch.setattr("tailwright.training.memory.free_mb", lambda: 0.01)
    with pytest.raises(InputError, match=r"training needs about .* MB more, most of it for .*micro_batch"):
        new(name, tiny_reader).fit(tiny_corpus(20), seed=0)
