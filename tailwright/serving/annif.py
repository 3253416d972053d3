"""The API of Annif, a tool for subject indexing, below `/annif/v1`: a run is a project, a label a subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tailwright.serving.asking import check_texts, options_of
from tailwright.serving.batch import LabelGiven
from tailwright.serving.bodies import In, Loose
from tailwright.serving.body import form_body, json_body, query_of
from tailwright.serving.hosted import Hosted
from tailwright.serving.service import Note, Service

LIMIT = 10


class SuggestQuery(Loose):
    """How many subjects, and how sure."""

    limit: int = Field(default=LIMIT, ge=1, le=2**31 - 1)
    threshold: float = Field(default=0.0, ge=0, le=1)


class SuggestForm(SuggestQuery):
    """A text, as a form has it."""

    text: str


class Document(In):
    """A text of a batch."""

    text: str
    document_id: str | None = None


class Documents(In):
    """A batch."""

    documents: list[Document]


class Annif:
    """The routes of Annif's API."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        base = "/annif/v1/projects"
        return [
            Route(base, self.projects),
            Route(f"{base}/{{model}}", self.project),
            Route(f"{base}/{{model}}/suggest", self.suggest, methods=["POST"]),
            Route(f"{base}/{{model}}/suggest-batch", self.suggest_batch, methods=["POST"]),
        ]

    async def projects(self, request: Request) -> JSONResponse:
        self._service.host()
        return JSONResponse({"projects": [_project(host) for host in self._service.hosts.values()]})

    async def project(self, request: Request) -> JSONResponse:
        return JSONResponse(_project(self._service.host(request.path_params["model"])))

    async def suggest(self, request: Request) -> JSONResponse:
        self._service.expect_room(request.path_params["model"])
        form = await form_body(request, SuggestForm, self._service.settings.limits)
        (labels,) = await self._labels(request, [form.text], form)
        return JSONResponse({"results": _results(labels)})

    async def suggest_batch(self, request: Request) -> JSONResponse:
        asked = query_of(request, SuggestQuery)
        self._service.expect_room(request.path_params["model"])
        body = await json_body(request, Documents, self._service.settings.limits)
        found = await self._labels(request, [document.text for document in body.documents], asked)
        return JSONResponse(
            [
                {"document_id": document.document_id, "results": _results(labels)}
                for document, labels in zip(body.documents, found, strict=True)
            ]
        )

    async def _labels(
        self, request: Request, texts: list[str], asked: SuggestQuery
    ) -> list[list[LabelGiven]]:
        note, host = Note.of(request), self._service.host(request.path_params["model"])
        note.texts = texts
        options = options_of(host, asked.limit, asked.threshold)
        check_texts(texts, self._service.settings.limits, options.k)
        return (await self._service.predict(note, host, texts, options)).texts


def _results(labels: Sequence[LabelGiven]) -> list[dict[str, Any]]:
    return [
        {
            "uri": label.id,
            "label": label.name,
            "notation": None,
            "score": label.score if label.probability is None else label.probability,
        }
        for label in labels
    ]


def _project(host: Hosted) -> dict[str, Any]:
    return {
        "project_id": host.name,
        "name": host.name,
        "language": None,
        "backend": {"backend_id": host.run.name},
        "is_trained": True,
        "modification_time": host.loaded,
    }
