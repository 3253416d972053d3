"""`tailwright serve`: runs behind HTTP."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tailwright.cli.options import command
from tailwright.cli.output import Output
from tailwright.errors import InputError, require_extra

KEYS = "TAILWRIGHT_KEYS"


@command
def serve(
    out: Output,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]RUN...",
            help="A run folder, or several; requests call each by its name, by default that of its folder.",
        ),
    ],
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; 0.0.0.0 for all networks.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; they share the memory of the runs.")
    ] = 1,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            metavar="FILE",
            help=f"API keys, one on each line; or in ${KEYS}.",
            show_default="no key is needed",
        ),
    ] = None,
    open_metrics: Annotated[
        bool, typer.Option("--open-metrics", help="/metrics needs no key, as /health never does.")
    ] = False,
    cors: Annotated[
        list[str] | None,
        typer.Option(
            "--cors",
            metavar="ORIGIN",
            help="A site whose pages may ask, such as https://example.org; * for all.",
            show_default="none",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option("--max-body", min=1, help="Bytes of a request.")] = 1 << 20,
    max_texts: Annotated[int, typer.Option("--max-texts", min=1, help="Texts of a request.")] = 256,
    max_characters: Annotated[
        int, typer.Option("--max-characters", min=1, help="Characters of a text.")
    ] = 20_000,
    max_batch: Annotated[
        int, typer.Option("--max-batch", min=1, help="Texts that a run reads at a time.")
    ] = 256,
    max_queue: Annotated[
        int, typer.Option("--max-queue", min=1, help="Texts that may wait for a run; more get status 429.")
    ] = 1024,
    max_connections: Annotated[
        int, typer.Option("--max-connections", min=1, help="Connections of a process.")
    ] = 1024,
    header_seconds: Annotated[
        float, typer.Option("--header-timeout", min=0.01, help="Seconds that headers may take.")
    ] = 10.0,
    body_seconds: Annotated[
        float, typer.Option("--body-timeout", min=0.01, help="Seconds that a body may take.")
    ] = 10.0,
    stop_seconds: Annotated[
        float, typer.Option("--stop-timeout", min=0.01, help="Seconds that requests may take after SIGTERM.")
    ] = 30.0,
    reload_every: Annotated[
        float,
        typer.Option(
            "--reload-every", min=0, help="Seconds between two looks for replaced folders; 0: only on SIGHUP."
        ),
    ] = 5.0,
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="Texts in the log; they may be private.")
    ] = False,
) -> None:
    """Answer requests for labels over HTTP, and show a page to try it out.

    `POST /v1/predict` takes a text, or several, and gives labels with probabilities; `/v1/openapi.json`
    describes everything. The routes below `/v2` speak the Open Inference Protocol, those below `/annif`
    Annif's. `/health/live` and `/health/ready` are for whoever runs it, `/metrics` is for Prometheus.

    Requests that arrive together are answered together. A run folder that is replaced is loaded beside the
    old one, and no request is lost. SIGTERM: all accepted requests are answered, then the server ends.

    A line of JSON on stderr tells of each request; with `--quiet` only of what happens to the server.

    Example: `tailwright serve run/`

    Example: `tailwright serve books=run1/ tags=run2/ --workers 2 --keys keys.txt --host 0.0.0.0`

    When it is ready it prints a `curl` command to try.
    """
    require_extra("serve", "the server")
    from tailwright.runs.hub import HUB
    from tailwright.serving.settings import Limits, ServerSettings, checked_keys, read_keys, run_addresses
    from tailwright.serving.sockets import address_of, bound
    from tailwright.store.manifest import read_manifest

    found_keys: tuple[str, ...] = ()
    if keys is not None:
        found_keys = read_keys(keys)
    elif os.environ.get(KEYS):
        found_keys = checked_keys(os.environ[KEYS].split(), f"${KEYS}")
    if open_metrics and not found_keys:
        raise InputError("--open-metrics without keys", expected="--keys FILE")
    if max_queue < max_texts:
        raise InputError(f"--max-queue {max_queue}", expected=f"at least --max-texts, which is {max_texts}")
    settings = ServerSettings(
        runs=run_addresses(runs),
        limits=Limits(
            body=max_body,
            texts=max_texts,
            characters=max_characters,
            batch=max_batch,
            queue=max_queue,
            connections=max_connections,
            header_seconds=header_seconds,
            body_seconds=body_seconds,
            stop_seconds=stop_seconds,
        ),
        keys=found_keys,
        open_metrics=open_metrics,
        cors=tuple(cors or ()),
        reload_every=reload_every,
        log_requests=not out.quiet,
        log_texts=log_texts,
    )
    for run in settings.runs:
        if not run.path.startswith(HUB):
            read_manifest(Path(run.path), "run")  # before a port is taken and anything heavy is loaded
    sock = bound(host, port, shared=workers > 1)
    address = address_of(sock)

    def announce() -> None:
        asked = ["curl", f"{address}/v1/predict", "-H", "Content-Type: application/json"]
        asked += ["-H", "Authorization: Bearer KEY"] if found_keys else []
        out.text(f"page {address}/  API {address}/v1/openapi.json  metrics {address}/metrics")
        asked += ["-d", '{"text": "..."}']
        out.text(f"try: {shlex.join(asked)}")
        names: dict[str, Any] = {run.name: run.path for run in settings.runs}
        out.result(address=address, runs=names, workers=workers, pid=os.getpid())

    if workers == 1:
        from tailwright.serving.connections import serve as serve_here
        from tailwright.serving.connections import server_of

        serve_here(server_of(settings, announce), sock)
    else:
        from tailwright.serving.workers import serve_with_workers

        serve_with_workers(settings, sock, workers, announce)
