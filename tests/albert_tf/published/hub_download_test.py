"""Fetching from a hub on 127.0.0.1: what is asked for, what the cache does, and every way in which it fails.

Each fetch is a process of its own, since huggingface_hub reads its settings when it is imported.
"""

import os

import pytest

pytest.importorskip("huggingface_hub", reason="pip install 'albert_tf[hub]'")

WEIGHTS = bytes(range(256)) * 400
FILES = {
    "config.json": b'{"model_type": "albert"}',
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"the same once more",
    "spiece.model": b"a vocabulary",
    "README.md": b"# A card",
    "tokenizer_config.json": b"{}",
}
NEEDED = ["config.json", "model.safetensors", "spiece.model", "tokenizer_config.json"]
NAME = "hf://somebody/model"


@pytest.fixture
def repository(hub):
    return hub.add("somebody/model", dict(FILES))


def _failure(found):
    """The one line of a fetch that failed."""
    folder, lines = found
    assert folder is None
    (line,) = [line for line in lines if line.startswith("fetch: ")]
    assert line == lines[-1]
    return line.removeprefix("fetch: ")


def test_only_what_is_needed_is_fetched_and_only_once(hub, repository, fetch):
    folder, lines = fetch(NAME)
    assert sorted(os.listdir(folder)) == NEEDED
    assert {name: (folder / name).read_bytes() for name in NEEDED} == {name: FILES[name] for name in NEEDED}
    assert f"{NAME} is commit {folder.name}, in {folder}" in lines[-1]
    # Of what the library asks, nobody is told.
    assert [line for line in lines if "HTTP" in line] == []
    assert fetch(NAME)[0] == folder
    assert hub.count("GET .*/model.safetensors") == 1
    assert hub.count("GET .*/(pytorch_model.bin|README.md)") == 0


def test_a_revision_is_a_branch_a_tag_or_a_commit(hub, repository, fetch):
    hub.add("somebody/model", {**FILES, "model.safetensors": b"of the branch"}, "refs/pr/1")
    hub.add("somebody/model", {**FILES, "model.safetensors": b"of the tag"}, "v1.0")
    assert (fetch(f"{NAME}@v1.0")[0] / "model.safetensors").read_bytes() == b"of the tag"
    commit = fetch(NAME)[0].name
    assert (fetch(f"{NAME}@{commit}")[0] / "model.safetensors").read_bytes() == WEIGHTS
    assert "no revision 'v2.0'" in _failure(fetch(f"{NAME}@v2.0"))


def test_a_new_commit_of_the_branch_is_noticed(hub, repository, fetch):
    before, _ = fetch(NAME)
    hub.add("somebody/model", {**FILES, "model.safetensors": b"trained on"})
    after, _ = fetch(NAME)
    assert before != after
    assert (after / "model.safetensors").read_bytes() == b"trained on"


def test_processes_of_one_host_fetch_once(hub, repository, start):
    processes = [start(NAME) for _ in range(3)]
    folders = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(folders) == 1
    assert hub.count("GET .*/model.safetensors") == 1


def test_a_connection_that_is_cut_is_taken_up_where_it_was_cut(hub, repository, fetch):
    repository.cut["model.safetensors"] = 70_000
    folder, _ = fetch(NAME)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert hub.count("GET .*/model.safetensors") == 2


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(WEIGHTS[:-1] + b"x", id="another byte"),
        pytest.param(WEIGHTS[:1000], id="fewer"),
        pytest.param(WEIGHTS + b"and more", id="more"),
    ],
)
def test_contents_that_the_hub_does_not_describe_are_refused(repository, fetch, sent):
    repository.sent_instead["model.safetensors"] = sent
    line = _failure(fetch(NAME))
    assert line.startswith(NAME)
    assert "start again" in line


def test_a_changed_bit_in_the_cache_is_found_and_its_file_named(repository, fetch):
    folder, _ = fetch(NAME)
    blob = (folder / "model.safetensors").resolve()
    blob.chmod(0o644)
    blob.write_bytes(b"x" + WEIGHTS[1:])
    line = _failure(fetch(NAME))
    assert "model.safetensors is not what the hub says" in line
    assert f"remove {blob} and start again" in line
    blob.unlink()
    assert (fetch(NAME)[0] / "model.safetensors").read_bytes() == WEIGHTS


def test_a_repository_that_is_not_there_is_one_line(fetch):
    assert _failure(fetch(NAME)).startswith(f"{NAME}: no such repository at http://127.0.0.1:")


def test_a_private_repository_asks_for_a_token_and_takes_it(hub, repository, fetch):
    hub.token, repository.private = "hf_secret", True
    line = _failure(fetch(NAME))
    assert "HF_TOKEN" in line
    folder, _ = fetch(NAME, HF_TOKEN="hf_secret")
    assert (folder / "config.json").read_bytes() == FILES["config.json"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_repository_says_where_to_ask(hub, repository, fetch, status):
    repository.refusal, repository.gated = (status, "GatedRepo"), True
    line = _failure(fetch(NAME))
    assert f"ask for it at {hub.address}/somebody/model" in line


def test_a_file_that_is_listed_and_not_there_is_one_line(repository, fetch):
    repository.hidden.add("config.json")
    line = _failure(fetch(NAME))
    assert line.startswith(NAME)
    assert "config.json" in line


def test_a_repository_without_weights_says_what_it_holds(hub, fetch):
    hub.add("somebody/data", {"README.md": b"", "train.csv": b""})
    assert _failure(fetch("hf://somebody/data")).endswith("it holds README.md, train.csv")


def test_a_server_at_fault_is_one_line(repository, fetch):
    repository.refusal = (500, "")
    assert "answers 500" in _failure(fetch(NAME))


def test_without_a_network_the_cache_serves_with_a_warning(hub, repository, fetch):
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9"}
    assert "not reached" in _failure(fetch(NAME, **nowhere))
    folder, _ = fetch(NAME)
    again, lines = fetch(NAME, **nowhere)
    assert again == folder
    assert any("taken from the cache" in line for line in lines)


def test_offline_the_cache_serves_and_nobody_is_asked(hub, repository, fetch):
    line = _failure(fetch(NAME, HF_HUB_OFFLINE="1"))
    assert "HF_HUB_OFFLINE" in line
    folder, _ = fetch(NAME)
    hub.requests.clear()
    assert fetch(NAME, HF_HUB_OFFLINE="1")[0] == folder
    assert hub.requests == []
    (folder / "model.safetensors").unlink()
    assert "no weights of it" in _failure(fetch(NAME, HF_HUB_OFFLINE="1"))


def test_without_the_package_the_line_says_how_to_install_it(start):
    script = "import sys; sys.modules['huggingface_hub'] = None\n"
    script += "from albert_tf.published.local_copy import local_copy\nlocal_copy(sys.argv[1])"
    process = start(NAME, script)
    last = process.communicate(timeout=120)[1].splitlines()[-1]
    assert last.endswith("names of the Hugging Face hub (hf://) need huggingface_hub: pip install 'albert_tf[hub]'")
