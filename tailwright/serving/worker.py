"""One of several server processes: `python -m tailwright.serving.worker FD`.

Its settings are a line of JSON on stdin. It listens when its runs are loaded, so that connections go to
workers that can answer. It says on stdout, in a line of JSON, that it is ready, or why it cannot be.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading

from tailwright.errors import TailwrightError
from tailwright.serving.connections import serve, server_of
from tailwright.serving.settings import ServerSettings


def main() -> int:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what it is about, the folders, is looked at after loading
    settings = ServerSettings.model_validate_json(sys.stdin.buffer.readline())
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        server = server_of(settings, lambda: print("{}", flush=True))
        server.service.load()
        serve(server, socket.socket(fileno=int(sys.argv[1])))
    except TailwrightError as error:
        print(json.dumps({"error": str(error), "code": error.exit_code}), flush=True)
        return error.exit_code
    return 0


def _stop_with_parent() -> None:
    """The parent never closes our stdin as long as it lives."""
    os.read(0, 1)  # past Python's own reader, which no thread may hold when the process ends
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
