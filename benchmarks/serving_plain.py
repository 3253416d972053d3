"""The server that `bench_serving.py` compares with: a handler that calls `run.predict` for each request.

usage: serving_plain.py RUN PORT

FastAPI where it is installed; else the same by hand, as FastAPI does it: a pydantic body, the handler in
Starlette's pool of threads, and the answer as JSON.
"""

from __future__ import annotations

import sys
from typing import Any

import pydantic
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import tailwright as tw

try:
    import fastapi
except ModuleNotFoundError:
    fastapi = None


class Body(pydantic.BaseModel):
    text: str | None = None
    texts: list[str] | None = None
    k: int = 5


def application(run: Any) -> Any:
    def predict(body: Body) -> dict[str, Any]:
        said = run.predict(body.texts or [body.text], k=body.k)
        return {"predictions": [row.as_dict() for row in said]}

    if fastapi is not None:
        app = fastapi.FastAPI()
        app.post("/v1/predict")(predict)
        return app

    async def endpoint(request: Request) -> JSONResponse:
        body = Body.model_validate(await request.json())
        return JSONResponse(await run_in_threadpool(predict, body))

    return Starlette(routes=[Route("/v1/predict", endpoint, methods=["POST"])])


if __name__ == "__main__":
    served = tw.load(sys.argv[1])
    served.predict(["a text"])
    uvicorn.run(application(served), port=int(sys.argv[2]), log_level="warning", access_log=False)
