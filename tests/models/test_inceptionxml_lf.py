"""inceptionxml-lf keeps the contract, and its two phases do what its page says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.checks import check_model
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.bags import Bags
from tailwright.encoders.routed_inception import RoutedEncoder
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.settings import InceptionSettings
from tailwright.errors import InputError
from tailwright.heads.label_text_vectors import LabelTextVectors
from tailwright.models.inceptionxml_lf import InceptionXmlLfSettings
from tailwright.models.inceptionxml_lf.model import InceptionXmlLf
from tailwright.settings import settings_from
from tailwright.streams import stream
from tailwright.training.phases import Phase
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

TINY = {"width": 64, "channels": 4, "max_length": 8, "batch": 32, "labels_each": 2, "top_clusters": 2}
QUICK = {**TINY, "epochs": 2, "free_epochs": 2}
STILL = {"drop_words": 0.0, "drop_hidden": 0.0, "drop_meta": 0.0, "drop_labels": 0.0, "drop_attention": 0.0}
LEARNT = {**TINY, **STILL, "epochs": 3, "free_epochs": 3, "batch": 16, "rate": 0.02, "free_rate": 0.02}


def fitted(settings: dict, work: Workplace | None = None) -> InceptionXmlLf:
    model = InceptionXmlLf(settings_from(InceptionXmlLfSettings, settings))
    model.fit(tiny_corpus(), seed=1, work=work)
    return model


def weights(model: InceptionXmlLf) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in weights_of(model.network).items()}


def drawn(*shape: int) -> np.ndarray:
    return stream(0, "drawn").standard_normal(shape, dtype=np.float32)


@pytest.mark.slow
def test_it_passes_the_checks():
    check_model("inceptionxml-lf", LEARNT)


def test_experts_are_summed_by_the_route_of_each_text_beside_an_average_pool():
    encoder = RoutedEncoder(drawn(9, 300), 32, InceptionSettings(), seed=0).eval()
    batch = TokenBatch(np.array([[2, 3], [4, 0]], np.int32), np.array([2, 1], np.int32))
    assert encoder(batch).states.shape == (2, 960)
    experts, h0 = encoder.experts, torch.from_numpy(drawn(2, 32, 300))
    with torch.no_grad():
        routes = torch.sigmoid(h0.mean(2) @ experts.route.weight.T + experts.route.bias)
        expected = h0.reshape(2, 32, 75, 4).mean(3)
        for number, expert in enumerate(experts.experts):
            expected += routes[:, number].view(2, 1, 1) * expert(h0)
        torch.testing.assert_close(experts.routed(h0), expected)


def label_vectors() -> LabelTextVectors:
    """Of four labels over six words; layers and gates are where they start."""
    texts = sparse.random_array((4, 6), density=0.6, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    graph = sparse.csr_array(np.eye(4, dtype=np.float32) + np.eye(4, k=1, dtype=np.float32))
    return LabelTextVectors(RowTable(drawn(6, 5)), Bags.of(texts), Bags.of(graph), 0.0, seed=0, name="labels")


def test_a_label_vector_is_the_attention_over_its_text_and_its_neighbours():
    vectors = label_vectors().eval()
    assert np.array_equal(vectors.array, vectors(np.arange(4)).detach().numpy())
    of_texts = vectors.texts.sum(vectors.words.array)
    sums = map(torch.from_numpy, (of_texts, vectors.neighbours.sum(of_texts)))
    components = [torch.nn.functional.gelu(x) + x for x in sums]  # W is the identity, both gates are 1
    expected = vectors.attention(*components).detach().numpy()
    np.testing.assert_allclose(vectors.array, expected, rtol=1e-4, atol=1e-5)
    some = np.array([1, 3])
    np.testing.assert_allclose(vectors(some).detach().numpy(), expected[some], rtol=1e-4, atol=1e-5)


def test_free_vectors_start_at_the_text_and_the_attention_at_what_it_was():
    vectors = label_vectors()
    vectors.start_free(3, "free")
    assert np.array_equal(vectors.free.array, vectors.text_sums())
    old, new = vectors.attention.outer.weight, vectors.wider_attention.outer.weight
    assert torch.equal(new[:2, :10], old)
    assert torch.equal(vectors.wider_attention.inner.weight, vectors.attention.inner.weight)


def test_the_first_phase_has_no_free_vectors_and_the_second_clusters_labels_anew(monkeypatch):
    seen: list[tuple[bool, bool, np.ndarray]] = []
    watched = Phase.watched

    def noted(self):
        head = self.network.head
        seen.append((head.textual.uses_free, bool(head.textual.free.array.any()), head.groups.of_label))
        return watched(self)

    monkeypatch.setattr(Phase, "watched", noted)
    model = fitted(QUICK)
    assert [(uses, any_free) for uses, any_free, _ in seen] == [(False, False)] * 2 + [(True, True)] * 2
    clusters = [of_label for _, _, of_label in seen]
    assert np.array_equal(clusters[0], clusters[1])
    assert not np.array_equal(clusters[1], clusters[2])
    sizes = np.bincount(clusters[3][clusters[3] >= 0])
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(model.network.learner("learner-1").head.groups.of_label, clusters[3])


def test_stopped_after_any_checkpoint_it_ends_with_the_same_weights(tmp_path):
    expected = weights(fitted(QUICK))
    for stop in (3, 8, 9, 13, 16):  # of 16 steps, 8 in each phase
        folder = tmp_path / str(stop)
        with stopped_after(stop):
            fitted(QUICK, Workplace(folder, checkpoint_seconds=0))
        found = weights(fitted(QUICK, Workplace(folder, resume=True)))
        assert all(np.array_equal(found[name], expected[name]) for name in expected), f"stopped at {stop}"


@pytest.mark.parametrize("method", ["labelmix", "hiddenmix", "gandalf"])
def test_every_door_is_open(method):
    run = tw.train(tiny_corpus(), "inceptionxml-lf", augment=[method], settings=QUICK, seed=1)
    assert np.isfinite(run.model.predict(["apple bridge"], 3).scores).all()


def test_words_that_do_not_learn_stay_as_they_were():
    model = InceptionXmlLf(settings_from(InceptionXmlLfSettings, {**QUICK, "learn_words": False}))
    model.build(tiny_corpus(), seed=1, work=Workplace())
    before = weights(model)["learner-1.encoder.words.table.weight"]
    model.fit(tiny_corpus(), seed=1)
    assert np.array_equal(weights(model)["learner-1.encoder.words.table.weight"], before)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 63}, "width must be >= 64, got 63"),
        ({"free_epochs": 0}, "free_epochs must be in \\[1, 1000000\\], got 0"),
        ({"top_clusters": 0}, "top_clusters must be >= 1 or none, got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        settings_from(InceptionXmlLfSettings, values)
