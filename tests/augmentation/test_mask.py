"""mask: which pairs of made rows give no loss, down to the gradients of a network."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy_augmenter import SwapTwoWords

import tailwright as tw
from tailwright.augmentation import mask as module
from tailwright.augmentation import row_augmenter
from tailwright.augmentation.mask import Mask, MaskSettings, head_labels, reweighted_labels
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.checks.refiners import with_copies
from tailwright.data.batch_targets import BatchTargets
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import same_pairs
from tailwright.errors import InputError
from tailwright.models.xml_cnn import XmlCnnSettings
from tailwright.models.xml_cnn.model import XmlCnn
from tailwright.settings import settings_from
from tailwright.training.workplace import Workplace

HEADS = 3  # of the tiny corpus the most frequent labels


class Reweighting(SwapTwoWords):
    """A method that reweights the rows it makes."""

    def refiners(self):
        return (Mask(MaskSettings(kind="reweight")),)


def masked(corpus: Corpus, **asked: object) -> Dataset:
    return tw.augment(corpus, "mask", settings={"head_labels": HEADS, **asked}).train


def test_positive_pairs_of_head_labels_are_masked_on_made_rows_alone():
    corpus = with_copies(tiny_corpus())
    found = masked(corpus)
    heads = np.argsort(-corpus.labels.counts, kind="stable")[:HEADS]
    expected = corpus.train.targets.toarray() > 0
    expected[:, np.setdiff1d(np.arange(11), heads)] = False
    expected[:120] = False
    assert np.array_equal(found.ignored.toarray() > 0, expected)
    assert expected.any()
    assert same_pairs(found.targets, corpus.train.targets)


def test_mask_all_masks_head_labels_that_a_row_lacks_too():
    corpus = with_copies(tiny_corpus())
    found = masked(corpus, kind="mask_all").ignored.toarray()
    assert not found[:120].any()
    assert (found[120:].sum(axis=0) == np.where(found.any(axis=0), 240, 0)).all()
    assert found.any(axis=0).sum() == HEADS


@pytest.mark.parametrize("kind", ["mask_pos", "mask_all"])
def test_pairs_that_were_ignored_before_stay_ignored_once(kind):
    corpus = with_copies(odd_corpus())
    found = masked(corpus, kind=kind)
    before = corpus.train.ignored.toarray()
    assert before.any()
    assert (found.ignored.toarray() >= before).all()
    again = masked(corpus.with_train(found), kind=kind)
    assert again.same_as(found)


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 10), st.integers(0, 12))
def test_heads_are_those_with_rows_enough_or_the_most_frequent(counts, tail_below, number):
    rows = np.array(counts)
    by_count = head_labels(rows, MaskSettings(tail_below=tail_below))
    assert by_count.tolist() == [count >= tail_below for count in counts]
    first = head_labels(rows, MaskSettings(tail_below=tail_below, head_labels=number))
    assert first.sum() == min(number, len(counts))
    assert rows[first].min(initial=10) >= rows[~first].max(initial=-1)


def test_labels_are_counted_in_original_rows_that_weigh_something():
    corpus = with_copies(tiny_corpus())
    counts = corpus.labels.counts
    below = int(counts.max())
    assert masked(corpus, head_labels=None, tail_below=below).ignored.nnz == 2 * below
    assert masked(corpus, head_labels=None, tail_below=below + 1).ignored.nnz == 0
    weights = corpus.train.weights.copy()
    weights[np.flatnonzero(corpus.train.targets[:120, [int(counts.argmax())]].toarray())[0]] = 0
    lighter = corpus.with_train(replace(corpus.train, weights=weights))
    assert masked(lighter, head_labels=None, tail_below=below).ignored.nnz == 0


@pytest.fixture(scope="module")
def network() -> XmlCnn:
    small = {"width": 8, "filters": 4, "bottleneck": 16, "start_bias": "zero"}
    model = XmlCnn(settings_from(XmlCnnSettings, small))
    model.build(tiny_corpus(), seed=0, work=Workplace())
    model.network.eval()  # no dropout
    return model


def gradients(model: XmlCnn, row: Dataset) -> np.ndarray:
    """(labels,) the gradient of the loss of one row by the bias of each label, which is that by its logit."""
    network = model.network
    network.zero_grad()
    encoded = network.encoder(model.texts.tokens(row.texts).padded())
    network(encoded, BatchTargets.of(row)).backward()
    return np.asarray(network.head.bias.grad.numpy())


@pytest.mark.parametrize("kind", ["mask_pos", "mask_all"])
def test_a_network_gets_no_gradient_from_what_is_masked(network, kind):
    """Spec: exactly 0 on a positive head label; on a negative one not 0 for mask_pos, 0 for mask_all."""
    corpus = with_copies(tiny_corpus())
    found = masked(corpus, kind=kind)
    heads = head_labels(corpus.labels.counts, MaskSettings(head_labels=HEADS))
    for place in range(120, 160):
        row = found.take([place])
        positive = row.targets.toarray()[0] > 0
        gradient = gradients(network, row)
        assert (gradient[positive & heads] == 0).all()
        assert (gradient[positive & ~heads] < 0).all()
        assert (gradient[~positive & ~heads] > 0).all()
        assert (gradient[~positive & heads] == 0).all() == (
            kind == "mask_all" or not (~positive & heads).any()
        )
        untouched = gradients(network, corpus.train.take([place]))
        assert (untouched != 0).all()


def test_a_row_of_which_all_labels_are_masked_stays_and_teaches_what_it_is_not(network):
    corpus = with_copies(tiny_corpus())
    found = masked(corpus, head_labels=11)
    assert len(found) == 360
    row = found.take([130])
    positive = row.targets.toarray()[0] > 0
    assert row.learnt_targets().nnz == 0
    gradient = gradients(network, row)
    assert (gradient[positive] == 0).all()
    assert (gradient[~positive] > 0).all()
    assert torch.isfinite(network.network.head.bias.grad).all()


def test_reweight_gives_the_weights_of_the_authors_code():
    weights = reweighted_labels(np.array([50, 10, 5, 1, 0]))
    np.testing.assert_allclose(weights, [0.273824, 0.589605, 0.798328, 1.382745, 1.955497], atol=1e-6)


def test_reweight_weighs_made_rows_and_their_labels_and_ignores_nothing():
    corpus = with_copies(tiny_corpus())
    found = masked(corpus, kind="reweight")
    np.testing.assert_array_equal(found.label_weights, reweighted_labels(corpus.labels.counts))
    np.testing.assert_array_equal(found.weights, np.repeat(np.float32([1, 0.3]), [120, 240]))
    assert same_pairs(found.targets, corpus.train.targets)
    assert same_pairs(found.ignored, corpus.train.ignored)


def test_the_factor_of_reweight_multiplies_weights_that_there_were():
    corpus = with_copies(odd_corpus())
    found, made = masked(corpus, kind="reweight", factor=0.5), ~corpus.train.origin.is_original()
    np.testing.assert_array_equal(found.weights, np.where(made, 0.5, 1) * corpus.train.weights)


def test_a_network_gets_the_gradient_of_a_made_row_times_factor_and_label_weight(network):
    corpus = with_copies(tiny_corpus())
    found = masked(corpus, kind="reweight")
    for place, factors in ((3, 1), (130, 0.3 * found.label_weights)):
        plain, weighted = (gradients(network, rows.take([place])).copy() for rows in (corpus.train, found))
        np.testing.assert_allclose(weighted, factors * plain, rtol=1e-5)


def test_reweight_keeps_the_promises_of_refiners():
    check_augmenter(row_augmenter("mask", {"kind": "reweight"}))


def test_reweight_comes_once():
    corpus = with_copies(tiny_corpus())
    with pytest.raises(InputError, match="the labels of made rows have weights already"):
        masked(corpus.with_train(masked(corpus, kind="reweight")), kind="reweight")


@pytest.mark.parametrize("first", ["mask", "eda"])
def test_made_rows_without_label_weights_do_not_join_those_that_have_them(first):
    """Neither behind them, nor before a method whose own mask reweights."""
    corpus, method = with_copies(tiny_corpus()), "eda"
    if first == "mask":
        corpus = corpus.with_train(masked(corpus, kind="reweight"))
    else:
        method = Reweighting()
    with pytest.raises(InputError, match=r"some made rows have label weights.*`--mask kind=reweight`"):
        tw.augment(corpus, method)


def test_mask_all_says_when_it_would_store_too_many_pairs(monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match=r"mask_all would store 720 pairs.*a larger mask\.tail_below"):
        masked(with_copies(tiny_corpus()), kind="mask_all")


def test_a_run_logs_how_far_labels_are_weighted(tmp_path):
    asked = {"mask": {"kind": "reweight"}}
    corpus, out = with_copies(tiny_corpus()), tmp_path / "run"
    tw.train(corpus, "popularity", augment=["mask"], augment_settings=asked, out=out)
    events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    (logged,) = [event for event in events if event["event"] == "mask"]
    weights = reweighted_labels(corpus.labels.counts)
    assert logged["least"] == pytest.approx(weights.min())
    assert logged["most"] == pytest.approx(weights.max())
    assert logged["rows"] == 240


def test_a_run_logs_how_many_labels_are_heads(tmp_path):
    corpus = with_copies(tiny_corpus())
    tw.train(
        corpus,
        "popularity",
        augment=["mask"],
        augment_settings={"mask": {"tail_below": 20}},
        out=tmp_path / "run",
    )
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    (logged,) = [event for event in events if event["event"] == "mask"]
    assert logged["heads"] == (corpus.labels.counts >= 20).sum()
    assert logged["labels"] == 11
    assert logged["pairs"] > 0
