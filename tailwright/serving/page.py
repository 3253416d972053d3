"""The page at `/` and its files: plain HTML, CSS and ES modules; no build, and nothing from elsewhere.

Its colours and fonts are those of the reports (`study/page/templates/page.css`), sent as `family.css`. A
browser keeps the files and asks whether they have changed, by their ETag.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tailwright.study import page as study_page

# Nothing but files of this server, and no script or style inside the HTML.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
MODULES = (
    "answers.js",
    "api.js",
    "column.js",
    "column_form.js",
    "csv.js",
    "dom.js",
    "neighbours.js",
    "one_text.js",
    "page.js",
    "why.js",
)


@dataclass(frozen=True)
class PageFile:
    """A file of the page as it is sent."""

    content: bytes
    media_type: str

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",  # kept, but never used without asking
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()[:32]}"',
        }


def page_routes() -> list[Route]:
    """The routes of the page: `/`, and `/page/NAME` for each of its files and for no other."""
    own = files(__package__) / "page_files"
    family = files(study_page) / "templates" / "page.css"
    sources = {"/": own / "index.html", "/page/family.css": family}
    sources |= {f"/page/{name}": own / name for name in ("page.css", *MODULES)}
    return [
        Route(path, _sender(PageFile(source.read_bytes(), _media_type(source.name))))
        for path, source in sources.items()
    ]


def _media_type(name: str) -> str:
    return MEDIA_TYPES[name[name.rindex(".") :]]


def _sender(file: PageFile) -> Callable[[Request], Awaitable[Response]]:
    headers = file.headers

    async def send(request: Request) -> Response:
        known = request.headers.get("If-None-Match", "").split(",")
        if headers["ETag"] in (tag.strip().removeprefix("W/") for tag in known):
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media_type)

    return send
