"""wordMix, hiddenMix, TMix and SSMix: shares, partners, mixed targets, masks, windows."""

from __future__ import annotations

import itertools
import logging
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stopped_fits import stopped_after
from torch.nn import functional

from tailwright.augmentation import augmenter
from tailwright.augmentation.shared import mixup
from tailwright.augmentation.shared.mixup import (
    Interpolation,
    MixupSettings,
    drawn_shares,
    interpolated,
    other_half,
)
from tailwright.augmentation.ssmix import SpanMixing, windows
from tailwright.augmentation.tmix import layers_of
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.batch_targets import BatchTargets
from tailwright.data.text.sequences import TokenBatch
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from tiny_encoders import save_reader
from tiny_text_models import losses

LABELS = 6


def batch_of(rows, ignored=(), weights=None) -> BatchTargets:
    """Rows as {label: value}; `ignored` are (row, label) pairs."""
    labels = [label for row in rows for label in sorted(row)]
    values = [row[label] for row in rows for label in sorted(row)]
    starts = np.cumsum([0, *map(len, rows)])
    lists = [sorted(label for at, label in ignored if at == row) for row in range(len(rows))]
    return BatchTargets(
        starts.astype(np.int64),
        np.array(labels, dtype=np.int32),
        np.array(values, dtype=np.float32),
        np.cumsum([0, *map(len, lists)]).astype(np.int64),
        np.array(list(itertools.chain.from_iterable(lists)), dtype=np.int32),
        np.ones(len(rows), dtype=np.float32) if weights is None else np.array(weights, dtype=np.float32),
    )


def dense(targets: BatchTargets) -> np.ndarray:
    matrix = np.zeros((len(targets), LABELS))
    matrix[targets.rows, targets.labels] = targets.values
    return matrix


ROWS = [{0: 1.0, 2: 0.5}, {2: 1.0, 5: 1.0}, {}, {1: 0.25}]


@given(
    st.permutations(range(4)),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4),
)
def test_the_loss_of_mixed_targets_is_the_mixed_loss_of_both_rows(partners, shares, weights):
    targets, shares, partners = batch_of(ROWS, weights=weights), np.array(shares), np.array(partners)
    mixed = interpolated(targets, partners, shares)
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(4, LABELS)))

    def loss(of: np.ndarray) -> np.ndarray:
        each = functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(of), reduction="none")
        return each.sum(1).numpy()

    own, others = dense(targets), dense(targets)[partners]
    w = np.array(weights)
    expected = shares * w * loss(own) + (1 - shares) * w[partners] * loss(others)
    np.testing.assert_allclose(mixed.weights * loss(dense(mixed)), expected, rtol=1e-4, atol=1e-5)
    assert ((mixed.values > 0) & (mixed.values <= 1)).all()


@given(
    st.permutations(range(4)),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4),
    st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=4, max_size=4),
)
def test_the_loss_of_each_label_is_mixed_with_its_weight(partners, shares, weights, made):
    targets = replace(
        batch_of(ROWS, weights=weights),
        label_weights=np.array([0.25, 0.5, 1, 2, 3, 4], dtype=np.float32),
        made=np.array(made, dtype=np.float32),
    )
    shares, partners = np.array(shares), np.array(partners)
    mixed = interpolated(targets, partners, shares)
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(4, LABELS)))

    def losses(of: BatchTargets, order: np.ndarray) -> np.ndarray:
        """(rows, labels), times the weights of pairs."""
        target = torch.from_numpy(dense(of)[order])
        each = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").numpy()
        return each * np.stack([of.pair_weights(order, np.full(4, label)) for label in range(LABELS)], 1)

    rows = np.arange(4)
    expected = shares[:, None] * losses(targets, rows) + (1 - shares)[:, None] * losses(targets, partners)
    np.testing.assert_allclose(losses(mixed, rows), expected, rtol=1e-4, atol=1e-5)
    assert ((mixed.values > 0) & (mixed.values <= 1)).all()


def test_a_pair_that_either_row_ignores_is_ignored():
    targets = batch_of(ROWS, ignored=[(0, 4), (1, 0)])
    mixed = interpolated(targets, np.array([1, 0, 2, 3]), np.full(4, 0.7))
    pairs = set(zip(mixed.ignored_rows.tolist(), mixed.ignored.tolist(), strict=True))
    assert pairs == {(0, 4), (0, 0), (1, 0), (1, 4)}


