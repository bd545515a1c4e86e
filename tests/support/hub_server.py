"""A small Hugging Face hub, and a server of archives, on 127.0.0.1: what albert_tf asks of both, and their faults."""

import contextlib
import hashlib
import http.server
import io
import json
import re
import tarfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hub_uploads import LARGE, Uploads


def digest_of(name, contents):
    """The name by which the hub knows a file: SHA-256 of large files, git's SHA-1 of others."""
    if name.endswith(LARGE):
        return hashlib.sha256(contents).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()


def commit_of(files):
    """A commit's hash, by its files."""
    listed = "".join(f"{name} {digest_of(name, contents)}\n" for name, contents in sorted(files.items()))
    return hashlib.sha1(listed.encode()).hexdigest()


@dataclass
class Repository:
    """A repository: files by revision, and how it misbehaves.

    Attributes:
        revisions: {branch or tag: {path: contents}}.
        refusal: (status, X-Error-Code) of every answer about it; of files alone with `gated`.
        gated: whether files alone are refused.
        cut: {path: bytes after which the connection is cut, once}.
        sent_instead: {path: contents that are sent in place of the true ones}.
        hidden: paths that are listed and not there.
    """

    revisions: dict
    refusal: tuple = None
    gated: bool = False
    private: bool = False
    cut: dict = field(default_factory=dict)
    sent_instead: dict = field(default_factory=dict)
    hidden: set = field(default_factory=set)

    def files_at(self, revision):
        """The files of a branch, a tag or a commit; None if there is none."""
        by_commit = {commit_of(files): files for files in self.revisions.values()}
        return self.revisions.get(revision, by_commit.get(revision))


class Server(http.server.ThreadingHTTPServer):
    """The server; `requests` are the "METHOD path" it was asked, in order."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories, self.archives, self.archive_cuts = {}, {}, {}
        self.archive_headers, self.blobs, self.requests = {}, {}, []
        self.token = None

    def handle_error(self, request, client_address):
        """Nothing: clients leave in the middle of an answer."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, name, folder, revision="main"):
        """Puts the files of a folder, or of a dict, into a repository as a revision."""
        files = folder if isinstance(folder, dict) else read_folder(folder)
        repository = self.repositories.setdefault(name, Repository({}))
        repository.revisions[revision] = files
        return repository

    def count(self, pattern):
        """The number of requests that a regular expression matches as a whole."""
        return sum(bool(re.fullmatch(pattern, request)) for request in self.requests)


def read_folder(folder):
    """{path in the folder: contents} of all files in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()
    }


def packed(files, *members):
    """A .tar.gz of files, and of members beside."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, contents in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            tar.addfile(member, io.BytesIO(contents))
        for member in members:
            tar.addfile(member)
    return buffer.getvalue()


@contextlib.contextmanager
def serve():
    """Serves while the block lasts."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(Uploads, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    commit_of = staticmethod(commit_of)

    def log_message(self, *_):
        """Nothing: the tests read stderr."""

    def do_HEAD(self):
        self._answer()

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self._answer()

    def do_PUT(self):
        self._answer()

    def _answer(self):
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        routes = [
            (r"/archives/(.+)", self._archive),
            (r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", self._info),
            (r"/api/models/([^/]+/[^/]+)/tree/(.+)", self._tree),
            (r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._file),
        ]
        if self.command in ("POST", "PUT"):
            routes = self.upload_routes()
        for pattern, handle in routes:
            if match := re.fullmatch(pattern, path):
                arguments = match.groups() if self.command in ("GET", "HEAD") else (body, *match.groups())
                handle(*arguments)
                return
        self.send(404, b"{}")

    def send(self, status, body=b"", headers=None, cut=None):
        self.send_response(status)
        sized = {"Content-Length": str(len(body)), "Content-Type": "application/json", **(headers or {})}
        for name, value in sized.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True

    def refuse(self, status, code):
        self.send(status, b'{"error": "refused"}', {"X-Error-Code": code, "X-Error-Message": "refused"})

    def send_json(self, values):
        self.send(200, json.dumps(values).encode())

    def _found(self, repository_name, revision, of_files=False):
        """(repository, files), or None after an answer that refuses."""
        repository = self.server.repositories.get(repository_name)
        if repository is None:
            self.refuse(401 if self.server.token else 404, "RepoNotFound")
        elif repository.refusal and (of_files or not repository.gated):
            self.refuse(*repository.refusal)
        elif repository.private and self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self.refuse(401, "RepoNotFound")
        elif repository.files_at(revision) is None:
            self.refuse(404, "RevisionNotFound")
        else:
            return repository, repository.files_at(revision)
        return None

    def _info(self, name, revision="main"):
        if found := self._found(name, revision or "main"):
            repository, files = found
            siblings = [{"rfilename": path} for path in files]
            about = {"id": name, "sha": commit_of(files), "siblings": siblings, "private": repository.private}
            self.send_json({**about, "tags": [], "downloads": 0, "likes": 0})

    def _tree(self, name, revision):
        if found := self._found(name, revision):
            self.send_json([self._entry(path, contents) for path, contents in found[1].items()])

    def _entry(self, path, contents):
        entry = {"type": "file", "path": path, "size": len(contents), "oid": digest_of("", contents)}
        if path.endswith(LARGE):
            entry["lfs"] = {"oid": digest_of(path, contents), "size": len(contents), "pointerSize": 1}
        return entry

    def _file(self, name, revision, path):
        found = self._found(name, revision, of_files=True)
        if not found:
            return
        repository, files = found
        if path not in files or path in repository.hidden:
            self.refuse(404, "EntryNotFound")
            return
        headers = {"ETag": f'"{digest_of(path, files[path])}"', "X-Repo-Commit": commit_of(files)}
        cut = repository.cut.pop(path, None) if self.command == "GET" else None
        sent = repository.sent_instead.get(path, files[path]) if self.command == "GET" else files[path]
        self._send_part(sent, headers, cut)

    def _archive(self, name):
        if name not in self.server.archives:
            self.send(404, b"no such object")
            return
        contents = self.server.archives[name]
        headers = {"ETag": f'"{hashlib.md5(contents).hexdigest()}"', **self.server.archive_headers}
        cuts = self.server.archive_cuts.get(name)
        self._send_part(contents, headers, cuts.pop(0) if cuts else None)

    def _send_part(self, contents, headers, cut):
        """The contents, or the part that a Range asks for."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        condition = self.headers.get("If-Range")
        if not wanted or (condition and condition != headers["ETag"]):
            self.send(200, contents, headers, cut)
            return
        first, last = int(wanted[1]), int(wanted[2] or len(contents) - 1)
        part = contents[first : last + 1]
        where = {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(contents)}"}
        self.send(206, part, {**headers, **where}, cut)
