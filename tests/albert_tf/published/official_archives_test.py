"""Official archives from a server on 127.0.0.1: fetched once, kept, checked, unpacked; and every way to fail."""

import base64
import hashlib
import json
import os
import tarfile

import pytest
from hub_server import packed

NAME, ARCHIVE = "official://albert_base_v2", "albert_base_v2.tar.gz"
FILES = {
    "albert_base/model.ckpt-best.index": b"index",
    "albert_base/model.ckpt-best.data-00000-of-00001": os.urandom(200_000),
    "albert_base/albert_config.json": b"{}",
    "albert_base/30k-clean.model": b"a vocabulary",
}


@pytest.fixture
def archive(hub):
    hub.archives[ARCHIVE] = packed(FILES)
    return hub.archives[ARCHIVE]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "official"


def _failure(found):
    folder, lines = found
    assert folder is None
    assert lines[-1].startswith("fetch: ")
    return lines[-1].removeprefix("fetch: ")


def _fetches(hub):
    return hub.count(f"GET /archives/{ARCHIVE}")


def test_an_archive_is_fetched_once_and_unpacked(hub, archive, cache, fetch):
    folder, lines = fetch(NAME)
    assert folder == cache / "albert_base_v2" / "albert_base"
    assert {f"albert_base/{name}": (folder / name).read_bytes() for name in os.listdir(folder)} == FILES
    assert any(f"fetching {hub.address}/archives/{ARCHIVE}" in line for line in lines)
    assert fetch(NAME)[0] == folder
    assert _fetches(hub) == 1


def test_size_and_digest_are_kept_beside_the_archive(archive, cache, fetch):
    fetch(NAME)
    noted = json.loads((cache / "albert_base_v2.json").read_text())
    assert noted["archive"] == {"bytes": len(archive), "sha256": hashlib.sha256(archive).hexdigest()}
    assert sorted(noted["files"]) == sorted(FILES)
    assert (cache / ARCHIVE).read_bytes() == archive
    left = [name for name in os.listdir(cache) if not name.endswith(".lock")]
    assert sorted(left) == ["albert_base_v2", "albert_base_v2.json", ARCHIVE]


def test_processes_of_one_host_fetch_once(hub, archive, start):
    processes = [start(NAME) for _ in range(3)]
    folders = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(folders) == 1
    assert _fetches(hub) == 1


def test_a_connection_that_is_cut_is_taken_up_where_it_was_cut(hub, archive, fetch):
    hub.archive_cuts[ARCHIVE] = [50_000, 20_000]
    assert fetch(NAME)[0] is not None
    assert _fetches(hub) == 3


def test_a_connection_that_is_always_cut_leaves_nothing(hub, archive, cache, fetch):
    hub.archive_cuts[ARCHIVE] = [1000] * 9
    assert "lost on the way" in _failure(fetch(NAME))
    assert [name for name in os.listdir(cache) if not name.endswith(".lock")] == []


def test_the_md5_of_the_server_is_held_to(hub, archive, cache, fetch):
    right = base64.b64encode(hashlib.md5(archive).digest()).decode()
    hub.archive_headers = {"x-goog-hash": "crc32c=AAAAAA==,md5=" + base64.b64encode(b"0" * 16).decode()}
    assert "MD5" in _failure(fetch(NAME))
    assert not (cache / ARCHIVE).exists()
    hub.archive_headers = {"x-goog-hash": f"crc32c=AAAAAA==,md5={right}"}
    assert fetch(NAME)[0] is not None


def test_a_damaged_file_is_found_and_unpacked_again_once_it_is_removed(hub, archive, cache, fetch):
    folder, _ = fetch(NAME)
    (folder / "albert_config.json").write_bytes(b"{ }")
    assert _failure(fetch(NAME)) == (
        f"{folder / 'albert_config.json'} is missing or damaged; remove {cache / 'albert_base_v2'} and start again"
    )
    _remove(cache / "albert_base_v2")
    assert (fetch(NAME)[0] / "albert_config.json").read_bytes() == b"{}"
    assert _fetches(hub) == 1


def test_a_damaged_archive_is_not_unpacked_again(archive, cache, fetch):
    fetch(NAME)
    _remove(cache / "albert_base_v2")
    (cache / ARCHIVE).write_bytes(archive[:-1] + b"x")
    assert f"{cache / ARCHIVE} is damaged" in _failure(fetch(NAME))
    assert not (cache / "albert_base_v2").exists()


def _remove(folder):
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir() if inner.is_dir() else inner.unlink()
    folder.rmdir()


def _link():
    member = tarfile.TarInfo("albert_base/link")
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        (packed({**FILES, "../outside": b"x"}), "leads out of the folder"),
        (packed({**FILES, "/absolute/outside": b"x"}), "leads out of the folder"),
        (packed({**FILES, "albert_base/../../outside": b"x"}), "leads out of the folder"),
        (packed(FILES, _link()), "is a link or a device"),
        (packed({"readme": b""}), "0 folders with a checkpoint"),
        (packed(FILES)[:-3000], "damaged, no whole .tar.gz"),
        (b"<html>sign in</html>", "damaged, no whole .tar.gz"),
    ],
    ids=["parent", "absolute", "inner parent", "link", "no checkpoint", "cut", "no archive"],
)
def test_a_bad_archive_is_refused_and_nothing_of_it_stays(hub, cache, tmp_path, fetch, contents, fault):
    hub.archives[ARCHIVE] = contents
    assert fault in _failure(fetch(NAME))
    assert [name for name in os.listdir(cache) if not name.endswith(".lock")] == []
    assert not (tmp_path / "outside").exists()


def test_a_name_that_stands_twice_is_refused(hub, fetch):
    hub.archives[ARCHIVE] = packed(FILES, tarfile.TarInfo("albert_base/albert_config.json"))
    assert "stands twice" in _failure(fetch(NAME))


def test_an_unknown_name_lists_those_that_there_are(fetch):
    line = _failure(fetch("official://albert_huge_v2"))
    assert "official://albert_xxlarge_v1" in line


def test_an_archive_that_is_not_there_is_one_line(hub, fetch):
    assert _failure(fetch(NAME)) == f"{hub.address}/archives/{ARCHIVE}: the server answers 404 Not Found"


def test_without_a_network_the_cache_serves(archive, fetch):
    nowhere = {"ALBERT_TF_ARCHIVES": "http://127.0.0.1:9"}
    assert "not reached" in _failure(fetch(NAME, **nowhere))
    folder, _ = fetch(NAME)
    assert fetch(NAME, **nowhere)[0] == folder


def test_an_address_of_no_web_server_is_refused(fetch):
    assert "is no address of a web server" in _failure(fetch(NAME, ALBERT_TF_ARCHIVES="file:///etc"))


def test_the_cache_is_where_the_environment_says(archive, tmp_path, fetch):
    home = tmp_path / "home"
    assert fetch(NAME, ALBERT_TF_CACHE="", XDG_CACHE_HOME=str(home))[0].is_relative_to(home / "albert_tf" / "official")
    assert "local folder" in _failure(fetch(NAME, ALBERT_TF_CACHE="gs://bucket"))
