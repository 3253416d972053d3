"""What every request passes on its way in and out: ids, keys, origins, errors, logs, metrics. Plain ASGI."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tailwright.serving.log import say
from tailwright.serving.problems import RequestError, new_id
from tailwright.serving.service import Note, Service

_HARMLESS = re.compile(r"[A-Za-z0-9._~:/+=@-]{1,128}")
_GONE = 499  # in logs and metrics: the client did not wait for the answer
_OPEN = re.compile(r"/|/page/.*|/health/(live|ready)|/v2/health/(live|ready)")
_OF_STARLETTE = {404: "not_found", 405: "method_not_allowed"}
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, x-api-key, x-request-id"),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]


class Door:
    """An application behind all that its requests have in common."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], service: Service) -> None:
        self._app, self._service, self._routes = app, service, routes
        self._path_of: dict[object, str] = {
            route.endpoint: route.path for route in routes if isinstance(route, Route)
        }
        self._keys = [key.encode() for key in service.settings.keys]

    def routes(self) -> list[tuple[str, set[str]]]:
        """The paths behind it, with their methods."""
        return [(route.path, route.methods or set()) for route in self._routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        start = time.perf_counter()
        headers = Headers(scope=scope)
        note = scope["tailwright"] = Note(_request_id(headers))
        scope["app"] = self  # so that the router raises what it does not find
        out = _Outgoing(send, self._extra_headers(scope["path"], headers, note))
        try:
            if not await self._is_preflight(scope, headers, out):
                self._admit(scope["path"], headers)
                await self._app(scope, receive, out)
        except (asyncio.CancelledError, ClientDisconnect):
            out.status = out.status or _GONE
        except Exception as error:
            await self._refuse(_problem(error), scope, note, out)
        finally:
            self._record(scope, note, out.status, time.perf_counter() - start)

    def _extra_headers(self, path: str, headers: Headers, note: Note) -> list[tuple[bytes, bytes]]:
        """The headers that all answers have."""
        extra = [(b"x-request-id", note.request_id.encode()), (b"x-content-type-options", b"nosniff")]
        if path != "/" and not path.startswith("/page/"):
            extra.append((b"cache-control", b"no-store"))
        if self._service.stopping:
            extra.append((b"connection", b"close"))
        origins = self._service.settings.cors
        if origins:
            origin = headers.get("origin", "")
            extra.append((b"vary", b"Origin"))
            if origin in origins or ("*" in origins and origin):
                extra.append((b"access-control-allow-origin", origin.encode("latin-1")))
                extra.append((b"access-control-expose-headers", b"retry-after, x-request-id"))
        return extra

    async def _is_preflight(self, scope: Scope, headers: Headers, out: _Outgoing) -> bool:
        """Whether a browser asked what another origin may send; it is answered."""
        asks = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if not asks or b"access-control-allow-origin" not in dict(out.extra):
            return False
        await out.whole(204, _PREFLIGHT, b"")
        return True

    def _admit(self, path: str, headers: Headers) -> None:
        """`RequestError` unless a path is open or the request has one of the keys."""
        if not self._keys or _OPEN.fullmatch(path):
            return
        if path == "/metrics" and self._service.settings.open_metrics:
            return
        given = headers.get("x-api-key", "")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given = token.strip()
        # All keys are compared, so that the time taken does not tell which one came close.
        if not sum(hmac.compare_digest(given.encode("latin-1"), key) for key in self._keys):
            raise RequestError(
                "unauthorized",
                f"found {'another' if given else 'no'} API key, expected Authorization: Bearer or X-API-Key",
                {"WWW-Authenticate": "Bearer"},
            )

    async def _refuse(self, problem: RequestError, scope: Scope, note: Note, out: _Outgoing) -> None:
        if problem.code == "internal":
            say("error", request_id=note.request_id, path=scope["path"], error=_told(problem.__cause__))
        if not out.status:
            more = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
            await out.json(problem.status, more, problem.body(scope["path"], note.request_id))

    def _record(self, scope: Scope, note: Note, status: int, seconds: float) -> None:
        route = self._path_of.get(scope.get("endpoint"), "other")
        self._service.metrics.requests.labels(route, status).inc()
        self._service.metrics.seconds.labels(route).observe(seconds)
        settings = self._service.settings
        if settings.log_requests:
            texts: Mapping[str, Any] = {"text": list(note.texts)} if settings.log_texts else {}
            say(
                "request",
                request_id=note.request_id,
                method=scope["method"],
                route=route,
                status=status,
                ms=round(1000 * seconds, 2),
                texts=len(note.texts),
                batch=note.batch,
                **texts,
            )


class _Outgoing:
    """Sends an answer with more headers than the application gave it, and remembers its status."""

    def __init__(self, send: Send, extra: list[tuple[bytes, bytes]]) -> None:
        self._send, self.extra, self.status = send, extra, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in self.extra if pair[0] not in own)]
        await self._send(message)

    async def json(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """A whole answer of JSON."""
        about = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.whole(status, [*about, *headers], body)

    async def whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def _request_id(headers: Headers) -> str:
    """The client's own if it is harmless, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _HARMLESS.fullmatch(given) else new_id()


def _problem(error: Exception) -> RequestError:
    """What the client is told of an error; the details of a failure of ours are in the log."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, HTTPException) and error.status_code in _OF_STARLETTE:
        code = _OF_STARLETTE[error.status_code]
        allowed = (error.headers or {}).get("Allow")
        found = f"found another method, expected {allowed}" if allowed else "found a path that leads nowhere"
        return RequestError(code, found, error.headers)
    problem = RequestError(
        "internal", "a failure of the server; its log has the details under this request id"
    )
    problem.__cause__ = error
    return problem


def _told(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"
