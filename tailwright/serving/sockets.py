"""Sockets that listen, one a worker process; the system spreads connections over them."""

from __future__ import annotations

import errno
import socket

from tailwright.errors import InputError


def listening(host: str, port: int, count: int = 1) -> list[socket.socket]:
    """Sockets bound to one port, with 0 a free one; a port in use or a wrong host is an InputError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Sockets that share a port would share it with another server too; the first one alone would not.
        first = _bound(family, address, share=False)
        if count == 1:
            return [first]
        port = first.getsockname()[1]
        first.close()
        return [_bound(family, (address[0], port, *address[2:]), share=True) for _ in range(count)]
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is in use", expected="another --port") from error
        raise InputError(f"cannot listen on {host}:{port} ({error})", expected="--host and --port") from error


def _bound(family: int, address: tuple[object, ...], *, share: bool) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if share:
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
