"""Our own API, below `/v1`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tailwright.errors import quoted
from tailwright.serving.asking import check_texts, options_of
from tailwright.serving.batch import LabelGiven
from tailwright.serving.bodies import LabelQuery, ModelQuery, PredictBody
from tailwright.serving.body import json_body, query_of
from tailwright.serving.hosted import Hosted
from tailwright.serving.labels import details
from tailwright.serving.problems import RequestError
from tailwright.serving.service import Note, Service
from tailwright.serving.why import whys

MOST_EXPLAINED = 50  # labels of a text


class Api:
    """The routes of the API."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limits = service.settings.limits

    def routes(self) -> list[Route]:
        return [
            Route("/v1/predict", self.predict, methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/labels", self.labels),
            Route("/v1/labels/{id:path}", self.label),
        ]

    async def predict(self, request: Request) -> JSONResponse:
        self._service.expect_room()
        body, note = await json_body(request, PredictBody, self._limits), Note.of(request)
        texts = [body.text] if body.text is not None else body.texts or []
        note.texts = texts
        host = self._service.host(body.model)
        options = options_of(host, body.k, body.threshold, body.tail, body.only, body.without)
        check_texts(texts, self._limits, options.k)
        if body.explain:
            self._check_explained(texts, options.k)
        answer = await self._service.predict(note, host, texts, options)
        predictions = [{"labels": [_as_dict(label) for label in labels]} for labels in answer.texts]
        if body.explain:
            await self._explain(note, host, texts, answer.texts, options.tail, predictions)
        return JSONResponse({"model": host.name, "version": host.version, "predictions": predictions})

    def _check_explained(self, texts: Sequence[str], k: int) -> None:
        most = self._limits.explanations
        if len(texts) > most or k > MOST_EXPLAINED:
            raise RequestError(
                "invalid",
                f"explain: found {len(texts)} texts with k {k}, expected at most {most} texts and "
                f"k {MOST_EXPLAINED}",
            )

    async def _explain(
        self,
        note: Note,
        host: Hosted,
        texts: Sequence[str],
        given: Sequence[Sequence[LabelGiven]],
        tail: float,
        predictions: list[dict[str, list[dict[str, Any]]]],
    ) -> None:
        """Add to each label why it was given."""

        def work() -> list[list[dict[str, Any]]]:
            of_texts = zip(texts, given, strict=True)
            return [whys(host, text, [one.column for one in labels], tail) for text, labels in of_texts]

        for prediction, found in zip(
            predictions, await self._service.slowly(note, host, work, len(texts)), strict=True
        ):
            for label, why in zip(prediction["labels"], found, strict=True):
                label["why"] = why

    async def models(self, request: Request) -> JSONResponse:
        self._service.host()
        return JSONResponse({"models": [_described(host) for host in self._service.hosts.values()]})

    async def labels(self, request: Request) -> JSONResponse:
        query = query_of(request, LabelQuery)
        host = self._service.host(query.model)
        return JSONResponse(await asyncio.to_thread(host.labels.found, query.search, query.limit))

    async def label(self, request: Request) -> JSONResponse:
        label, host = request.path_params["id"], self._service.host(query_of(request, ModelQuery).model)
        column = host.run.labels.index_of_id.get(label)
        if column is None:
            raise RequestError("not_found", f"found no label {quoted(label)}, expected the id of one")
        return JSONResponse(
            await self._service.slowly(Note.of(request), host, lambda: details(host, column), 1)
        )


def _as_dict(label: LabelGiven) -> dict[str, Any]:
    return {"id": label.id, "name": label.name, "probability": label.probability, "score": label.score}


def _described(host: Hosted) -> dict[str, Any]:
    run = host.run
    return {
        "name": host.name,
        "model": run.name,
        "labels": len(run.labels),
        "rows": run.train_rows,
        "version": host.version,
        "calibrated": run.is_calibrated,
        "tail": 0.0,
        "recommended_tail": run.recommended_tail,
        "loaded": host.loaded,
    }
