"""`run.explain`: where a label stands and why, as Python values, as text and as HTML."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from html_reading import Reading
from scipy.special import logsumexp

import tailwright as tw
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError
from tailwright.models.fusion.combination import NO_DEVIATION, plain_combination
from tailwright.runs.run import Run

TEXT = "Old apple, zzyzx bridge part1"
FUSION = {"fewest": 10, "held_out": 0.2, "candidates": 4, "twin": {"width": 16, "epochs": 1, "batch": 64}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("data")
    tw.write(tiny_corpus(), folder, format="jsonl")
    return tw.read(folder)


@pytest.fixture(scope="module")
def linear(corpus) -> Run:
    return tw.train(corpus, "linear", settings={"trees": 1})


@pytest.fixture(scope="module")
def fusion(corpus) -> Run:
    return tw.train(corpus, "linear+twin", settings=FUSION)


@pytest.mark.parametrize("tail", [0.0, 1.0])
def test_the_best_labels_are_those_of_predict(linear, tail):
    predicted = linear.predict([TEXT], k=4, tail=tail)
    explained = linear.explain(TEXT, k=4, tail=tail, rows=0)
    assert [label.id for label in explained.labels] == predicted.ids[0]
    assert [label.score for label in explained.labels] == predicted.scores[0]
    assert [label.rank for label in explained.labels] == [1, 2, 3, 4]
    assert explained.tail == tail


def test_a_label_is_asked_for_by_id_or_name_and_once(linear):
    explained = linear.explain(TEXT, ["zeppelin things", "1", "bridge things"], rows=0)
    assert [label.id for label in explained.labels] == ["10", "1"]
    zeppelin = explained.labels[0]
    assert (zeppelin.rank, zeppelin.probability, zeppelin.training_rows) == (None, None, 0)
    assert linear.explain(TEXT, "1", rows=0).labels == explained.labels[1:]


def test_an_unknown_label_is_one_line_with_a_close_match(linear):
    with pytest.raises(
        InputError, match="no label has the id or name 'bridge thing'; did you mean 'bridge t"
    ):
        linear.explain(TEXT, ["bridge thing"])


@pytest.mark.parametrize(("wrong", "said"), [({"k": 0}, "k = 0"), ({"rows": -1}, "rows = -1")])
def test_impossible_numbers_are_one_line(linear, wrong, said):
    with pytest.raises(InputError, match=f"{said}, expected at least"):
        linear.explain(TEXT, **wrong)


def test_the_nearest_rows_carry_the_label_and_share_words(linear, corpus):
    explained = linear.explain(TEXT, k=2, rows=2)
    assert explained.nearest_by == "cosine of TF-IDF"
    for label in explained.labels:
        topic = label.name.split()[0]
        assert len(label.rows) == 2
        assert all(topic in row.text for row in label.rows)
        assert label.rows[0].cosine >= label.rows[1].cosine > 0
    every = linear.explain(TEXT, "0", rows=10**6).labels[0].rows
    assert len(every) == sum("apple" in text for text in corpus.train.texts.to_pylist())


def test_twin_has_its_own_nearest_rows(corpus):
    run = tw.train(corpus, "twin", settings={"width": 16, "epochs": 1, "batch": 64})
    explained = run.explain(TEXT, "0", rows=1)
    carriers = corpus.train.take(corpus.train.targets[:, [0]].nonzero()[0])
    cosines = run.model.text_vectors(carriers.texts) @ run.model.text_vectors([TEXT])[0]
    (row,) = explained.labels[0].rows
    assert (row.text, row.cosine) == (
        carriers.texts[int(cosines.argmax())].as_py(),
        pytest.approx(float(cosines.max())),
    )
    assert explained.nearest_by == "cosine of the model's vectors"


def test_soft_targets_are_shown_and_rows_that_taught_nothing_are_not(tmp_path):
    odd = odd_corpus()
    tw.write(odd, tmp_path, format="jsonl")
    run = tw.train(tw.read(tmp_path), "linear", settings={"trees": 1})
    explained = run.explain("apple bridge", ["c", "e"], rows=5)
    bridge, unseen = explained.labels
    assert [(row.text, row.target) for row in bridge.rows] == [("apple bridge", 0.25)] * 2
    assert "(target 0.25)" in repr(explained)
    assert unseen.rows == ()
    assert "no training row with this label is there" in repr(explained)
    ignored = run.explain("word", "b", rows=5).labels[0]
    assert "" not in [row.text for row in ignored.rows]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"path": ""}, "the run does not say which file its rows came from"),
        ({"path": "/nowhere/data"}, "/nowhere/data"),
        ({"digest": "0"}, "is not what the run was trained on"),
    ],
)
def test_without_its_training_rows_a_run_explains_the_rest(linear, data, said):
    moved = replace(linear, data=linear.data.model_copy(update=data))
    explained = moved.explain(TEXT, k=1)
    assert explained.labels[0].rows == ()
    assert explained.labels[0].reasons == linear.explain(TEXT, k=1).labels[0].reasons
    (note,) = [note for note in explained.notes if "training rows" in note]
    assert note.startswith("no training rows are shown: ")
    assert said in note
    assert "\n" not in note


def test_a_fusion_says_what_its_parts_said(fusion):
    explained = fusion.explain(TEXT, k=1, rows=0).labels[0]
    tops = [part.predict([TEXT], FUSION["candidates"]) for part in fusion.model.parts]
    label = fusion.labels.index_of_id[explained.id]
    for part, top in zip(explained.reasons.parts, tops, strict=True):
        place = top.ids[0].tolist().index(label)
        assert (part.rank, part.score) == (place + 1, pytest.approx(float(top.scores[0, place])))
        assert 0 < part.share <= 1
        assert part.reasons.exact
    assert 1 / (1 + np.exp(-explained.reasons.log_odds)) == pytest.approx(explained.probability, abs=1e-6)
    assert explained.reasons.notes[0].startswith("the parts agree: linear and twin name the label")
    words = {share.word: share.known_by for share in explained.reasons.words}
    assert (words["apple"], words["zzyzx"]) == ("word", "nothing")


def test_a_label_that_no_part_of_a_fusion_names_has_no_probability(fusion):
    named = {int(i) for part in fusion.model.parts for i in part.predict([TEXT], 4).ids[0]}
    silent = next(str(label) for label in range(11) if label not in named)
    explained = fusion.explain(TEXT, silent, rows=0).labels[0]
    assert (explained.probability, explained.reasons.log_odds) == (None, None)
    assert [part.rank for part in explained.reasons.parts] == [None, None]
    assert explained.reasons.notes == ("no part names the label, so it is no candidate",)


def test_what_a_part_adds_is_what_its_silence_would_cost(fusion, monkeypatch):
    """Where shares are averaged, that is half of how far the part's share would fall."""
    monkeypatch.setattr(fusion.model, "combination", plain_combination(2, fusion.model.settings.hidden))
    (label,) = fusion.explain(TEXT, "0", rows=0).labels
    for part, model in zip(label.reasons.parts, fusion.model.parts, strict=True):
        top = model.predict([TEXT], FUSION["candidates"])
        scores = top.scores[0] if part.name == "twin" else np.log(np.maximum(top.scores[0], 1e-4))
        others = scores[top.ids[0] != 0]
        assert len(others) == FUSION["candidates"] - 1
        share = scores[top.ids[0] == 0][0] - logsumexp(scores)
        assert part.share == pytest.approx(np.exp(share), rel=1e-4)
        unnamed = others.min() - 0.5 - logsumexp(others)
        assert part.adds == pytest.approx((share - unnamed) / 2, rel=1e-3)


