"""The page at `/` and its files below `/page/`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

_HTML = '<!doctype html><title>Tailwright</title><p><a href="/v1/openapi.json">The API</a></p>'
_HEADERS = {"Content-Security-Policy": "default-src 'self'"}


async def page(request: Request) -> HTMLResponse:
    """The page."""
    return HTMLResponse(_HTML, headers=_HEADERS)


def page_routes() -> list[Route]:
    """What the page is made of."""
    return [Route("/", page)]
