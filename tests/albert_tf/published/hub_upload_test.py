"""Uploads to a hub on 127.0.0.1 that answers as the real one does, as far as huggingface_hub asks; and their failures.

The hub takes small files within the commit and large ones by themselves (Git LFS); its own transfer, Xet, is off.
"""

import pytest

pytest.importorskip("huggingface_hub", reason="pip install 'albert_tf[hub]'")

_UPLOAD = """
import sys
from albert_tf.published.hub_upload import check_sign_in, upload
from albert_tf.published.names import parse_hub_name
from albert_tf.runtime.errors import InputError
name, private = parse_hub_name(sys.argv[1]), sys.argv[2:] == ["private"]
try:
    check_sign_in(name)
    print(upload("FOLDER", name, private, "Upload"))
except InputError as error:
    sys.exit(f"upload: {error}")
"""
FILES = {"README.md": b"# A card\n", "config.json": b"{}", "model.safetensors": bytes(1000), "spiece.model": b"pieces"}
NAME, TOKEN = "hf://somebody/new", {"HF_TOKEN": "hf_secret"}


@pytest.fixture
def upload(hub, start, tmp_path):
    """A function that uploads FILES to a name in a process: (address or None, the last line on stderr)."""
    hub.token = "hf_secret"
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, contents in FILES.items():
        (folder / name).write_bytes(contents)

    def run(name, *more, **changes):
        process = start(name, _UPLOAD.replace("FOLDER", str(folder)), *more, **changes)
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 1), err
        assert "Traceback" not in err
        return (out.strip() if process.returncode == 0 else None), (err.splitlines() or [""])[-1]

    return run


def test_all_files_arrive_in_a_new_repository(hub, upload):
    address, _ = upload(NAME, **TOKEN)
    assert address.startswith(f"{hub.address}/somebody/new/commit/")
    repository = hub.repositories["somebody/new"]
    assert repository.revisions["main"] == {".gitattributes": b"", **FILES}
    assert not repository.private
    # Large files do not travel within the commit.
    assert sorted(hub.blobs.values()) == sorted([FILES["model.safetensors"], FILES["spiece.model"]])


def test_a_branch_is_made_and_main_stays(hub, upload):
    upload(f"{NAME}@v1", **TOKEN)
    revisions = hub.repositories["somebody/new"].revisions
    assert revisions["v1"] == {".gitattributes": b"", **FILES}
    assert revisions["main"] == {".gitattributes": b""}


def test_a_new_repository_can_be_private_and_a_public_one_is_not_taken_for_it(hub, upload):
    assert upload(NAME, "private", **TOKEN)[0] is not None
    assert hub.repositories["somebody/new"].private
    hub.add("somebody/public", {"README.md": b""})
    address, line = upload("hf://somebody/public", "private", **TOKEN)
    assert address is None
    assert "is there already, and public" in line
    assert hub.repositories["somebody/public"].revisions["main"] == {"README.md": b""}


def test_without_a_token_nothing_is_sent(hub, upload):
    address, line = upload(NAME)
    assert address is None
    assert "an upload needs a token" in line
    assert hub.requests == []


def test_a_token_that_may_not_write_is_one_line(hub, upload):
    address, line = upload(NAME, HF_TOKEN="hf_of_another")
    assert address is None
    assert line.startswith(f"upload: {NAME}: {hub.address} refuses access (403); sign in")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE keeps from uploading"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "not reached"),
    ],
)
def test_without_a_network_it_is_one_line(hub, upload, changes, fault):
    address, line = upload(NAME, **TOKEN, **changes)
    assert address is None
    assert fault in line
    assert hub.requests == []
