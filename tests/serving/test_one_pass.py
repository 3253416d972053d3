"""A text gets in a batch what it gets alone, whatever is asked about the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailwright as tw
from tailwright.checks.corpora import FILLERS, TOPICS, tiny_corpus
from tailwright.runs import Run
from tailwright.serving.batch import DEEPEST, Ask, Options, answers, depth_of

TEXTS = st.lists(st.sampled_from([*TOPICS, *FILLERS, "part3", "unseen", ""]), max_size=4).map(" ".join)
LABELS = st.lists(st.integers(0, 10), max_size=4, unique=True).map(sorted).map(tuple)
OPTIONS = st.builds(
    Options,
    k=st.integers(1, 11),
    tail=st.sampled_from([0.0, 0.3, 1.0]),
    threshold=st.none() | st.floats(0, 1),
    only=st.none() | LABELS.filter(bool),
    without=st.just(()) | LABELS,
).filter(lambda options: options.only is None or bool(set(options.only) - set(options.without)))
ASKS = st.lists(st.builds(Ask, st.lists(TEXTS, min_size=1, max_size=3), OPTIONS), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def run(run_folder: Path) -> Run:
    return tw.load(run_folder)


def alone(run: Run, text: str, options: Options) -> list[tuple[str, str, float]]:
    """What `Run.predict` gives a text."""
    ids = run.labels.ids.to_pylist()
    said = run.predict(
        [text],
        options.k,
        options.tail,
        options.threshold,
        None if options.only is None else [ids[column] for column in options.only],
        [ids[column] for column in options.without] or None,
    )
    return list(zip(said.ids[0], said.names[0], said.scores[0], strict=True))


@settings(max_examples=40)
@given(asks=ASKS)
def test_mixed_requests_in_one_batch_get_bit_for_bit_what_each_gets_alone(run, asks):
    for ask, answer in zip(asks, answers(run, asks), strict=True):
        assert answer.batch == sum(len(one.texts) for one in asks)
        for text, labels in zip(ask.texts, answer.texts, strict=True):
            shown = [(label.id, label.name, label.probability) for label in labels]
            assert shown == alone(run, text, ask.options)


def test_the_model_scores_all_texts_once_whatever_is_asked(run, monkeypatch):
    scored = []
    predict = type(run.model).predict
    monkeypatch.setattr(
        type(run.model),
        "predict",
        lambda self, texts, k: scored.append(len(texts)) or predict(self, texts, k),
    )
    asks = [
        Ask(["apple bridge"], Options(k=2)),
        Ask(["candle", "desert"], Options(k=3, tail=0.5)),
        Ask(["engine"], Options(k=1, without=(0, 1))),
    ]
    answers(run, asks)
    assert scored == [4]


def test_scores_are_those_of_the_model_beside_the_probabilities(run):
    (answer,) = answers(run, [Ask(["apple bridge"], Options(k=3))])
    top = run.top(["apple bridge"], 3)
    assert [label.score for label in answer.texts[0]] == top.scores[0].tolist()
    assert [label.column for label in answer.texts[0]] == top.ids[0].tolist()


def test_a_model_without_probabilities_gives_scores_alone(matcher_folder):
    run = tw.load(matcher_folder)
    (answer,) = answers(run, [Ask(["apple"], Options(k=1))])
    (label,) = answer.texts[0]
    assert (label.name, label.probability) == ("apple things", None)
    assert label.score == run.predict(["apple"], 1).scores[0][0]


def test_in_a_batch_twin_differs_by_rounding_alone():
    corpus = tiny_corpus()
    run = tw.train(corpus, "twin", settings={"epochs": 1}, measure=False)
    texts = corpus.train.texts.to_pylist()[:20]
    for text, answer in zip(texts, answers(run, [Ask([text], Options()) for text in texts]), strict=True):
        (alone_,) = answers(run, [Ask([text], Options())])
        assert [label.id for label in answer.texts[0]] == [label.id for label in alone_.texts[0]]
        for one, other in zip(answer.texts[0], alone_.texts[0], strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-5, abs=1e-5)


def test_a_request_that_needs_very_many_labels_does_not_deepen_the_batch(run):
    wide = Options(k=DEEPEST + 1)
    assert depth_of(wide.request(11), run) > DEEPEST
    several = answers(run, [Ask(["apple"], wide), Ask(["bridge"], Options())])
    assert [len(answer.texts[0]) for answer in several] == [
        len(run.predict(["apple"], 11).ids[0]),
        len(run.predict(["bridge"], 5).ids[0]),
    ]
