"""The advisor: short probes, successive halving, and an answer that says how sure it is."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus, LabelSpace
from tailwright.errors import InputError
from tailwright.study.advise import advisor
from tailwright.study.advise.advisor import Contender, advise, contenders_for

SOFT, HARD = Contender("gandalf"), Contender("gandalf", {"soft": False})


class Clock:
    """A clock that goes on by a fixed time whenever it is read."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def small_start(monkeypatch):
    """Miniatures that begin with 60 rows, so that a tiny corpus has room to grow."""
    monkeypatch.setattr(advisor, "ROWS_TO_BEGIN_WITH", 60)


def test_a_method_that_the_model_cannot_take_is_no_contender():
    corpus = tiny_corpus(20)
    methods = {model: {c.method for c in contenders_for(model, corpus)} for model in ("linear", "twin")}
    assert "labelmix" in methods["twin"]
    assert "labelmix" not in methods["linear"]
    assert "gandalf" in methods["linear"]


def test_a_mixup_is_a_contender_where_the_model_has_its_mix_point():
    corpus = tiny_corpus(20)
    names = ("attentionxml", "roberta", "linear")
    mixups = {"tailmix", "wordmix", "hiddenmix", "tmix", "ssmix"}
    methods = {model: {c.method for c in contenders_for(model, corpus)} & mixups for model in names}
    assert methods == {"attentionxml": mixups - {"tmix"}, "roberta": mixups - {"tailmix"}, "linear": set()}


@pytest.mark.slow
def test_mixups_are_tried_and_ranked(small_start):
    tried = [Contender("tailmix"), Contender("wordmix")]
    advice = advise(tiny_corpus(80), "attentionxml", budget=1e9, contenders=tried)
    assert {entry.contender.method for entry in advice.ranking} == {"tailmix", "wordmix"}


def test_a_method_that_needs_label_texts_is_no_contender_without_them():
    corpus = tiny_corpus(20)
    nameless = Corpus(corpus.train, LabelSpace.numbered(len(corpus.labels)))
    assert {c.method for c in contenders_for("linear", nameless)}.isdisjoint({"gandalf", "labelmix"})


def test_a_method_that_needs_wordnet_is_no_contender_without_it(monkeypatch):
    corpus = tiny_corpus(20)
    assert {"eda", "wordnet"} <= {c.method for c in contenders_for("linear", corpus)}
    monkeypatch.setattr("tailwright.data.wordnet._usual_folders", lambda: iter([]))
    monkeypatch.delenv("TAILWRIGHT_WORDNET", raising=False)
    assert {c.method for c in contenders_for("linear", corpus)}.isdisjoint({"eda", "wordnet"})


def test_contenders_say_how_to_ask_for_them():
    assert Contender().options() == ["--augment", "none"]
    assert HARD.options() == ["--augment", "gandalf", "--set", "gandalf.soft=false"]
    assert [c.name for c in (Contender(), SOFT, HARD)] == ["none", "gandalf", "gandalf (soft=false)"]


def test_label_texts_as_rows_are_recommended_where_rows_say_nothing_of_the_labels():
    """Every label has one row of noise, and its text tells it: only rows made of label texts can help."""
    advice = advise(unseen_words(), "linear", metric="P@1", budget=1e6, contenders=[HARD])
    gain = advice.ranking[0].gains["all"]["P@1"]
    assert gain.low > 0
    assert advice.chosen == HARD
    assert "gandalf (soft=false) changes P@1 by +" in advice.reason


def test_the_rule_is_kept_to_where_nothing_is_better_beyond_noise():
    half = Contender("gandalf", {"soft": False, "weight": 0.5})
    answers = [
        advise(unseen_words(), "linear", metric="P@1", budget=1e6, contenders=[HARD, half], rule=rule)
        for rule in (None, HARD, half)
    ]
    first = answers[0].chosen
    assert [answer.chosen for answer in answers] == [first, HARD, half]
    kept = answers[1 if first == half else 2]
    assert kept.reason.startswith(f"{first.name} changes P@1 by +")
    assert f", {kept.chosen.name} by +" in kept.reason
    assert kept.reason.endswith("which is no less beyond noise")


def test_without_a_gain_beyond_noise_the_advice_is_none(small_start):
    # A model that learns nothing from rows gains nothing from more of them.
    advice = advise(tiny_corpus(200), "label-matcher", budget=1e6, contenders=[SOFT])
    assert advice.ranking[0].gains["all"]["P@1"].mean == 0
    assert advice.chosen == Contender()
    assert "no gain beyond noise" in advice.reason


def test_each_round_has_fewer_contenders_on_more_labels_and_its_own_baseline(small_start):
    tried = [SOFT, HARD, *(Contender("gandalf", {"threshold": t}) for t in (0.2, 0.3, 0.4))]
    advice = advise(tiny_corpus(300), "label-matcher", budget=400.0, contenders=tried, clock=Clock(1.0))
    rounds = [list(group) for _, group in itertools.groupby(advice.probes, key=lambda p: p.round)]
    assert len(rounds) >= 3
    sizes = [len(probes) - 1 for probes in rounds]
    assert sizes[:3] == [5, 3, 2]
    assert all(not probes[0].contender.method for probes in rounds)
    shares = [probes[0].share for probes in rounds]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0]
    assert all(len({p.seed for p in probes}) == 1 for probes in rounds)
    assert len({probes[0].seed for probes in rounds}) == len(rounds)