def test_a_part_that_is_never_silent_adds_nothing_that_is_known(fusion, monkeypatch):
    never = replace(fusion.model.combination, deviation=np.full(12, NO_DEVIATION, np.float32))
    monkeypatch.setattr(fusion.model, "combination", never)
    assert [part.adds for part in fusion.explain(TEXT, "0", rows=0).labels[0].reasons.parts] == [None, None]


@pytest.mark.parametrize("text", ["", "zzyzx"])
def test_a_text_without_known_words_is_explained_too(linear, fusion, text):
    for run in (linear, fusion):
        explained = run.explain(text, k=2)
        assert len(explained.labels) == 2
        assert repr(explained).startswith(text or "(an empty text)")
        assert not any(label.rows for label in explained.labels)


def test_where_no_label_is_named_that_is_said(corpus):
    explained = tw.train(corpus, "label-matcher").explain("zzyzx")
    assert (explained.labels, explained.notes) == ((), ("nothing fits",))
    assert "nothing fits" in explained._repr_html_()


def test_html_and_text_hold_hostile_texts_as_texts():
    hostile = '<script>alert(1)</script> \x1b[31mred & "quoted"'
    corpus = tiny_corpus(40)
    names = arrow_strings([hostile, *corpus.labels.names.to_pylist()[1:]])
    run = tw.train(
        Corpus(corpus.train, LabelSpace(corpus.labels.ids, names)), "linear", settings={"trees": 1}
    )
    explained = run.explain(f"apple {hostile}", "0", rows=0)
    assert "\x1b" not in repr(explained)
    page = Reading(explained._repr_html_())
    assert page.wrong == []
    assert any("<script>alert(1)</script>" in text for text in page.of("span"))
    assert "apple" in page.of("mark")
