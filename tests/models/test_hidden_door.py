"""The hidden door: at every mix point of every model, mixing nothing changes no bit and mixing does."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailwright.augmentation import AugmenterCard, HiddenAugmenter
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import tiny_corpus
from tailwright.checks.hidden_door import Blend, Blender
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.training import check_door
from tailwright.settings import settings_from
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from tiny_encoders import save_reader
from tiny_text_models import losses

LEARNING = {"epochs": 2, "batch": 16}
WORDS = {**LEARNING, "width": 8, "rate": 3e-3}
LSTM = {**WORDS, "hidden": 4, "layers": (6,)}
ENCODED = {**LEARNING, "rate": 1e-3, "head_rate": 1e-2}
SHARED = {**ENCODED, "head": "shared-mlp", "layers": (8, 4)}
INCEPTION = {**LEARNING, "width": 64, "channels": 4, "max_length": 8, "labels_each": 2, "top_clusters": 2}
AFTER = {"output"}  # what is left of the encoder's points where it is frozen
TOKENS = {"tokens", "embeddings", "layer-1", "layer-2", "layer-3", "layer-4", "output"}

# (model, settings, mix points) by name.
CASES = {
    "xml-cnn": ("xml-cnn", {**WORDS, "filters": 8, "bottleneck": 16}, {"tokens", "embeddings", "output"}),
    "inceptionxml": ("inceptionxml", INCEPTION, {"tokens", "embeddings", "layer-1", "output"}),
    "attentionxml flat": (
        "attentionxml",
        {**LSTM, "tree": "flat"},
        {"tokens", "embeddings", "output", "contexts", "hidden", "pairs"},
    ),
    "attentionxml tree": (
        "attentionxml",
        {**LSTM, "tree": "tree", "nodes": (2, 4), "beam": 2},
        {"tokens", "embeddings", "output", "pairs"},
    ),
    "roberta": ("roberta", ENCODED, TOKENS),
    "roberta frozen": ("roberta", {**ENCODED, "frozen": True}, AFTER),
    "lightxml": ("lightxml", {**ENCODED, "groups": "flat"}, TOKENS),
    "lightxml grouped": ("lightxml", {**ENCODED, "groups": "grouped", "leaf": 3, "hidden": 8}, TOKENS),
    "la-roberta": ("la-roberta", ENCODED, TOKENS | {"contexts", "pairs"}),
    "la-roberta frozen": ("la-roberta", {**ENCODED, "frozen": True}, AFTER | {"contexts", "pairs"}),
    "la-roberta shared": ("la-roberta", SHARED, TOKENS | {"contexts", "hidden", "pairs"}),
    "la-roberta shared frozen": (
        "la-roberta",
        {**SHARED, "frozen": True},
        AFTER | {"contexts", "hidden", "pairs"},
    ),
}


class At(HiddenAugmenter):
    """Blends a share of the row before into each row, at one point of the network."""

    card = Blender.card

    def __init__(self, point: str, share: float) -> None:
        super().__init__()
        self.point, self.share, self.offered = point, share, ()

    def prepare(self, corpus, *, points, seed=0):
        self.offered = points

        def mix(targets, *, epoch, random):
            random.random(100)  # its draws disturb nobody
            return [Blend(self.point, targets, self.share)] if self.point else []

        return mix


def curve(name: str, encoder: str, folder: Path, mixes=()) -> list[float]:
    """The loss of each epoch."""
    model, settings, _ = CASES[name]
    on = {"encoder": encoder} if "roberta" in model or model == "lightxml" else {}
    kind = models.get(model)
    fitted = kind(settings_from(kind.Settings, {**settings, **on}))
    fitted.mixes = mixes
    fitted.fit(tiny_corpus(32), seed=3, work=Workplace(folder))
    return losses(folder)


@pytest.fixture(scope="module")
def encoder_of_four(tmp_path_factory):
    """A BERT of four layers."""
    return str(save_reader(tmp_path_factory.mktemp("encoder") / "bert", width=16, layers=4))


@pytest.fixture(scope="module")
def undisturbed(encoder_of_four, tmp_path_factory):
    return {name: curve(name, encoder_of_four, tmp_path_factory.mktemp("plain")) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_mixing_nothing_gives_the_undisturbed_loss_curve_to_the_bit(
    name, undisturbed, encoder_of_four, tmp_path
):
    offered = At("", 0)
    assert curve(name, encoder_of_four, tmp_path / "none", [offered]) == undisturbed[name]
    assert set(offered.offered) == CASES[name][2]
    idle = Blender(0.0)
    assert curve(name, encoder_of_four, tmp_path / "idle", [idle]) == undisturbed[name]
    assert idle.used <= CASES[name][2]


@pytest.mark.parametrize(
    ("name", "point"), [(name, point) for name, case in CASES.items() for point in sorted(case[2])]
)
def test_mixing_at_each_point_changes_what_is_learnt(name, point, undisturbed, encoder_of_four, tmp_path):
    mixed = curve(name, encoder_of_four, tmp_path, [At(point, 0.3)])
    assert np.isfinite(mixed).all()
    assert mixed[-1] != undisturbed[name][-1]
    idle = curve(name, encoder_of_four, tmp_path / "idle", [At(point, 0.0)])
    assert idle == undisturbed[name]


def test_a_model_says_which_points_it_has_and_others_are_refused():
    for case in CASES.values():
        kinds = {"layers" if point.startswith("layer-") else point for point in case[2]}
        assert kinds <= set(models.card(case[0]).mix_points)
    tail = AugmenterCard("tail", "", "hidden", keeps_targets=False, mix_points=("pairs",))
    check_door("attentionxml", tail)
    with pytest.raises(
        InputError, match=r"roberta cannot be trained with tail, .* at pairs; tail works with: "
    ) as told:
        check_door("roberta", tail)
    assert "attentionxml" in str(told.value)
    assert "xml-cnn" not in str(told.value)


def test_a_point_that_the_settings_close_is_one_line(encoder_of_four, tmp_path):
    class OnlyEmbeddings(At):
        card = AugmenterCard("words", "", "hidden", keeps_targets=True, mix_points=("embeddings",))

    with pytest.raises(
        InputError,
        match=r"words mixes at embeddings; it needs the encoder in the loop .*, expected .*: output",
    ):
        curve("roberta frozen", encoder_of_four, tmp_path, [OnlyEmbeddings("embeddings", 0.3)])


def test_a_fusion_passes_the_door_on(tmp_path):
    kind = models.get("linear+xml-cnn")
    assert set(kind.card.mix_points) == {"tokens", "embeddings", "output"}
    blender = Blender(0.3)
    fusion = kind(settings_from(kind.Settings, {"xml_cnn": CASES["xml-cnn"][1]}))
    fusion.mixes = [blender]
    fusion.fit(tiny_corpus(32), seed=3)
    assert blender.used <= {"tokens", "embeddings", "output"}
    assert blender.used


def test_the_checks_hold_a_hidden_method_to_its_promises():
    check_augmenter(Blender(0.3))

    turn = itertools.count()

    class Unseeded(Blender):
        def prepare(self, corpus, *, points, seed=0):
            return lambda targets, *, epoch, random: [Blend(points[next(turn) % len(points)], targets, 0.3)]

    with pytest.raises(AssertionError, match="the same seed gives another mixing"):
        check_augmenter(Unseeded(0.3))

    class Idle(Blender):
        def prepare(self, corpus, *, points, seed=0):
            return lambda targets, *, epoch, random: []

    with pytest.raises(AssertionError, match="it mixes nothing"):
        check_augmenter(Idle(0.3))


def test_soft_targets_weights_and_ignored_pairs_take_part(tmp_path):
    corpus = tiny_corpus(32)
    kind = models.get("attentionxml")

    def scores(change) -> np.ndarray:
        model = kind(settings_from(kind.Settings, CASES["attentionxml flat"][1]))
        model.mixes = [At("pairs", 0.3)]
        model.fit(corpus.with_train(change(corpus.train)), seed=3)
        return model.predict(corpus.train.texts, 5).scores

    plain = scores(lambda train: train)
    lists = [row.indices.tolist() for row in corpus.train.targets]
    ignored = pairs_from_lists([row[:1] for row in lists], corpus.train.labels)
    soft = corpus.train.targets.copy()
    soft.data = np.full_like(soft.data, 0.5)
    weights = np.linspace(0.5, 2, len(corpus.train)).astype(np.float32)
    for change in (
        lambda train: replace(train, ignored=ignored),
        lambda train: replace(train, targets=soft),
        lambda train: replace(train, weights=weights),
    ):
        assert not np.array_equal(scores(change), plain)
