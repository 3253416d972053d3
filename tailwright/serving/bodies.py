"""What goes in and out of the API, as checked data; the OpenAPI description is made of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tailwright.serving.asking import DEFAULT_K

Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]


class In(BaseModel):
    """What clients send: nothing is converted, and fields that nobody knows are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Loose(BaseModel):
    """The same for what always comes as text: a query or a form."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Out(BaseModel):
    """What clients get."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PredictBody(In):
    """A text, or several, and what is asked about each."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
            "examples": [
                {"text": "wireless headphones with microphone", "k": 3},
                {"texts": ["red shoes", "wool hat"], "tail": 0.5, "threshold": 0.2},
            ],
        },
    )

    text: str | None = None
    texts: list[str] | None = None
    model: str | None = Field(default=None, description="A name of /v1/models; by default the first.")
    k: Positive = Field(default=DEFAULT_K, description="Labels for each text; at most as many as there are.")
    threshold: Probability | None = Field(default=None, description="Labels with at least this probability.")
    tail: Probability | None = Field(default=None, description="How far rare labels are preferred.")
    only: list[str] | None = Field(default=None, description="Rank these labels alone: ids or names.")
    without: list[str] | None = Field(default=None, alias="not", description="Leave these labels out.")
    explain: bool = Field(default=False, description="Say of each label why it was given.")

    @model_validator(mode="after")
    def _one_of_two(self) -> PredictBody:
        if (self.text is None) == (self.texts is None):
            raise ValueError("exactly one of text and texts")
        return self


class Word(Out):
    """An occurrence of a word, by characters from `start` up to `end`."""

    word: str
    start: int
    end: int
    weight: float


class Row(Out):
    """A training row with the label that is near the text."""

    id: str
    text: str
    similarity: float


class Part(Out):
    """What a part of a fusion said of the label; null if it did not name it."""

    name: str
    score: float | None


class Why(Out):
    """What spoke for a label; lists are empty where nothing is known."""

    words: list[Word]
    rows: list[Row]
    parts: list[Part]


class Label(Out):
    """A label of a text; `probability` is null if the model gives none."""

    id: str
    name: str
    probability: float | None
    score: float
    why: Why | None = Field(default=None, description="Only if it was asked for.")


class Prediction(Out):
    """The labels of a text, best first."""

    labels: list[Label]


class PredictAnswer(Out):
    """A prediction for each text, in order."""

    model: str
    version: str
    predictions: list[Prediction]


class ModelInfo(Out):
    """A run that is served."""

    name: str
    model: str
    labels: int
    rows: int | None
    version: str
    calibrated: bool
    tail: float = Field(description="What a tail of null stands for.")
    recommended_tail: float | None = Field(description="What held-out rows speak for; null without such.")
    loaded: str


class Models(Out):
    """All runs, the default first."""

    models: list[ModelInfo]


class LabelQuery(Loose):
    """What is looked for among the labels."""

    search: str = Field(default="", max_length=1000)
    model: str | None = None
    limit: int = Field(default=20, ge=1, le=1000)


class ModelQuery(Loose):
    """Whose label is asked for."""

    model: str | None = None


class FoundLabel(Out):
    """A label and the number of its training rows."""

    id: str
    name: str
    rows: int


class FoundLabels(Out):
    """The first labels that fit, and how many there are."""

    labels: list[FoundLabel]
    found: int


class Neighbour(Out):
    """A label that is often on the same rows."""

    id: str
    name: str
    weight: float


class NearLabel(Out):
    """A label with a similar text."""

    id: str
    name: str
    similarity: float


class LabelDetails(Out):
    """A label and what is near it."""

    id: str
    name: str
    text: str
    rows: int
    neighbours: list[Neighbour]
    neighbours_known: bool
    nearest: list[NearLabel]


class ErrorContent(Out):
    """What went wrong."""

    code: str
    message: str
    request_id: str


class ErrorBody(Out):
    """The body of every answer that is an error."""

    error: ErrorContent


class Live(Out):
    """The server lives."""

    live: Literal[True]


class Ready(Out):
    """The server is ready."""

    ready: Literal[True]