def test_a_share_of_one_leaves_targets_and_states_as_they_are():
    targets = batch_of(ROWS, weights=[1, 2, 3, 0.1])
    mixed = interpolated(targets, np.array([1, 0, 3, 2]), np.ones(4))
    np.testing.assert_array_equal(dense(mixed), dense(targets))
    np.testing.assert_array_equal(mixed.weights, targets.weights)
    states, mask = torch.randn(4, 3, 2), torch.ones(4, 3, dtype=torch.bool)
    same = Interpolation("output", targets, np.array([1, 0, 3, 2]), 1.0).activations(states, mask)
    assert same[0] is states
    assert same[1] is mask


def test_states_are_padded_with_zeros_and_masks_are_joined():
    states = torch.arange(12.0).view(2, 3, 2) + 1
    mask = torch.tensor([[True, False, False], [True, True, False]])
    mixing = Interpolation("embeddings", batch_of([{}, {}]), np.array([1, 0]), 0.75)
    mixed, joined = mixing.activations(states, mask)
    torch.testing.assert_close(mixed[0, 0], 0.75 * states[0, 0] + 0.25 * states[1, 0])
    torch.testing.assert_close(mixed[0, 1], 0.25 * states[1, 1])
    assert mixed[:, 2].abs().sum() == 0
    assert joined.tolist() == [[True, True, False], [True, True, False]]
    first = Interpolation("embeddings", batch_of([{}, {}]), np.array([1, 0]), 0.75, "first")
    assert first.activations(states, mask)[1] is mask


def test_the_first_row_has_the_larger_share_unless_shares_are_as_drawn():
    random = np.random.default_rng(0)
    larger = drawn_shares(MixupSettings(alpha=0.4), random, (2000,))
    assert larger.min() >= 0.5
    drawn = drawn_shares(MixupSettings(alpha=0.4, share="drawn"), random, (2000,))
    assert drawn.min() < 0.1
    assert abs(drawn.mean() - 0.5) < 0.05


@given(st.integers(0, 9))
def test_halves_are_mixed_both_ways_and_an_odd_row_stays(rows):
    partners = other_half(rows, np.random.default_rng(0))
    assert (partners[partners] == np.arange(rows)).all()
    alone = partners == np.arange(rows)
    assert alone.sum() == rows % 2


def test_tmix_takes_the_layers_of_the_paper_or_their_share():
    assert [layers_of(depth) for depth in (12, 24, 6, 4, 1)] == [
        (7, 9, 12),
        (14, 18, 24),
        (4, 5, 6),
        (3, 4),
        (1,),
    ]
    points = tuple(f"layer-{layer}" for layer in range(1, 7))
    mix = augmenter("tmix").prepare(tiny_corpus(), points=points)
    assert mix.points == ("layer-4", "layer-5", "layer-6")
    chosen = augmenter("tmix", {"layers": "1,2"}).prepare(tiny_corpus(), points=points)
    assert chosen.points == ("layer-1", "layer-2")
    with pytest.raises(InputError, match=r"tmix\.layers has 9, expected at most 6"):
        augmenter("tmix", {"layers": "9"}).prepare(tiny_corpus(), points=points)


def test_hiddenmix_draws_among_all_points_or_takes_the_output():
    points = ("embeddings", "output", "contexts", "hidden")
    anywhere = augmenter("hiddenmix").prepare(tiny_corpus(), points=points)
    random = np.random.default_rng(0)
    drawn = {anywhere(batch_of(ROWS), epoch=0, random=random)[1].point for _ in range(60)}
    assert drawn == set(points)
    output = augmenter("hiddenmix", {"layers": "output"}).prepare(tiny_corpus(), points=points)
    assert output.points == ("output",)


def test_a_batch_is_learnt_unmixed_as_well_unless_it_is_not_wanted():
    passes = augmenter("wordmix").prepare(tiny_corpus(), points=("embeddings",))
    assert [one is None for one in passes(batch_of(ROWS), epoch=0, random=np.random.default_rng(0))] == [
        True,
        False,
    ]
    alone = augmenter("wordmix", {"clean": False}).prepare(tiny_corpus(), points=("embeddings",))
    assert None not in alone(batch_of(ROWS), epoch=0, random=np.random.default_rng(0))


def test_windows_are_the_least_and_the_most_salient_and_never_hold_special_tokens():
    random = np.random.default_rng(0)
    saliency, lengths = random.random((50, 12)), random.integers(3, 13, 50)
    sizes = np.minimum(random.integers(1, 5, 50), lengths - 2)
    least, most = windows(saliency, lengths, sizes, side=1)
    for row in range(50):
        sums = {
            start: saliency[row, start : start + sizes[row]].sum()
            for start in range(1, lengths[row] - 1 - sizes[row] + 1)
        }
        assert least[row] == min(sums, key=sums.get)
        assert most[row] == max(sums, key=sums.get)


