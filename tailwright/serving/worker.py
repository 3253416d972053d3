"""One of several server processes: `python -m tailwright.serving.worker FD`, settings as JSON on stdin.

It says on stdout, in one line of JSON, that it is ready, or why it cannot be.
"""

from __future__ import annotations

import json
import socket
import sys

from tailwright.errors import TailwrightError
from tailwright.serving.connections import serve
from tailwright.serving.settings import ServerSettings


def main() -> int:
    settings = ServerSettings.model_validate_json(sys.stdin.buffer.read())
    try:
        serve(settings, socket.socket(fileno=int(sys.argv[1])), lambda: print("{}", flush=True))
    except TailwrightError as error:
        print(json.dumps({"error": str(error), "code": error.exit_code}), flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
