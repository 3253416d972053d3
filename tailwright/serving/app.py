"""The application: all routes behind the door."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from tailwright.serving.annif import Annif
from tailwright.serving.api import Api
from tailwright.serving.door import Door
from tailwright.serving.open_inference import OpenInference
from tailwright.serving.openapi import description
from tailwright.serving.page import page_routes
from tailwright.serving.problems import RequestError
from tailwright.serving.service import Service


def application(service: Service) -> Door:
    """An ASGI application that answers for the runs of a service."""
    routes = [
        *Api(service).routes(),
        *OpenInference(service).routes(),
        *Annif(service).routes(),
        *_Operations(service).routes(),
        *page_routes(),
    ]
    return Door(Router(routes, redirect_slashes=False), routes, service)


class _Operations:
    """What those who run the server ask: whether it lives, whether it is ready, its numbers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._description = JSONResponse(description()).body

    def routes(self) -> list[Route]:
        return [
            Route("/v1/openapi.json", self.openapi),
            Route("/health/live", self.live),
            Route("/health/ready", self.ready),
            Route("/metrics", self.metrics),
        ]

    async def openapi(self, request: Request) -> Response:
        return Response(self._description, media_type="application/json")

    async def live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> Response:
        if not self._service.ready:
            why = "is stopping" if self._service.stopping else "is loading its runs"
            raise RequestError("not_ready", f"found a server that {why}, expected one that is ready")
        return JSONResponse({"ready": True})

    async def metrics(self, request: Request) -> Response:
        return Response(self._service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
