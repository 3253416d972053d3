"""attentionxml: both forms keep the contract, and the settings decide between them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.pairs import checked
from tailwright.errors import InputError
from tailwright.models.attentionxml import AttentionXmlSettings
from tailwright.models.attentionxml.model import AttentionXml
from tailwright.models.attentionxml.network import TreeNetwork
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from tiny_attentionxml import FLAT, TREE, fitted, of_epochs

# For the 120 rows of the checks.
SMALL = {
    "epochs": 8,
    "batch": 8,
    "width": 32,
    "rate": 0.01,
    "hidden": 16,
    "layers": (16,),
    "average_from": "none",
}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"tree": "flat"}, id="flat"),
        pytest.param({"tree": "tree", "max_leaf": 3, "beam": 2}, id="tree", marks=pytest.mark.slow),
    ],
)
def test_it_passes_the_checks(form):
    check_model("attentionxml", {**SMALL, **form})


def test_the_number_of_labels_chooses_the_form():
    chosen = AttentionXmlSettings()
    assert not chosen.as_tree(4096)
    assert chosen.as_tree(4097)
    assert replace(chosen, tree="tree").as_tree(2)
    assert not replace(chosen, tree="flat").as_tree(10**6)
    assert isinstance(fitted(FLAT).network, TokenNetwork)
    assert isinstance(fitted(TREE).network, TreeNetwork)


@pytest.mark.parametrize(
    ("settings", "labels", "nodes"),
    [
        ({}, 26_983, (512,)),
        ({}, 64, ()),
        ({}, 65, (2,)),
        ({}, 670_091, (2048, 16_384)),
        ({"max_leaf": 8}, 670_091, (2048, 16_384, 131_072)),
        ({"nodes": (4, 16)}, 1000, (4, 16)),
    ],
)
def test_clusters_follow_from_labels_and_leaves(settings, labels, nodes):
    assert settings_from(AttentionXmlSettings, settings).nodes_of(labels) == nodes


def test_more_clusters_than_labels_are_refused_in_one_line():
    with pytest.raises(InputError, match=r"nodes ends with 16.*at most the number of labels, 11"):
        fitted(replace(TREE, nodes=(16,)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": ()}, "layers must be one or more sizes, got none"),
        ({"nodes": (3,)}, "nodes must be growing powers of two, got [3]"),
        ({"nodes": (8, 4)}, "nodes must be growing powers of two, got [8, 4]"),
        ({"nodes": (1,)}, "nodes must be >= 2, got [1]"),
        ({"beam": 0}, "beam must be in [1, 100000], got 0"),
        ({"max_leaf": 0}, "max_leaf must be >= 1, got 0"),
        ({"hidden": 0}, "hidden must be in [1, 65536], got 0"),
        ({"drop_states": 1.0}, "drop_states must be in [0, 1), got 1.0"),
    ],
)
def test_bad_settings_are_named(values, message):
    with pytest.raises(InputError) as caught:
        settings_from(AttentionXmlSettings, values)
    assert message in str(caught.value)


def test_the_layers_of_tailmix_hold_as_many_numbers_as_its_paper_says():
    settings = {"hidden": 256, "layers": (256, 128), "width": 8, "tree": "flat"}
    model = AttentionXml(settings_from(AttentionXmlSettings, settings))
    model.build(tiny_corpus(20), seed=0, work=Workplace())
    numbers = {name: weight.size for name, weight in weights_of(model.network.head).items()}
    assert numbers.pop("attention") == 11 * 512
    assert sum(numbers.values()) == 164_353


@pytest.mark.parametrize("settings", [FLAT, TREE], ids=["flat", "tree"])
def test_frozen_words_stay_as_they_were(settings):
    once = of_epochs(settings, 1)
    fixed = replace(once, words=replace(settings.words, learn_words=False))
    untrained = AttentionXml(fixed)
    untrained.build(tiny_corpus(60), seed=3, work=Workplace())
    tables = [
        {n: table for n, table in weights_of(model.network).items() if n.endswith("words.table.weight")}
        for model in (fitted(fixed), untrained, fitted(once))
    ]
    frozen, before, learnt = tables
    assert len(frozen) == 1
    (name,) = frozen
    assert np.array_equal(frozen[name], before[name])
    assert not np.array_equal(learnt[name], before[name])
    assert len(learnt) == (1 if settings is FLAT else 3)


def test_a_tree_of_frozen_words_is_saved_and_loaded(tmp_path):
    settings = replace(TREE, words=replace(TREE.words, learn_words=False))
    texts = tiny_corpus().train.texts
    model = fitted(settings)
    with writing(tmp_path / "model", kind="model") as folder:
        model.save(folder)
    loaded = AttentionXml(settings)
    loaded.load(open_folder(tmp_path / "model", kind="model"), 11)
    assert np.array_equal(loaded.predict(texts, 5).scores, model.predict(texts, 5).scores)


def test_a_damaged_tree_is_an_input_error(tmp_path):
    model = fitted(TREE)
    with writing(tmp_path / "model", kind="model") as folder:
        folder.json("tree.json", {"nodes": [2, 4]})
        folder.array("leaves", model.network.tree.leaves % 2)
        model.texts.save(folder)
    with pytest.raises(InputError, match=r"leaves must be in 0\.\.3, each of them there"):
        AttentionXml(TREE).load(open_folder(tmp_path / "model", kind="model"), 11)


def test_labels_in_another_order_are_learnt_as_well():
    corpus, settings = tiny_corpus(), settings_from(AttentionXmlSettings, {**SMALL, "tree": "flat"})
    order = np.random.default_rng(0).permutation(len(corpus.labels))
    turned = Corpus(replace(corpus.train, targets=checked(corpus.train.targets[:, order])), corpus.labels)
    best = []
    for each in (corpus, turned):
        model = AttentionXml(settings)
        model.fit(each, seed=1)
        best.append(model.predict(each.train.texts, 1).ids[:, 0])
    right = [corpus.train.targets[row, order[label]] > 0 for row, label in enumerate(best[1])]
    assert np.mean(right) > 0.6
    assert np.mean(best[0] == order[best[1]]) > 0.5
