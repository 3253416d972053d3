"""A server with two runs for the tests of the page, one of whose labels has a hostile name."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asking_server import listening_server, settings_of

import tailwright as tw

HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"
ROWS = [
    ("red leather shoes", "shoes|leather"),
    ("black leather shoes", "shoes|leather"),
    ("brown leather shoes", "shoes|leather"),
    ("wool hat for winter", "hats|winter"),
    ("straw hat", "hats"),
    ("winter shoes with wool", "shoes|winter"),
    ("winter coat", "winter"),
    ("striped img onerror", HOSTILE),
    ("striped shirt", HOSTILE),
    ("green garden shoes", "shoes"),
    ("garden chair", "chairs"),
    ("shoes", "shoes"),
]


@contextmanager
def serving_page(folder: Path) -> Iterator[str]:
    """The address of the page while the runs `first`, which gives probabilities, and `second` are served."""
    data = folder / "train.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "labels"), *ROWS])
    corpus = tw.read(data)
    tw.train(corpus, "linear", augment=[], settings={"trees": 1}, out=folder / "first")
    tw.train(corpus, "popularity", augment=[], out=folder / "second")
    settings = settings_of(folder / "first", folder / "second")
    with listening_server(settings) as (_, port):
        yield f"http://127.0.0.1:{port}/"
