"""`--log-to`: the callbacks that a command can be given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tailwright.callbacks import Callback, MLflow, TensorBoard
from tailwright.errors import InputError, quoted

LogTo = Annotated[
    list[str] | None,
    typer.Option(
        "--log-to",
        metavar="PLACE",
        help="Log losses and metrics to tensorboard:DIR, mlflow or mlflow:EXPERIMENT; may be repeated.",
        show_default=False,
    ),
]


def callbacks_of(places: Sequence[str]) -> list[Callback]:
    """A callback for each place; an InputError for what is none, or where an extra is missing."""
    return [_callback(place) for place in places]


def _callback(place: str) -> Callback:
    kind, colon, rest = place.partition(":")
    if kind == "tensorboard" and rest:
        return TensorBoard(rest)
    if kind == "mlflow" and bool(colon) == bool(rest):
        return MLflow(rest) if rest else MLflow()
    raise InputError(f"--log-to {quoted(place)}", expected="tensorboard:DIR, mlflow or mlflow:EXPERIMENT")
