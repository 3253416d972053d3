"""The body of a request, up to a limit of bytes and of time."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import parse_qs

import anyio
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from tailwright.errors import quoted
from tailwright.serving.problems import RequestError, of_validation
from tailwright.serving.settings import Limits

Body = TypeVar("Body", bound=BaseModel)

# A client that sends too much reads our answer only when it has sent all; so much of it is read and dropped.
_DROPPED = 16 << 20


async def read_body(request: Request, limits: Limits) -> bytes:
    """All bytes; an error if there are too many, whatever the headers say, or if they come too slowly."""
    said = request.headers.get("content-length", "0")
    promised = int(said) if said.isdecimal() and len(said) < 19 else 0
    if promised > limits.body and "expect" in request.headers:
        raise _too_large(promised, limits)  # the client waits for our word before it sends the body
    chunks, size = [], 0
    try:
        with anyio.fail_after(limits.body_seconds):
            more = True
            while more and size <= limits.body + _DROPPED:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
                if max(size, promised) <= limits.body:
                    chunks.append(message.get("body", b""))
    except TimeoutError:
        if max(size, promised) <= limits.body:
            raise RequestError(
                "body_timeout",
                f"found no end of the body after {limits.body_seconds:g} seconds, expected it",
                {"Connection": "close"},
            ) from None
    if max(size, promised) > limits.body:
        raise _too_large(max(size, promised), limits)
    return b"".join(chunks)


def _too_large(size: int, limits: Limits) -> RequestError:
    found = f"found a body of {size} bytes or more, expected at most {limits.body}"
    return RequestError("too_large", found, {"Connection": "close"})


async def json_body(request: Request, kind: type[Body], limits: Limits) -> Body:
    """A JSON body as checked data."""
    _require(request, "application/json")
    raw = await read_body(request, limits)
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        raise of_validation(error) from error


async def form_body(request: Request, kind: type[Body], limits: Limits) -> Body:
    """A form-encoded body as checked data; a field that comes twice is refused."""
    _require(request, "application/x-www-form-urlencoded")
    raw = await read_body(request, limits)
    try:
        fields = parse_qs(
            raw.decode("utf-8"),
            keep_blank_values=True,
            strict_parsing=bool(raw),
            errors="strict",
            max_num_fields=20,
        )
    except ValueError as error:
        raise RequestError("bad_request", f"found a form that cannot be read ({error})") from error
    for name, values in fields.items():
        if len(values) > 1:
            raise RequestError("invalid", f"{name}: found {len(values)} values, expected one")
    try:
        return kind.model_validate({name: values[0] for name, values in fields.items()})
    except ValidationError as error:
        raise of_validation(error) from error


def query_of(request: Request, kind: type[Body]) -> Body:
    """The query of a request as checked data."""
    found = request.query_params.multi_items()
    for name in {name for name, _ in found}:
        if sum(name == other for other, _ in found) > 1:
            raise RequestError("invalid", f"{name}: found several values, expected one")
    try:
        return kind.model_validate(dict(found))
    except ValidationError as error:
        raise of_validation(error) from error


def _require(request: Request, kind: str) -> None:
    """`RequestError` if a request says that its body is of another type."""
    said = request.headers.get("content-type", kind).partition(";")[0].strip().lower()
    if said != kind:
        raise RequestError("unsupported_media_type", f"found a body of type {quoted(said)}, expected {kind}")
