"""What goes wrong for a client: a status, a code for programs and one sentence for people."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tailwright.errors import quoted

STATUS_OF = {
    "bad_request": 400,
    "unauthorized": 401,
    "not_found": 404,
    "method_not_allowed": 405,
    "body_timeout": 408,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid": 422,
    "too_many_requests": 429,
    "internal": 500,
    "not_ready": 503,
    "too_many_connections": 429,
}


class RequestError(Exception):
    """A request that is not answered as asked; `code` is a key of `STATUS_OF`."""

    def __init__(self, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.headers = code, message, dict(headers or {})

    @property
    def status(self) -> int:
        return STATUS_OF[self.code]

    def body(self, path: str, request_id: str) -> bytes:
        """The JSON of the answer, in the shape of the protocol that a path belongs to."""
        content: dict[str, Any]
        if path == "/v2" or path.startswith("/v2/"):
            content = {"error": self.message}
        else:
            content = {"error": {"code": self.code, "message": self.message, "request_id": request_id}}
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def new_id() -> str:
    """The id of a request that came without one."""
    return os.urandom(16).hex()


def of_validation(error: ValidationError) -> RequestError:
    """The first thing that is wrong with a body, in one sentence."""
    first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return RequestError(
            "bad_request", f"found a body that is no JSON ({first['msg']}), expected a JSON object"
        )
    where = ".".join(str(step) for step in first["loc"])
    if first["type"] == "missing":
        return RequestError("invalid", f"found no {where}, expected it")
    if first["type"] == "extra_forbidden":
        return RequestError(
            "invalid", f"found the unknown field {where}, expected only those of /v1/openapi.json"
        )
    expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    place = f"{where}: " if where else ""
    return RequestError("invalid", f"{place}found {quoted(first['input'])}, expected {expected}")
