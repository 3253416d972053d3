"""The Open Inference Protocol, version 2, below `/v2`: the same answers as tensors.

A tensor `text` of BYTES goes in; `labels` (ids) and `probabilities` come out, (texts, k), where texts with
fewer labels are padded by "" and 0. A model that gives no probabilities puts its scores there.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tailwright import __version__
from tailwright.serving.asking import DEFAULT_K, check_texts, options_of
from tailwright.serving.bodies import In, Positive, Probability
from tailwright.serving.body import json_body
from tailwright.serving.problems import RequestError
from tailwright.serving.service import Note, Service

OUTPUTS = ("labels", "probabilities")


class TextTensor(In):
    """The input: texts, flat or one in a list each."""

    name: Literal["text"]
    shape: list[int] = Field(min_length=1, max_length=2)
    datatype: Literal["BYTES"]
    data: list[str] | list[list[str]]
    parameters: dict[str, Any] | None = Field(default=None, max_length=0)

    @property
    def texts(self) -> list[str]:
        return [text for row in self.data for text in ([row] if isinstance(row, str) else row)]

    @model_validator(mode="after")
    def _whole(self) -> TextTensor:
        if self.shape not in ([len(self.texts)], [len(self.texts), 1]):
            raise ValueError(f"a shape of [{len(self.texts)}] or [{len(self.texts)}, 1]")
        return self


class InferParameters(In):
    """What is asked about each text."""

    k: Positive = DEFAULT_K
    threshold: Probability | None = None
    tail: Probability | None = None


class OutputName(In):
    """An output that is asked for."""

    name: Literal["labels", "probabilities"]
    parameters: dict[str, Any] | None = Field(default=None, max_length=0)


class InferBody(In):
    """A request for labels."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["red shoes"]}],
                    "parameters": {"k": 3},
                }
            ]
        },
    )

    id: str | None = None
    parameters: InferParameters = InferParameters()
    inputs: list[TextTensor] = Field(min_length=1, max_length=1)
    outputs: list[OutputName] | None = None


class OpenInference:
    """The routes of the protocol."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        return [
            Route("/v2", self.server),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.ready),
            Route("/v2/models/{model}", self.model),
            Route("/v2/models/{model}/ready", self.model_ready),
            Route("/v2/models/{model}/infer", self.infer, methods=["POST"]),
        ]

    async def server(self, request: Request) -> JSONResponse:
        return JSONResponse({"name": "tailwright", "version": __version__, "extensions": []})

    async def live(self, request: Request) -> JSONResponse:
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> JSONResponse:
        if not self._service.ready:
            raise RequestError("not_ready", "found a server that loads or stops, expected one that is ready")
        return JSONResponse({"ready": True})

    async def model(self, request: Request) -> JSONResponse:
        host = self._service.host(request.path_params["model"])
        return JSONResponse(
            {
                "name": host.name,
                "versions": [host.version],
                "platform": f"tailwright_{host.run.name}",
                "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
                "outputs": [
                    {"name": "labels", "datatype": "BYTES", "shape": [-1, -1]},
                    {"name": "probabilities", "datatype": "FP32", "shape": [-1, -1]},
                ],
            }
        )

    async def model_ready(self, request: Request) -> JSONResponse:
        host = self._service.host(request.path_params["model"])
        if not self._service.ready:
            raise RequestError("not_ready", "found a server that is stopping, expected one that is ready")
        return JSONResponse({"name": host.name, "ready": True})

    async def infer(self, request: Request) -> JSONResponse:
        note, limits = Note.of(request), self._service.settings.limits
        self._service.expect_room(request.path_params["model"])
        body = await json_body(request, InferBody, limits)
        host = self._service.host(request.path_params["model"])  # a run may be replaced while a body comes
        note.texts = texts = body.inputs[0].texts
        asked = body.parameters
        options = options_of(host, asked.k, asked.threshold, asked.tail)
        check_texts(texts, limits, options.k)
        answer = await self._service.predict(note, host, texts, options)
        ids: list[str] = []
        values: list[float] = []
        for labels in answer.texts:
            missing = options.k - len(labels)
            ids += [label.id for label in labels] + [""] * missing
            values += [label.score if label.probability is None else label.probability for label in labels]
            values += [0.0] * missing
        shape = [len(texts), options.k]
        tensors = {
            "labels": {"name": "labels", "datatype": "BYTES", "shape": shape, "data": ids},
            "probabilities": {"name": "probabilities", "datatype": "FP32", "shape": shape, "data": values},
        }
        wanted = OUTPUTS if body.outputs is None else [output.name for output in body.outputs]
        return JSONResponse(
            {
                "model_name": host.name,
                "model_version": host.version,
                **({} if body.id is None else {"id": body.id}),
                "outputs": [tensors[name] for name in wanted],
            }
        )
