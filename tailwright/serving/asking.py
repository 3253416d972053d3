"""A request's options, checked against the run that it is for."""

from __future__ import annotations

from collections.abc import Sequence

from tailwright.errors import InputError, quoted
from tailwright.runs.tail import FEWEST_ROWS, can_dial
from tailwright.serving.batch import Options
from tailwright.serving.hosted import Hosted
from tailwright.serving.problems import RequestError
from tailwright.serving.settings import Limits

DEFAULT_K = 5


def options_of(
    hosted: Hosted,
    k: int = DEFAULT_K,
    threshold: float | None = None,
    tail: float | None = None,
    only: Sequence[str] | None = None,
    without: Sequence[str] | None = None,
) -> Options:
    """The options as a batch takes them; `RequestError` for what this run cannot answer."""
    run = hosted.run
    if threshold and not run.gives_probabilities:
        raise RequestError(
            "invalid", f"found a threshold for {run.name}, which gives no probabilities, expected null or 0"
        )
    if tail and not can_dial(run):
        raise RequestError(
            "invalid",
            f"found a tail above 0 for {run.name}, expected a model that gives probabilities and was trained "
            f"on at least {FEWEST_ROWS} rows",
        )
    chosen = None if only is None else _columns(hosted, "only", only)
    barred = _columns(hosted, "not", without or ())
    if (chosen is not None and not set(chosen) - set(barred)) or len(barred) == len(run.labels) > 0:
        raise RequestError(
            "invalid", "found a choice of labels that leaves none, expected at least one label"
        )
    return Options(min(k, max(len(run.labels), 1)), tail or 0.0, threshold, chosen, barred)


def _columns(hosted: Hosted, field: str, labels: Sequence[str]) -> tuple[int, ...]:
    """The columns of labels by id or name, in order."""
    columns = set()
    for label in labels:
        # The error of a lookup looks for similar names, which takes long; the label search is there for that.
        if label not in hosted.lookup:
            raise RequestError(
                "invalid", f"{field}: found {quoted(label)}, expected the id or name of a label"
            )
        try:
            columns.add(hosted.lookup.column_of(label))
        except InputError as error:
            raise RequestError("invalid", f"{field}: {error}") from error
    return tuple(sorted(columns))


def check_texts(texts: Sequence[str], limits: Limits, k: int) -> None:
    """`RequestError` unless a request may have these texts and as many labels."""
    if not 1 <= len(texts) <= limits.texts:
        raise RequestError("invalid", f"found {len(texts)} texts, expected 1 to {limits.texts}")
    longest = max(range(len(texts)), key=lambda number: len(texts[number]))
    if len(texts[longest]) > limits.characters:
        raise RequestError(
            "invalid",
            f"text {longest}: found {len(texts[longest])} characters, expected at most {limits.characters}",
        )
    if len(texts) * k > limits.labels:
        raise RequestError(
            "invalid", f"found {len(texts)} texts with k {k}, expected at most {limits.labels} labels in all"
        )
