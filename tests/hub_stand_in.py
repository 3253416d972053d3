"""A Hugging Face hub in this process: the few answers that pushing and loading a run ask for, on loopback.

huggingface_hub itself is not replaced, so that its own client, cache and errors are what is tested.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit


class Hub(ThreadingHTTPServer):
    """Repositories by name: whether they are private, and their commits, the newest last."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.repositories: dict[str, SimpleNamespace] = {}
        self.asked: list[str] = []  # paths of files that were downloaded

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, name: str, files: dict[str, bytes], private: bool = False) -> str:
        """A new commit with exactly these files; its hash."""
        repository = self.repositories.setdefault(name, SimpleNamespace(private=private, commits={}))
        sha = hashlib.sha1(f"{name}{len(repository.commits)}".encode()).hexdigest()
        repository.commits[sha] = files
        return sha

    def files(self, name: str, revision: str = "main") -> tuple[str, dict[str, bytes]]:
        """The commit that a revision names, and its files."""
        commits = self.repositories[name].commits
        sha = list(commits)[-1] if revision == "main" else revision
        return sha, commits[sha]


class Answers(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def tell(self, value: object) -> None:
        self.answer(200, json.dumps(value).encode(), Content_Type="application/json")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        steps = [unquote(step) for step in urlsplit(self.path).path.strip("/").split("/")]
        inside = steps[0] == "api"
        name = "/".join(steps[2:4] if inside else steps[:2])
        if name not in self.server.repositories:
            return self.answer(404, X_Error_Code="RepoNotFound")
        rest = steps[4:] if inside else steps[2:]
        revision = rest[1] if len(rest) > 1 else "main"
        if revision != "main" and revision not in self.server.repositories[name].commits:
            return self.answer(404, X_Error_Code="RevisionNotFound")
        sha, files = self.server.files(name, revision)
        if not inside:
            return self.file(sha, files, "/".join(rest[2:]))
        if rest[:1] == ["tree"]:
            return self.tell(
                [
                    {"type": "file", "path": path, "size": len(content), "oid": etag(content)}
                    for path, content in files.items()
                ]
            )
        siblings = [{"rfilename": path} for path in files]
        private = self.server.repositories[name].private
        return self.tell({"id": name, "sha": sha, "private": private, "siblings": siblings})

    def file(self, sha: str, files: dict[str, bytes], path: str) -> None:
        if path not in files:
            return self.answer(404, X_Error_Code="EntryNotFound")
        if self.command == "GET":
            self.server.asked.append(path)
        return self.answer(200, files[path], ETag=f'"{etag(files[path])}"', X_Repo_Commit=sha)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        steps = urlsplit(self.path).path.strip("/").split("/")
        if steps == ["api", "validate-yaml"]:
            return self.tell({"errors": [], "warnings": []})
        if self.headers["Authorization"] != "Bearer good":
            return self.answer(401, b'{"error": "Invalid credentials"}', Content_Type="application/json")
        if steps[:3] == ["api", "repos", "create"]:
            asked = json.loads(raw)
            name = f"{asked['organization']}/{asked['name']}"
            found = {"url": f"{self.server.address}/{name}"}
            if name in self.server.repositories:
                return self.answer(409, json.dumps(found).encode(), Content_Type="application/json")
            private = asked.get("private", False) or asked.get("visibility") == "private"
            self.server.add(name, {".gitattributes": b""}, private)
            return self.tell(found)
        name = "/".join(steps[2:4])
        if steps[4] == "preupload":
            files = json.loads(raw)["files"]
            return self.tell(
                {
                    "files": [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files
                    ]
                }
            )
        files = dict(self.server.files(name)[1])
        for line in map(json.loads, raw.splitlines()):
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[line["value"]["path"]]
        sha = self.server.add(name, files)
        return self.tell({"commitUrl": f"{self.server.address}/{name}/commit/{sha}", "commitOid": sha})


def etag(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def served() -> Iterator[Hub]:
    """A hub that answers until the block ends."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
