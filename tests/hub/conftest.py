"""A server that answers on this machine as Hugging Face does, for models in folders."""

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest


@dataclass
class Hub:
    """What the server has: models by id, each with its folder by revision; refusals by id; and what it was asked.

    A refusal is a status and the headers ``X-Error-Code`` and ``X-Error-Message``. `gated` models are described to
    everyone and their files given to no one; for files of `silent` models the answer never comes.
    """

    models: dict[str, dict[str, Path]] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    endpoint: str = ""

    def add(self, name: str, folder: Path, *revisions: str) -> str:
        """Put a folder under branches or tags, and under the commit that is returned."""
        commit = hashlib.sha1(f"{name} {revisions}".encode()).hexdigest()
        self.models.setdefault(name, {}).update(dict.fromkeys((*revisions, commit), folder))
        return commit

    def commit(self, name: str, folder: Path) -> str:
        return next(key for key, known in self.models[name].items() if known == folder and len(key) == 40)


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A Hub on this machine, at `hub.endpoint`."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/"):
            name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            self._describe(name, revision or "main")
        else:
            name, _, rest = path[1:].partition("/resolve/")
            revision, _, file = rest.partition("/")
            self._give(name, revision, file)

    def _folder(self, name: str, revision: str) -> Path | None:
        """Return the folder of a revision, or answer why there is none."""
        if name in self.hub.refusals:
            self._refuse(*self.hub.refusals[name])
        elif name not in self.hub.models:
            self._refuse(401, "", "Invalid username or password.")
        elif revision not in self.hub.models[name]:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return self.hub.models[name][revision]
        return None

    def _describe(self, name: str, revision: str) -> None:
        if folder := self._folder(name, revision):
            files = [{"rfilename": path.relative_to(folder).as_posix()} for path in sorted(folder.rglob("*"))]
            described = {"id": name, "sha": self.hub.commit(name, folder), "siblings": files, "gated": False}
            self._answer(200, json.dumps(described).encode(), {"Content-Type": "application/json"})

    def _give(self, name: str, revision: str, file: str) -> None:
        if not (folder := self._folder(name, revision)):
            return
        if name in self.hub.silent:
            self.hub.over.wait()
        elif name in self.hub.gated:
            self._refuse(401, "GatedRepo", "Access to this model is restricted.")
        elif not (folder / file).is_file():
            self._refuse(404, "EntryNotFound", "Entry not found")
        else:
            data = (folder / file).read_bytes()
            etag = f'"{hashlib.sha256(data).hexdigest()}"'
            self._answer(200, data, {"ETag": etag, "X-Repo-Commit": self.hub.commit(name, folder)})

    def _refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message}
        self._answer(status, json.dumps({"error": message}).encode(), {k: v for k, v in headers.items() if v})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
