"""The answers of a small Hugging Face hub to an upload: repository, branch, large files, commit."""

import base64
import hashlib
import json

# Files that the hub keeps apart from git, by the ends of their names.
LARGE = (".safetensors", ".bin", ".model", ".h5")


class Uploads:
    """The part of the hub's handler that takes uploads; hub_server has the rest."""

    def upload_routes(self):
        """(pattern of a path, what answers it) of POST and PUT."""
        return [
            (r"/api/repos/create", self._create),
            (r"/api/validate-yaml", self._validate),
            (r"/api/models/([^/]+/[^/]+)/branch/(.+)", self._branch),
            (r"/api/models/([^/]+/[^/]+)/preupload/(.+)", self._preupload),
            (r"/api/models/([^/]+/[^/]+)/commit/(.+)", self._commit),
            (r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", self._batch),
            (r"/lfs/([0-9a-f]+)", self._store),
        ]

    def _may_write(self):
        if self.headers.get("Authorization") == f"Bearer {self.server.token}":
            return True
        self.refuse(401 if "Authorization" not in self.headers else 403, "")
        return False

    def _create(self, body):
        if not self._may_write():
            return
        about = json.loads(body)
        name = "/".join(filter(None, (about.get("organization"), about["name"])))
        name = name if "/" in name else f"somebody/{name}"
        if name in self.server.repositories:
            self.send(409, json.dumps({"error": "there already", "url": f"{self.server.address}/{name}"}).encode())
            return
        repository = self.server.add(name, {".gitattributes": b""})
        repository.private = bool(about.get("private")) or about.get("visibility") == "private"
        self.send_json({"url": f"{self.server.address}/{name}", "id": name})

    def _validate(self, body):
        self.send_json({"errors": [], "warnings": []})

    def _branch(self, body, name, branch):
        if self._may_write():
            repository = self.server.repositories[name]
            repository.revisions.setdefault(branch, dict(repository.revisions["main"]))
            self.send_json({})

    def _preupload(self, body, name, revision):
        if self._may_write():
            files = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(LARGE) else "regular"} for f in files
            ]
            self.send_json({"files": [{**mode, "shouldIgnore": False} for mode in modes]})

    def _batch(self, body, name):
        if self._may_write():
            objects = json.loads(body)["objects"]
            actions = {o["oid"]: {"upload": {"href": f"{self.server.address}/lfs/{o['oid']}"}} for o in objects}
            answer = [{**o, "authenticated": True, "actions": actions[o["oid"]]} for o in objects]
            self.send_json({"transfer": "basic", "objects": answer})

    def _store(self, body, digest):
        if hashlib.sha256(body).hexdigest() != digest:
            self.send(400)
            return
        self.server.blobs[digest] = body
        self.send(200)

    def _commit(self, body, name, revision):
        if not self._may_write():
            return
        files = dict(self.server.repositories[name].revisions[revision])
        for operation in map(json.loads, body.splitlines()):
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self.server.blobs[value["oid"]]
        self.server.repositories[name].revisions[revision] = files
        commit = self.commit_of(files)
        address = f"{self.server.address}/{name}/commit/{commit}"
        self.send_json({"success": True, "commitOid": commit, "commitUrl": address, "hookOutput": ""})