def test_a_budget_that_is_spent_at_once_leaves_what_is_known(small_start):
    advice = advise(tiny_corpus(200), "label-matcher", budget=3.0, contenders=[SOFT, HARD], clock=Clock(1.0))
    assert len(advice.probes) == 1
    assert advice.ranking == ()
    assert advice.chosen == Contender()
    assert "could be tried" in advice.reason


@pytest.mark.parametrize("budget", [20, 40])
def test_a_round_that_was_cut_short_does_not_count(small_start, budget):
    advice = advise(
        tiny_corpus(300), "label-matcher", budget=budget, contenders=[SOFT, HARD], clock=Clock(1.0)
    )
    sizes = Counter(p.round for p in advice.probes)
    assert sizes[max(sizes)] < 3, "the budget cut no round short: the test does not test"
    whole = {p.share for p in advice.probes if sizes[p.round] == 3}
    assert {entry.share for entry in advice.ranking} <= whole
    assert len(advice.ranking) == 2


def test_test_rows_are_never_looked_at(small_start):
    corpus = tiny_corpus(200)
    train, test = corpus.train.split(0.3, seed=1)
    answers = []
    for rows in (test, train.take(range(20))):
        with_test = Corpus(train, corpus.labels, test=rows)
        answers.append(advise(with_test, "linear", budget=200.0, contenders=[HARD], clock=Clock(1.0)))
    first, second = (a.ranking[0].gains["all"]["P@1"] for a in answers)
    assert first == second


def test_validation_rows_that_are_there_are_used(small_start):
    corpus = tiny_corpus(200)
    train, valid = corpus.train.split(0.25, seed=1)
    given = Corpus(train, corpus.labels, valid=valid)
    advice = advise(given, "label-matcher", budget=300.0, contenders=[SOFT], clock=Clock(1.0))
    assert advice.ranking[0].gains["all"]["P@1"].rows == len(valid)


@pytest.mark.parametrize("has_validation_rows", [True, False])
def test_a_model_never_sees_the_rows_that_judge_it(small_start, monkeypatch, has_validation_rows):
    """A fusion would learn its combination from them."""
    corpus = tiny_corpus(200)
    if has_validation_rows:
        corpus = corpus.split(0.25, seed=1)
    judges = set(corpus.split(advisor.VALID, seed=0).valid.origin.rows.tolist())
    plain, given = advisor.train, []

    def train(corpus, model, **asked):
        given.append(corpus)
        return plain(corpus, model, **asked)

    monkeypatch.setattr(advisor, "train", train)
    advise(corpus, "label-matcher", budget=300.0, contenders=[SOFT], clock=Clock(1.0))
    assert given
    for small in given:
        assert small.valid is None
        assert judges.isdisjoint(small.train.origin.rows.tolist())


def test_a_miniature_does_what_the_model_would_do_with_all_rows(small_start, monkeypatch):
    """A fusion of fewer rows than its limits takes label texts as rows and learns twice."""
    monkeypatch.setattr(advisor, "train", lambda corpus, model, **asked: given.append(asked["settings"]))
    for rows, settings in (
        (9_999, {}),
        (10_000, {"linear.label_rows_below": 0}),
        (20_000, {"few_rows": 0, "linear.label_rows_below": 0}),
    ):
        assert advisor.decided_by_all_rows("linear+twin+label-matcher", rows) == settings
    assert advisor.decided_by_all_rows("linear", 10**6) == {}
    given: list[dict] = []
    monkeypatch.setattr(advisor, "decided_by_all_rows", lambda model, rows: {"few_rows": rows})
    with pytest.raises(AttributeError):  # nothing was trained
        advise(tiny_corpus(200), "linear+twin", budget=300.0, contenders=[SOFT])
    assert given == [{"few_rows": len(tiny_corpus(200).train)}]


def test_advice_says_on_how_many_labels_it_rests(small_start):
    corpus = tiny_corpus(300)
    for budget, said in ((20, f" of the {len(corpus.labels):,} labels"), (1e9, "")):
        advice = advise(corpus, "label-matcher", budget=budget, contenders=[SOFT, HARD], clock=Clock(1.0))
        assert (said in advice.reason) if said else (" labels" not in advice.reason)


@pytest.mark.parametrize(("option", "value"), [("metric", "P@7"), ("budget", 0.0)])
def test_what_cannot_be_asked_for_is_one_line(option, value):
    with pytest.raises(InputError, match="expected"):
        advise(tiny_corpus(50), "linear", **{option: value})


def test_too_few_rows_to_hold_some_out_is_one_line():
    with pytest.raises(InputError, match="10 training rows or more"):
        advise(tiny_corpus(1), "linear")


def unseen_words() -> Corpus:
    """60 labels: a training row each with words of its own, validation rows made of the label's text."""
    from tailwright.data.dataset import Dataset, arrow_strings
    from tailwright.data.pairs import pairs_from_lists

    count = 60
    names = arrow_strings([f"topic{i} thing{i}" for i in range(count)])
    labels = LabelSpace(arrow_strings([str(i) for i in range(count)]), names, names)
    ids = [[i] for i in range(count)]
    train = Dataset(arrow_strings([f"noise{i} noise" for i in range(count)]), pairs_from_lists(ids, count))
    valid = Dataset(arrow_strings([f"about topic{i}" for i in range(count)]), pairs_from_lists(ids, count))
    return Corpus(train, labels, valid=valid)
