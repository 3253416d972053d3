"""Every model says what memory its training will need, before it trains: more with more rows and labels."""

from __future__ import annotations

import pytest

from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from, settings_table
from tailwright.training.memory import MemoryNeed
from tailwright.training.workplace import Workplace


class _AskedError(Exception):
    """Stops a training where it says what it needs."""


def need_of(name, corpus, encoder, monkeypatch):
    """What a model says that it needs; it is not trained."""
    found = []

    def asked(need, work, advice):
        found.append(need)
        assert advice
        raise _AskedError

    kind = models.get(name)
    names = [one.name for one in settings_table(kind.Settings)]
    settings = {one: str(encoder) for one in names if one.endswith("encoder")}
    monkeypatch.setattr(MemoryNeed, "announce", asked)
    with pytest.raises(_AskedError):
        kind(settings_from(kind.Settings, settings)).fit(corpus)
    return found[0]


@pytest.mark.parametrize("name", models.names())
def test_every_model_says_what_it_needs_and_more_for_more(name, tiny_bert, monkeypatch):
    few, many = (need_of(name, tiny_corpus(rows), tiny_bert, monkeypatch) for rows in (20, 200))
    assert 0 < few.megabytes < many.megabytes
    assert all(size >= 0 for size in (*few.items.values(), *many.items.values()))


@pytest.mark.parametrize("name", ["popularity", "label-matcher", "linear", "linear+twin"])
def test_a_training_for_which_there_is_no_memory_is_refused(name, monkeypatch):
    monkeypatch.setattr("tailwright.training.memory.free_mb", lambda: 0.0)
    with pytest.raises(InputError, match=r"training needs about \d+ MB more, most of it for .*, expected at"):
        models.get(name)().fit(tiny_corpus(), work=Workplace())
