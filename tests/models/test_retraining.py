"""LightXML on made rows: f0 on the original ones, then its head on all, from what f0's encoder reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_encoders import save_reader

import tailwright as tw
from tailwright.augmentation import augmenter
from tailwright.augmentation.filter import Filter
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.models.lightxml import LightXmlSettings
from tailwright.models.lightxml.model import LightXml
from tailwright.models.linear import Linear
from tailwright.models.shared.f0 import fitted_f0
from tailwright.runs.run import Run
from tailwright.settings import settings_from
from tailwright.store import shared as room
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

sys.path.insert(0, str(Path(__file__).parent))
from tiny_retraining import FORMS, MADE, ROWS, digest, with_made


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("lightxml") / "bert", width=16, layers=4))


def unfitted(encoder: str, form: str = "flat", **settings) -> LightXml:
    return LightXml(settings_from(LightXmlSettings, {**FORMS[form], "encoder": encoder, **settings}))


def fitted(encoder: str, corpus: Corpus, form: str = "flat", **settings) -> LightXml:
    model = unfitted(encoder, form, **settings)
    model.fit(corpus, seed=3)
    return model


@pytest.fixture(scope="module")
def plain(encoder) -> LightXml:
    """What is learnt from the original rows alone."""
    return fitted(encoder, tiny_corpus(ROWS))


@pytest.fixture
def fits(monkeypatch) -> list[tuple[str, int]]:
    """The retraining setting and the number of rows of every fit of a lightxml, as it begins."""
    seen: list[tuple[str, int]] = []
    fit = LightXml.fit

    def counted(self, corpus, **named):
        seen.append((self.settings.retraining.retrain, len(corpus.train)))
        fit(self, corpus, **named)

    monkeypatch.setattr(LightXml, "fit", counted)
    return seen


def built(encoder: str, plain: LightXml, folder: Path, **settings) -> LightXml:
    """A model before the first step of its retraining."""
    model = unfitted(encoder, **settings)
    model.f0, model._features = plain, folder
    model.build(with_made(), seed=3, work=Workplace())
    return model


def test_f0_is_what_is_learnt_from_the_corpus_without_made_rows(encoder, plain):
    corpus = with_made()
    f0 = fitted_f0(unfitted(encoder).f0_for({"xda"}), corpus, seed=3, work=Workplace())
    assert digest(f0) == digest(plain)


@pytest.mark.parametrize("form", FORMS)
def test_the_encoder_is_that_of_f0_and_the_head_is_another(encoder, form):
    before = weights_of(fitted(encoder, tiny_corpus(ROWS), form).network)
    after = weights_of(fitted(encoder, with_made(), form).network)
    assert before.keys() == after.keys()
    for name, weight in after.items():
        assert np.array_equal(weight, before[name]) == name.startswith("encoder."), name


def test_f0_stays_as_it_was(encoder, plain, tmp_path):
    before = digest(plain)
    model = unfitted(encoder, start="from_f0")
    model.f0 = plain
    model.fit(with_made(), seed=3)
    assert digest(plain) == before != digest(model)


def test_from_f0_the_head_starts_at_what_f0_has_learnt(encoder, plain, tmp_path):
    model = built(encoder, plain, tmp_path, start="from_f0")
    assert digest(model) == digest(plain)


def test_drawn_anew_the_head_starts_at_other_weights_and_at_the_log_odds_of_original_rows(
    encoder, plain, tmp_path
):
    head = built(encoder, plain, tmp_path).network.head
    assert not np.array_equal(head.weight.detach().numpy(), plain.network.head.weight.detach().numpy())
    wanted = (tiny_corpus(ROWS).labels.counts + 0.5) / (ROWS + 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-head.bias.detach().numpy())), wanted, rtol=1e-5)


@pytest.mark.parametrize("passes", ["alternate", "joint"])
def test_original_rows_come_first_in_each_epoch_unless_passes_are_joint(encoder, plain, tmp_path, passes):
    corpus = with_made()
    model = built(encoder, plain, tmp_path, passes=passes)
    tokens = model.texts.tokens(corpus.train.texts)
    (phase,) = model.phases(tokens, corpus, seed=3, work=Workplace())
    first, second = (phase.prepare(epoch, 3)["order"] for epoch in (0, 1))
    assert sorted(first.tolist()) == list(range(ROWS + MADE))
    assert not np.array_equal(first, second)
    assert (set(first[:ROWS].tolist()) == set(range(ROWS))) == (passes == "alternate")
    assert first[:ROWS].tolist() != list(range(ROWS))


@pytest.mark.parametrize(
    ("retrain", "method", "wanted"),
    [("auto", "xda", True), ("auto", "eda", False), ("on", "eda", True), ("off", "xda", False)],
)
def test_which_rows_call_for_a_retraining(encoder, fits, retrain, method, wanted):
    fitted(encoder, with_made(method), retrain=retrain)
    all_rows = (retrain, ROWS + MADE)
    assert fits == ([all_rows, ("auto", ROWS)] if wanted else [all_rows])


def test_made_rows_without_any_original_one_are_learnt_as_ever(encoder, fits):
    corpus = with_made()
    fitted(encoder, corpus.with_train(corpus.train.take(np.arange(ROWS, ROWS + MADE))))
    assert fits == [("auto", MADE)]


def test_epochs_and_rate_of_the_retraining_are_its_own(encoder, tmp_path):
    model = unfitted(encoder, retrain_epochs=3, retrain_rate=1e-12, start="from_f0", average_from="none")
    model.fit(with_made(), seed=3, work=Workplace(tmp_path))
    head = weights_of(fitted(encoder, tiny_corpus(ROWS), average_from="none").network.head)
    for name, weight in weights_of(model.network.head).items():
        np.testing.assert_allclose(weight, head[name], atol=1e-6)
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    epochs = [event["phase"] for event in events if event["event"] == "epoch"]
    assert epochs == ["lightxml"] * 2 + ["lightxml/retraining"] * 3
    assert [event["event"] for event in events].count("memory") == 2


def test_what_made_rows_ignore_is_not_learnt_from_them(encoder, plain):
    model = unfitted(encoder)
    model.f0 = plain
    model.fit(tw.augment(with_made(), "mask", settings={"tail_below": 1}), seed=3)
    assert digest(model) != digest(fitted(encoder, with_made()))


def test_validation_rows_choose_the_best_weights_of_each_part(encoder, tmp_path):
    corpus = with_made()
    valid = Corpus(corpus.train, corpus.labels, valid=tiny_corpus(ROWS).train)
    model = unfitted(encoder, retrain_epochs=2)
    model.fit(valid, seed=3, work=Workplace(tmp_path))
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    judged = [event["phase"] for event in events if event["event"] == "epoch" and "valid" in event]
    assert judged == ["lightxml"] * 2 + ["lightxml/retraining"] * 2


def test_an_f0_that_is_handed_over_gives_the_same_bits(encoder, plain, fits):
    alone = digest(fitted(encoder, with_made()))
    fits.clear()
    model = unfitted(encoder)
    model.f0 = plain
    model.fit(with_made(), seed=3)
    assert fits == [("auto", ROWS + MADE)]
    assert digest(model) == alone


def test_trainings_that_share_their_work_train_f0_once_whatever_they_retrain(
    encoder, tmp_path, monkeypatch, fits
):
    cells = [(with_made(), {}), (with_made(made=20), {}), (with_made(), {"start": "from_f0"})]
    alone = [digest(fitted(encoder, corpus, **settings)) for corpus, settings in cells]
    assert len(set(alone)) == 3
    fits.clear()
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    assert [digest(fitted(encoder, corpus, **settings)) for corpus, settings in cells] == alone
    assert [rows for _, rows in fits] == [ROWS + MADE, ROWS, ROWS + 20, ROWS + MADE]
    assert room.shared_folder() == tmp_path
    assert len(list(tmp_path.glob("f0-*"))) == 1


@pytest.fixture
def asked(monkeypatch) -> list[object]:
    """The models that filters ask."""
    seen: list[object] = []
    refined = Filter.refined

    def noted(self, corpus, *, classifier=None, **named):
        seen.append(classifier.model)
        return refined(self, corpus, classifier=classifier, **named)

    monkeypatch.setattr(Filter, "refined", noted)
    return seen


def run_of(encoder: str, method: str, settings: dict | None = None, **of_filter) -> None:
    chosen = {**FORMS["flat"], "encoder": encoder, **(settings or {})}
    tw.train(
        with_made(method),
        "lightxml",
        augment=["filter"],
        settings=chosen,
        augment_settings={"filter": {"keep": 0.8, **of_filter}},
        seed=3,
    )


def test_the_filter_asks_f0_which_is_trained_once(encoder, plain, asked, fits):
    run_of(encoder, "xda")
    assert [digest(model) for model in asked] == [digest(plain)]
    assert len(fits) == 2
    assert fits[0] == ("auto", ROWS)


def test_the_filter_asks_linear_where_nothing_is_retrained(encoder, asked):
    run_of(encoder, "eda")
    assert [type(model) for model in asked] == [Linear]


def test_f0_is_trained_all_the_same_where_the_filter_asks_another_model(encoder, asked, fits):
    run_of(encoder, "xda", model="linear")
    assert [type(model) for model in asked] == [Linear]
    assert [rows for _, rows in fits][1:] == [ROWS]


def test_a_run_that_has_retrained_is_saved_and_loaded(encoder, tmp_path):
    model = fitted(encoder, with_made(), "grouped")
    Run(model, with_made().labels, ROWS).save(tmp_path / "run")
    assert digest(tw.load(tmp_path / "run").model) == digest(model)


def test_in_groups_a_label_that_made_rows_alone_have_is_never_predicted(encoder):
    corpus = tiny_corpus(ROWS)
    without_rows = np.flatnonzero(corpus.labels.counts == 0)
    model = fitted(encoder, tw.augment(corpus, "gandalf"), "grouped", retrain="on", top_groups=9)
    assert len(without_rows)
    assert not np.isin(without_rows, model.predict(corpus.train.texts, 11).ids).any()


def test_hidden_states_are_mixed_in_the_retraining_alone(encoder, plain):
    model = unfitted(encoder)
    model.mixes = [augmenter("hiddenmix")]
    model.fit(with_made(), seed=3)
    assert model.network.encoder.identity() == plain.network.encoder.identity()
    assert digest(model) != digest(fitted(encoder, with_made()))


def test_a_method_that_mixes_inside_the_frozen_encoder_is_refused_before_f0_is_trained(encoder, fits):
    with pytest.raises(InputError, match="tmix mixes at layers, and the retraining at output"):
        tw.train(
            with_made(),
            "lightxml",
            augment=["filter", "tmix"],
            settings={**FORMS["flat"], "encoder": encoder},
        )
    assert fits == []
