"""Sockets of a server: one, or one a worker process on the same port, over which connections are spread."""

from __future__ import annotations

import errno
import socket
from typing import Any

from tailwright.errors import InputError


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket at a port, with 0 a free one; a port in use or a wrong host is an InputError.

    With `shared`, others can be bound `beside` it.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = _bound(family, address)
        if not shared:
            return sock
        # Alone at first, as a socket that shares its port would share it with another server too.
        own = sock.getsockname()
        sock.close()
        return _bound(family, own, shared=True)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is in use", expected="another --port") from error
        raise InputError(f"cannot listen on {host}:{port} ({error})", expected="--host and --port") from error


def beside(sock: socket.socket) -> socket.socket:
    """Another socket at the port of a shared one. Connections go to those that listen."""
    return _bound(sock.family, sock.getsockname(), shared=True)


def _bound(family: int, address: tuple[Any, ...], *, shared: bool = False) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def address_of(sock: socket.socket) -> str:
    """Where clients find a socket: `http://127.0.0.1:8000`."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
