"""A line of JSON on stderr for each request, and for what happens to the server."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from typing import Any


def say(event: str, **fields: Any) -> None:
    """Write one line; it is written at once, so that lines of several processes do not mix."""
    line = {"time": now(), "event": event, **fields}
    sys.stderr.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
    sys.stderr.flush()


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


class JsonHandler(logging.Handler):
    """What uvicorn and asyncio log, as such lines."""

    def emit(self, record: logging.LogRecord) -> None:
        error = {}
        if record.exc_info and record.exc_info[1] is not None:
            error = {"error": logging.Formatter().formatException(record.exc_info)}
        say("log", level=record.levelname.lower(), message=record.getMessage(), **error)


def log_as_json() -> None:
    """Send the warnings of all libraries to stderr as JSON."""
    root = logging.getLogger()
    root.handlers[:] = [JsonHandler()]
    root.setLevel(logging.WARNING)