def test_ssmix_replaces_a_window_and_mixes_targets_by_what_is_kept():
    lengths = np.array([22, 12, 3, 2], dtype=np.int32)
    ids = np.arange(4 * 22, dtype=np.int32).reshape(4, 22)
    targets = batch_of([{0: 1.0}, {1: 1.0}, {2: 1.0}, {3: 1.0}])
    partners = np.array([1, 0, 3, 2])
    saliency = np.tile(np.arange(22.0), (4, 1))
    mixed, learnt = SpanMixing(targets, partners, 0.1).replaced_tokens(
        TokenBatch(ids, lengths), 2, lambda: saliency
    )
    # Row 0 has 20 tokens beside the special ones, so a window of 2; row 1 has 10, so a window of 1.
    assert mixed.ids[0].tolist() == [0, 22 + 9, 22 + 10, *range(3, 22)]
    assert mixed.ids[1, :12].tolist() == [22, 20, *range(24, 34)]
    np.testing.assert_allclose(dense(learnt)[:2, :2], [[0.9, 0.1], [0.1, 0.9]], rtol=1e-6)
    # A text without a token beside the special ones, and its partner, stay as they are.
    np.testing.assert_array_equal(mixed.ids[2:], ids[2:])
    np.testing.assert_array_equal(dense(learnt)[2:], dense(targets)[2:])


def test_ssmix_needs_no_saliency_where_nothing_can_be_mixed():
    def saliency():
        raise AssertionError

    tokens = TokenBatch(np.zeros((1, 5), dtype=np.int32), np.array([5], dtype=np.int32))
    targets = batch_of([{0: 1.0}])
    assert SpanMixing(targets, np.array([0]), 0.1).replaced_tokens(tokens, 0, saliency)[1] is targets


WORDS = {"epochs": 3, "batch": 16, "width": 8, "hidden": 4, "layers": (6,), "tree": "flat"}
ENCODED = {"epochs": 3, "batch": 16, "rate": 1e-3, "head_rate": 1e-2}
METHODS = ("wordmix", "hiddenmix", "ssmix", "tailmix")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("encoder") / "bert", width=16, layers=4))


def curve(model: str, settings: dict, folder: Path, *mixes) -> list[float]:
    kind = models.get(model)
    fitted = kind(settings_from(kind.Settings, settings))
    fitted.mixes = mixes
    fitted.fit(tiny_corpus(32), seed=3, work=Workplace(folder))
    return losses(folder)


@pytest.mark.parametrize("method", METHODS)
def test_attentionxml_learns_with_each_mixup(method, tmp_path):
    plain = curve("attentionxml", WORDS, tmp_path / "plain")
    settings = {"start_epoch": 1} if method != "tailmix" else {"start_epoch": 1, "graph.most": 5}
    mixed = curve("attentionxml", WORDS, tmp_path / "mixed", augmenter(method, settings))
    assert mixed[0] == plain[0]  # before it begins
    assert mixed[1] != plain[1]
    assert np.isfinite(mixed).all()
    assert len(mixed) == 3


@pytest.mark.parametrize("method", [*METHODS, "tmix"])
def test_la_roberta_learns_with_each_mixup(method, encoder, tmp_path):
    settings = {**ENCODED, "encoder": encoder, "head": "shared-mlp", "layers": (8, 4)}
    plain = curve("la-roberta", settings, tmp_path / "plain")
    mixed = curve("la-roberta", settings, tmp_path / "mixed", augmenter(method, {"start_epoch": 0}))
    assert mixed[0] != plain[0]
    assert np.isfinite(mixed).all()


def test_tmix_with_a_share_of_one_is_the_clean_pass(encoder, tmp_path, monkeypatch):
    settings = {**ENCODED, "encoder": encoder}
    plain = curve("la-roberta", settings, tmp_path / "plain")
    monkeypatch.setattr(mixup, "drawn_shares", lambda settings, random, shape=(): np.ones(shape))
    mix = augmenter("tmix", {"clean": False})
    assert curve("la-roberta", settings, tmp_path / "mixed", mix) == plain


def test_a_head_that_learns_first_learns_unmixed(encoder, tmp_path):
    settings = {**ENCODED, "encoder": encoder, "head_epochs": 2, "head_epochs_rate": 1e-2}
    plain = curve("roberta", settings, tmp_path / "plain")
    mixed = curve("roberta", settings, tmp_path / "mixed", augmenter("wordmix"))
    assert mixed[:2] == plain[:2]
    assert mixed[2] != plain[2]


def test_a_mixup_that_begins_too_late_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"wordmix begins after 3 epochs, expected fewer than the 3 of"):
        curve("attentionxml", WORDS, tmp_path, augmenter("wordmix", {"start_epoch": 3}))


