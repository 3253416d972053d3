"""The OpenAPI description of the server, put together from the types of its bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tailwright import __version__
from tailwright.serving import annif, bodies, open_inference

_REF = "#/components/schemas/{model}"
_OF_BODY = (400, 408, 413, 415, 422)
_OF_QUEUE = (429, 503)


@dataclass(frozen=True)
class Operation:
    """One method of a path; `answer` is a type, or the schema itself."""

    method: str
    path: str
    summary: str
    answer: type[BaseModel] | dict[str, Any]
    body: type[BaseModel] | None = None
    form: bool = False
    query: type[BaseModel] | None = None
    errors: tuple[int, ...] = ()
    opens: bool = False  # needs no key
    media: str = "application/json"
    parameters: dict[str, str] = field(default_factory=dict)


_OBJECT = {"type": "object"}
_MODEL = {"model": "The name of a run."}
OPERATIONS = (
    Operation(
        "post",
        "/v1/predict",
        "The best labels of texts.",
        bodies.PredictAnswer,
        bodies.PredictBody,
        errors=(404, *_OF_BODY, *_OF_QUEUE),
    ),
    Operation("get", "/v1/models", "The runs that are served.", bodies.Models, errors=(503,)),
    Operation(
        "get",
        "/v1/labels",
        "Labels by a piece of their name or id.",
        bodies.FoundLabels,
        query=bodies.LabelQuery,
        errors=(404, 422, 503),
    ),
    Operation(
        "get",
        "/v1/labels/{id}",
        "A label and what is near it.",
        bodies.LabelDetails,
        query=bodies.ModelQuery,
        errors=(404, 422, *_OF_QUEUE),
        parameters={"id": "The id of a label."},
    ),
    Operation("get", "/v1/openapi.json", "This description.", _OBJECT),
    Operation("get", "/health/live", "Whether the server lives.", bodies.Live, opens=True),
    Operation("get", "/health/ready", "Whether it takes requests.", bodies.Ready, errors=(503,), opens=True),
    Operation("get", "/metrics", "Numbers for Prometheus.", {"type": "string"}, media="text/plain"),
    Operation("get", "/v2", "The server, by the Open Inference Protocol.", _OBJECT),
    Operation("get", "/v2/health/live", "Whether the server lives.", bodies.Live, opens=True),
    Operation(
        "get", "/v2/health/ready", "Whether it takes requests.", bodies.Ready, errors=(503,), opens=True
    ),
    Operation("get", "/v2/models/{model}", "A run's tensors.", _OBJECT, errors=(404, 503), parameters=_MODEL),
    Operation(
        "get",
        "/v2/models/{model}/ready",
        "Whether a run is ready.",
        _OBJECT,
        errors=(404, 503),
        parameters=_MODEL,
    ),
    Operation(
        "post",
        "/v2/models/{model}/infer",
        "The best labels of texts, as tensors.",
        _OBJECT,
        open_inference.InferBody,
        errors=(404, *_OF_BODY, *_OF_QUEUE),
        parameters=_MODEL,
    ),
    Operation("get", "/annif/v1/projects", "The runs as projects of Annif.", _OBJECT, errors=(503,)),
    Operation(
        "get",
        "/annif/v1/projects/{model}",
        "A run as a project.",
        _OBJECT,
        errors=(404, 503),
        parameters=_MODEL,
    ),
    Operation(
        "post",
        "/annif/v1/projects/{model}/suggest",
        "Subjects of a text.",
        _OBJECT,
        annif.SuggestForm,
        form=True,
        errors=(404, *_OF_BODY, *_OF_QUEUE),
        parameters=_MODEL,
    ),
    Operation(
        "post",
        "/annif/v1/projects/{model}/suggest-batch",
        "Subjects of several texts.",
        {"type": "array", "items": _OBJECT},
        annif.Documents,
        query=annif.SuggestQuery,
        errors=(404, *_OF_BODY, *_OF_QUEUE),
        parameters=_MODEL,
    ),
)


def description() -> dict[str, Any]:
    """The document of `/v1/openapi.json`."""
    kinds: dict[type[BaseModel], Literal["validation", "serialization"]]
    kinds = {operation.body: "validation" for operation in OPERATIONS if operation.body is not None}
    kinds |= {kind.answer: "serialization" for kind in OPERATIONS if isinstance(kind.answer, type)}
    kinds[bodies.ErrorBody] = "serialization"
    _, schemas = models_json_schema(list(kinds.items()), ref_template=_REF)
    known = schemas["$defs"]
    known["ProtocolError"] = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    }
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tailwright", "version": __version__, "summary": "Labels of texts."},
        "paths": paths,
        "components": {
            "schemas": known,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    error = "ProtocolError" if operation.path.startswith("/v2") else "ErrorBody"
    refused = {"application/json": {"schema": {"$ref": _REF.format(model=error)}}}
    statuses = sorted({*operation.errors, *(() if operation.opens else (401,))})
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": [*_in_path(operation), *_in_query(operation)],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {operation.media: {"schema": _schema(operation.answer)}},
            },
            **{str(s): {"description": HTTPStatus(s).phrase, "content": refused} for s in statuses},
        },
        # An empty requirement: servers without keys ask for none.
        "security": [{}] if operation.opens else [{}, {"bearer": []}, {"header": []}],
    }
    if operation.body is not None:
        media = "application/x-www-form-urlencoded" if operation.form else "application/json"
        described["requestBody"] = {"required": True, "content": {media: {"schema": _schema(operation.body)}}}
    return described


def _schema(kind: type[BaseModel] | dict[str, Any]) -> dict[str, Any]:
    return kind if isinstance(kind, dict) else {"$ref": _REF.format(model=kind.__name__)}


def _in_path(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in operation.parameters.items()
    ]


def _in_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "schema": of_field}
        for name, of_field in schema["properties"].items()
    ]
