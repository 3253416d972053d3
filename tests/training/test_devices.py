"""Devices by the name that a user gives."""

from __future__ import annotations

import pytest
import torch

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models.popularity import Popularity
from tailwright.training.devices import device_of


def test_cuda_is_an_error_where_there_is_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of("auto") == device_of("cpu") == torch.device("cpu")
    with pytest.raises(InputError, match="expected auto or cpu"):
        device_of("cuda")


def test_auto_is_cuda_where_there_is_some_and_each_process_has_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_of("auto") == device_of("cuda") == torch.device("cuda")
    assert device_of("cpu") == torch.device("cpu")
    for name, value in {"WORLD_SIZE": "2", "RANK": "3", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert device_of("auto") == torch.device("cuda", 1)


def test_the_device_that_is_asked_for_reaches_the_model(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(Popularity, "fit", lambda self, corpus, **_: seen.append(self.device))
    monkeypatch.setattr(Popularity, "save", lambda self, folder: None)
    tw.train(tiny_corpus(), "popularity", device="cpu")
    tw.train(tiny_corpus(), "popularity")
    assert seen == ["cpu", "auto"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device is cuda, but torch finds none"):
        tw.train(tiny_corpus(), "popularity", device="cuda", out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