@pytest.mark.slow
def test_the_tree_mixes_at_its_last_level(tmp_path, caplog):
    settings = {**WORDS, "tree": "tree", "nodes": (2, 4), "beam": 2}
    plain = curve("attentionxml", settings, tmp_path / "plain")
    with caplog.at_level(logging.INFO):
        mixed = curve("attentionxml", settings, tmp_path / "mixed", augmenter("tailmix", {"start_epoch": 2}))
    assert len(mixed) == len(plain)
    assert mixed[:-1] == plain[:-1]
    assert mixed[-1] != plain[-1]
    assert "lists were cut to 256" in caplog.text


AVERAGED = {**WORDS, "average_from": 1, "average_every": 1}


def weights_after(
    folder: Path | None, mix: dict, *, resume: bool = False, model: str = "attentionxml", settings=AVERAGED
) -> dict[str, np.ndarray]:
    """What a model has learnt, with a checkpoint after every step."""
    kind = models.get(model)
    fitted = kind(settings_from(kind.Settings, settings))
    fitted.mixes = [augmenter(name, settings) for name, settings in mix.items()]
    fitted.fit(tiny_corpus(32), seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
    return {name: array.copy() for name, array in weights_of(fitted.network).items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


# 32 rows in batches of 16 are two steps an epoch, so the fourth of six is the second with a mixup.
@pytest.mark.parametrize("stop", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("method", ["tailmix", "ssmix"])
def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path, method, stop):
    mix = {method: {"start_epoch": 1}}
    with stopped_after(stop):
        weights_after(tmp_path, mix)
    assert same(weights_after(tmp_path, mix, resume=True), weights_after(None, mix))


def test_trainings_that_share_work_share_the_epochs_before_mixing(tmp_path, monkeypatch):
    mixes = [{"tailmix": {"start_epoch": 2}}, {"tailmix": {"start_epoch": 2, "alpha": 5.0}}]
    alone = [weights_after(None, mix) for mix in mixes]
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    shared = [weights_after(tmp_path / str(number), mix) for number, mix in enumerate(mixes)]
    assert all(same(one, other) for one, other in zip(alone, shared, strict=True))
    assert not same(*alone)
    assert [len(losses(tmp_path / str(number))) for number in range(2)] == [3, 1]


def test_a_training_that_begins_anew_shares_what_came_before_with_one_that_mixes_then(tmp_path, monkeypatch):
    settings, mix = {**AVERAGED, "restart": 2}, {"tailmix": {"start_epoch": 2}}
    plain, mixed = (weights_after(None, one, settings=settings) for one in ({}, mix))
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    assert same(plain, weights_after(tmp_path / "plain", {}, settings=settings))
    assert same(mixed, weights_after(tmp_path / "mixed", mix, settings=settings))
    assert not same(plain, mixed)
    assert [len(losses(tmp_path / name)) for name in ("plain", "mixed")] == [3, 1]


def test_what_a_resumed_training_finishes_is_shared(tmp_path, monkeypatch):
    mixes = [{"tailmix": {"start_epoch": 2}}, {"wordmix": {"start_epoch": 2}}]
    alone = [weights_after(None, mix) for mix in mixes]
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    with stopped_after(2):
        weights_after(tmp_path / "0", mixes[0])
    assert same(alone[0], weights_after(tmp_path / "0", mixes[0], resume=True))
    assert same(alone[1], weights_after(tmp_path / "1", mixes[1]))
    assert len(losses(tmp_path / "1")) == 1


def test_trainings_that_share_work_share_the_head_that_learns_first(encoder, tmp_path, monkeypatch):
    settings = {**ENCODED, "encoder": encoder, "head_epochs": 2}
    mixes = [{}, {"wordmix": {}}]
    alone = [weights_after(None, mix, model="roberta", settings=settings) for mix in mixes]
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    for number, mix in enumerate(mixes):
        shared = weights_after(tmp_path / str(number), mix, model="roberta", settings=settings)
        assert same(shared, alone[number])
    epochs = settings["epochs"]
    assert [len(losses(tmp_path / str(number))) for number in range(2)] == [2 + epochs, epochs]


def test_trainings_that_share_work_share_the_upper_levels_of_a_tree(tmp_path, monkeypatch):
    settings, mix = {**WORDS, "tree": "tree", "nodes": (2, 4), "beam": 2}, {"tailmix": {"start_epoch": 2}}
    mixed = weights_after(None, mix, settings=settings)
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    weights_after(tmp_path / "plain", {}, settings=settings)
    assert same(mixed, weights_after(tmp_path / "mixed", mix, settings=settings))
    assert [len(losses(tmp_path / name)) for name in ("plain", "mixed")] == [9, 3]


def test_a_training_that_begins_anew_too_late_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"restart is 3, expected fewer than the 3 epochs"):
        curve("attentionxml", {**WORDS, "restart": 3}, tmp_path)
